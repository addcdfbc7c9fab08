"""The microbenchmarks of chapter 4: what they count, and what is made of their times."""

from functools import cache

import pytest

from perfmodel.counts import count
from perfmodel.kernels import discover
from scripts.lab.studies.throughput import BARRIERS, COPY, LAUNCHES, Run, knees
from scripts.lab.studies.throughput_claims import measured_claims, printed_claim
from tests.machine import ROOT


@cache
def kernels():
    return {kernel.name: kernel for kernel in discover(ROOT / "test_kernels" / "papers")}


def counted(name, **variant):
    return count(kernels()[name].build(**variant), subgroup_size=32)


@pytest.mark.parametrize("ilp", [1, 2, 4, 8])
def test_a_copy_has_so_many_loads_in_flight(ilp):
    counts, sizes = counted(COPY, ilp=ilp), {"groups": 3, "each": 64}
    assert (3 * 256 * 64, 3 * 256 * 64) == tuple(counts.accesses("global", way)(**sizes) for way in ("load", "store"))
    assert ilp == counts.flow.memory_parallelism(**sizes)


def test_barriers_and_launches_are_counted():
    counts = counted(BARRIERS)
    assert (3 * 256 * 10, 3 * 256 * 10) == (
        counts.barriers("local")(groups=3, k=10), counts.operations("float32", "add")(groups=3, k=10)
    )  # fmt: skip
    counts = counted(LAUNCHES)
    assert (7, 21, 7 * 3 * 256) == (
        counts.launches()(groups=3, launches=7), counts.work_groups()(groups=3, launches=7),
        counts.operations("float32", "add")(groups=3, launches=7),
    )  # fmt: skip


def run(operation="copy", ilp=1, groups=1, launches=1, seconds=1.0, amount=1):
    return Run(operation, ilp, groups, launches, groups * 256 / 512, amount, seconds, None)


def test_a_knee_is_the_smallest_multiplicity_at_the_bandwidth():
    """Latency 8, bandwidth 1: the time is flat up to M = 8, then grows with M_o; with M_I = 1 few groups stay below."""
    points = [
        run(ilp=ilp, groups=groups, seconds=max(groups / 2, 8 / ilp))
        for ilp in (1, 2, 8) for groups in (1, 2, 4, 8, 16)
    ]
    assert {1: 8.0, 2: 8.0, 8: 8.0} == knees(points, "copy")
    assert {2: 8.0} == knees([one for one in points if one.groups == 8 and one.ilp == 2], "copy")
    assert {} == knees(points, "local")


GROUPS = (1, 2, 4, 8, 16, 32)


def device(latency=8.0, bandwidth=1.0, launch=3.0, fixed=1.0):
    """Times of a device whose copies and local accesses reach the bandwidth at M = 8, and barriers with 16 groups."""
    points = [
        run(operation, ilp, groups, seconds=max(groups / 2 / bandwidth, latency / ilp))
        for operation in ("copy", "local") for ilp in (1, 2, 4, 8) for groups in GROUPS
    ]  # fmt: skip
    points += [run("register", ilp, 1, seconds=max(latency, ilp), amount=ilp) for ilp in (1, 2, 4)]
    points += [run("barrier", 1, groups, seconds=max(latency, groups / 2)) for groups in GROUPS]
    points += [run("launch", 1, g, k, fixed + launch * k, amount=k) for g in (1, 16) for k in (1, 4, 16, 64, 256)]
    return points


def verdicts(points, hides=True):
    return {one.source: one.agrees for one in measured_claims(points, hides)}


def test_table_4_2_has_the_products_of_the_text():
    claim = printed_claim()
    assert claim.agrees
    assert "8.1 (g), 20.0 (s), 6.0 (r)" in claim.found


def test_a_device_as_the_chapter_describes_it_and_one_that_hides_nothing():
    figures = ("4.1", "4.2", "4.3", "4.4", "4.5", "4.6")
    assert dict.fromkeys((f"Figure {one}" for one in figures), True) == verdicts(device())
    found = verdicts(device(), hides=False)
    assert [None, None, True, None, True, True] == list(found.values())


def test_what_differs_does_not_agree():
    points = device()
    slow = [run("register", ilp, 1, seconds=ilp, amount=ilp) for ilp in (1, 2)]
    more = [run("launch", 1, g, k, k * g, amount=k) for g in (1, 16) for k in (1, 4, 16)]
    found = verdicts([one for one in points if one.operation not in ("register", "launch")] + slow + more)
    assert (False, False) == (found["Figure 4.3"], found["Figure 4.5"])
    assert found["Figure 4.6"]
    assert all(one.agrees is None for one in measured_claims([], hides=True))
