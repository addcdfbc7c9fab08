"""Settings of campaigns: which classes and variants they take, and which settings sizes depend on."""

from __future__ import annotations

from dataclasses import replace

from perfmodel.kernels import KernelClass, Ladder
from perfmodel.measuring import CHECK, DEFAULT, FULL, QUICK, Campaign


def kernel(name="k", tags=("paper",), variants=({"a": 1}, {"a": 2}, {"a": 3}), dimensions=1) -> KernelClass:
    return KernelClass(
        name, "g", build=lambda **_: None, sizes=Ladder(lambda e: ({"n": 2**e},), 1), reference=lambda **_: {},
        tags=tags, variants=variants, dimensions=dimensions,
    )  # fmt: skip


def test_tags_choose_classes_and_no_tags_choose_all():
    kernels = (kernel("a"), kernel("b", tags=("memory", "local")), kernel("c", tags=()))
    assert ["a"] == [k.name for k in QUICK.chosen(kernels)]
    assert ["a", "b"] == [k.name for k in Campaign("test", tags=("local", "paper")).chosen(kernels)]
    assert ["a", "b", "c"] == [k.name for k in DEFAULT.chosen(kernels)]


def test_variants_are_the_first_ones_in_so_many_shapes():
    found = Campaign("test", variants=2, shapes=1).variants_of(kernel(), 4096)
    assert ({"a": 1, "work_group": (256,)}, {"a": 2, "work_group": (256,)}) == found
    assert 9 == len(FULL.variants_of(kernel(), 4096))
    assert ({"a": 1},) == Campaign("test", variants=1).variants_of(kernel(dimensions=0), 4096)


def test_the_papers_thirty_runs_are_spread_over_three_visits():
    assert {(3, 10, 2, 8)} == {(c.visits, c.runs, c.dropped, c.most_visits) for c in (QUICK, DEFAULT, FULL, CHECK)}


def test_sizes_depend_on_these_settings_only():
    assert (None, None, 1, 3.0, 2, 0.05, 0.25) == FULL.sizing
    assert FULL.sizing == replace(FULL, runs=3, tags=("paper",), timeout_s=1.0, visits=9, spread=1.0).sizing
    assert FULL.sizing != replace(FULL, points=1).sizing
