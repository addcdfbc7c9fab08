"""Stretches between barriers, by hand."""

from __future__ import annotations

from perfmodel.counts.nests.nests import Surroundings, surroundings
from perfmodel.counts.program.program import DeviceKernel, Loop, Run, Wait


def test_a_launch_without_barriers_is_one_interval() -> None:
    body = (Run("start"), Loop("k", (Loop("u", (Run("update"),)),)), Run("store"))
    found = surroundings((DeviceKernel("f", body),), {"u"})
    assert Surroundings(0, 0, (), (), ()) == found[0, (0,)] == found[0, (4,)]
    # u is unrolled: its copies belong to the loop over k
    assert Surroundings(0, 0, (), ("k",), (2, "k")) == found[0, (2, "k", 0, "u", 0)]


def test_an_unrolled_loop_repeats_the_loops_inside_of_it() -> None:
    body = (Loop("u", (Run("start"), Loop("k", (Run("update"), Loop("v", (Run("step"),)))))),)
    found = surroundings((DeviceKernel("f", body),), {"u", "v"})
    assert () == found[0, (0, "u", 0)].repeated  # its copies follow each other in one nest
    inside = (0, "u", 2, "k")
    assert {("u",)} == {found[0, place].repeated for place in ((*inside, 0), (*inside, 2, "v", 0))}


def test_a_loop_with_barriers_is_around_its_intervals() -> None:
    body = (
        Run("start"),
        Loop("k", (Run("fetch"), Wait("local"), Loop("j", (Run("update"),)), Wait("local"))),
        Run("store"),
    )  # fmt: skip
    found = surroundings((DeviceKernel("f", body),), ())
    intervals = [found[0, place].interval for place in ((0,), (2, "k", 0), (2, "k", 4, "j", 0), (4,))]
    assert sorted(intervals) == intervals
    assert 4 == len(set(intervals))
    assert (("k",), ("j",)) == (found[0, (2, "k", 4, "j", 0)].outer, found[0, (2, "k", 4, "j", 0)].inner)
    assert () == found[0, (4,)].outer


def test_a_test_stands_before_its_node() -> None:
    found = surroundings((Loop("step", (DeviceKernel("f", (Run("a"), Wait("local"), Run("b"))),)),), ())
    assert found[0, (0,)] == found[0, (-1,)]
    assert found[0, (4,)] == found[0, (3,)]
    assert found[0, (0,)].interval < found[0, (4,)].interval


def test_launches_are_numbered() -> None:
    found = surroundings((DeviceKernel("f", (Run("a"),)), DeviceKernel("g", (Run("b"),))), ())
    assert [0, 1] == [found[launch, (0,)].launch for launch in (0, 1)]
