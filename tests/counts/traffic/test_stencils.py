"""Traffic of stencils against LRU over a range of capacities: a step may be at another capacity, no range is wrong."""

from collections.abc import Iterator

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.counts.traffic.footprints import Cache
from tests.corpus.kernel import make
from tests.counts.traffic.simulation import simulated, total
from tests.counts.traffic.stencils import Stencil, stencils

KIB = 1024
CAPACITIES = (4, 6, 8, 12, 16, 24, 32)  # KiB
WRONG = 1.4


def ratios(unit: lp.TranslationUnit, n: int, capacities: tuple[int, ...]) -> list[float]:
    """Return for each capacity in KiB the model's lines over the simulation's lines."""
    counts = count(unit)
    caches = [Cache(capacity * KIB // 64, 64, 0) for capacity in capacities]
    expected = [total(moved.values())[0] for moved in simulated(counts, {"n": n}, caches)]
    found = [float(counts.traffic(capacity=capacity * KIB)(n=n).fetched) for capacity in capacities]
    return [one / other for one, other in zip(found, expected, strict=True)]


@pytest.mark.parametrize(("stencil", "n", "capacities"), [
    (Stencil(3, "star", 1, 1, (16,), "j"), 50, (24, 32, 64)),  # a plane of three rows needs 44 KiB
    (Stencil(3, "star", 1, 1, (8,), "j"), 34, (10, 12, 16)),
    (Stencil(3, "star", 1, 1, (8,), "i"), 30, (8, 10, 24)),
    (Stencil(3, "star", 1, 0, (16,), "j"), 34, (8, 12, 24)),
], ids=str)  # fmt: skip
def test_a_group_that_a_guard_cuts_off(stencil: Stencil, n: int, capacities: tuple[int, ...]) -> None:
    """Lines of another start come back when the outer loop has gone on, not where the address does."""
    assert all(1 / 1.25 < ratio < 1.25 for ratio in ratios(stencil.build(), n, capacities))


@pytest.mark.parametrize("capacity", [1, 3, 4])  # KiB; three rows and one that is stored to are 32 lines
def test_guards_that_make_several_references(capacity: int) -> None:
    """Each neighbour has a guard of its own; those beyond the border are read in one row of 128."""
    above, below = "(u[i - 1, k] if i > 0 else u[i, k])", "(u[i + 1, k] if i < n - 1 else u[i, k])"
    unit = make("{ [i, k]: 0 <= i, k < n }", f"o[i, k] = {above} + {below} + u[i, k]",
                [lp.GlobalArg("u, o", np.float32, shape="n, n"), ...], assumes="n mod 128 = 0 and n > 0")  # fmt: skip
    unit = lp.split_iname(lp.tag_inames(unit, {"i": "g.1"}), "k", 128, outer_tag="g.0", inner_tag="l.0")
    (ratio,) = ratios(unit, 128, (capacity,))
    assert 1 / 1.1 < ratio < 1.1


@pytest.mark.parametrize("capacity", [2, 8, 64])  # KiB
@pytest.mark.parametrize(("guard", "group"), [
    ("(i + k) % 2 == 0", 16), ("k % 2 == 1", 16), ("i % 2 == 0", 16), ("(i + 2*k) % 4 == 1", 32), ("k % 32 == 0", 32),
    ("i % 3 == k % 3", 24), ("(i + k) % 2 == 0 and k > i", 16),
])  # fmt: skip
def test_guards_at_regular_distances(guard: str, group: int, capacity: int) -> None:
    """One colour of a chessboard is in as many lines as all cells, but one row of two is in half of them."""
    sums = "u[i - 1, k] + u[i + 1, k] + u[i, k - 1] + u[i, k + 1]"
    unit = make("{ [i, k]: 1 <= i, k < n - 1 }", f"if {guard}\no[i, k] = {sums}\nend", "u, o: n, n", assumes="n > 2")
    unit = lp.split_iname(lp.tag_inames(unit, {"i": "g.1"}), "k", group, outer_tag="g.0", inner_tag="l.0")
    (ratio,) = ratios(unit, 98, (capacity,))
    assert 1 / 1.25 < ratio < 1.25


def wide(found: list[float]) -> Iterator[tuple[int, int]]:
    """Yield ranges of capacities, twice as large at the end as at the beginning, in which all are wrong."""
    wrong = [max(ratio, 1 / ratio) > WRONG for ratio in found]
    for low, first in enumerate(CAPACITIES):
        for high, last in enumerate(CAPACITIES):
            if last >= 2 * first and all(wrong[low:high + 1]):
                yield first, last


@pytest.mark.nightly
@pytest.mark.parametrize(("dims", "n"), [(2, 128), (3, 32)])
def test_the_family(dims: int, n: int) -> None:
    found = {
        stencil: ratios(stencil.build(), n + 2 * stencil.radius, CAPACITIES)
        for stencil in stencils() if stencil.dims == dims
    }
    every = [max(ratio, 1 / ratio) for some in found.values() for ratio in some]
    shares = [sum(ratio <= limit for ratio in every) / len(every) for limit in (1.1, 1.2)]
    print(f"{dims}-D: {len(every)} cases, {shares} within 10 % and 20 %, worst {max(every):.2f}")  # noqa: T201
    assert len(every) > 350
    assert shares[0] >= 0.5
    assert shares[1] >= 0.8
    assert [] == [(stencil, *one) for stencil, some in found.items() for one in wide(some)]
