"""Traces of the sparse product of Kim et al. 2012, Listing 4.1, against one in plain Python."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import KernelCounts, count
from scripts.lab.kim.trace import trace

LINE, GROUP, SUBGROUP = 64, 64, 32


def listing(entries: float | Fraction, **statistics: float) -> KernelCounts:
    """Return the counts of the listing's kernel, x = A y with a matrix in CSR, with so many entries in a row."""
    unit = lp.make_kernel(
        ["{[i]: 0 <= i < n}", "[lb, ub] -> {[j]: lb <= j < ub}"],
        """
        for i
            <> lb = rowInd[i]
            <> ub = rowInd[i + 1]
            x[i] = sum(j, val[j]*y[indices[j]])
        end
        """,
        [
            lp.GlobalArg("val", np.float32, shape=None), lp.GlobalArg("indices", np.int32, shape=None),
            lp.GlobalArg("rowInd", np.int32, shape="n + 1"), lp.GlobalArg("x, y", np.float32, shape="n"),
            lp.ValueArg("n", np.int32),
        ],
        assumptions=f"n >= 1 and n mod {GROUP} = 0", lang_version=(2018, 2), name="SpMV",
    )  # fmt: skip
    unit = lp.split_iname(unit, "i", GROUP, outer_tag="g.0", inner_tag="l.0")
    return count(unit, SUBGROUP, {"j": entries, **statistics}, cache=False)


def requests_of(starts: np.ndarray, groups: tuple[int, ...]) -> Counter[tuple[int, int, str, int]]:
    """Return the lines that each sub-group requests of every array but y, as a program that runs the rows would."""
    found: Counter[tuple[int, int, str, int]] = Counter()
    for place, group in enumerate(groups):
        for number in range(GROUP // SUBGROUP):
            rows = group * GROUP + number * SUBGROUP + np.arange(SUBGROUP)
            steps = {("rowInd", 0): rows, ("rowInd", 1): rows + 1, ("x", 0): rows}
            for turn in range(int(np.diff(starts).max())):
                here = starts[rows][starts[rows] + turn < starts[rows + 1]] + turn
                steps |= {("indices", turn): here, ("val", turn): here}
            for (array, _), cells in steps.items():
                found.update((place, number, array, line) for line in np.unique(cells * 4 // LINE).tolist())
    return found


@pytest.mark.parametrize("entries", [4, Fraction(5, 2), Fraction(1, 3)])
def test_rows_follow_one_another_and_are_as_even_as_can_be(entries) -> None:
    n = 4 * GROUP
    (one,) = trace(listing(entries), {"n": n}, 2, LINE)
    starts = np.array([int(row * Fraction(entries)) for row in range(n + 1)])
    found = Counter(
        (group, number, one.arrays[array], line - one.first[array])
        for group, number, array, line in zip(
            *(part.tolist() for part in (one.group, one.subgroup, one.array, one.line)), strict=True
        )
        if one.arrays[array] != "y"
    )
    assert requests_of(starts, one.groups) == found
    gathers = one.line[one.array == one.arrays.index("y")] - one.first[one.arrays.index("y")]
    assert 0 <= gathers.min() <= gathers.max() < n * 4 // LINE
    assert (("y",), False) == (one.drawn, one.exact)


def blocks(rows: float | Fraction, entries: float | Fraction) -> KernelCounts:
    """Return the counts of row sums over blocks: a row has blocks, a block entries, both by data."""
    unit = lp.make_kernel(
        ["{[i]: 0 <= i < n}", "[lb, ub] -> {[j]: lb <= j < ub}", "[first, last] -> {[k]: first <= k < last}"],
        """
        for i
            <> lb = begin[i]
            <> ub = begin[i + 1]
            <> total = 0.0f
            for j
                <> first = starts[j]
                <> last = ends[j]
                <> scale = scales[j]
                for k
                    total = total + scale*val[k]
                end
            end
            x[i] = total
        end
        """,
        [
            lp.GlobalArg("val, scales", np.float32, shape=None), lp.GlobalArg("starts, ends", np.int32, shape=None),
            lp.GlobalArg("begin", np.int32, shape="n + 1"), lp.GlobalArg("x", np.float32, shape="n"),
            lp.ValueArg("n", np.int32),
        ],
        assumptions=f"n >= 1 and n mod {GROUP} = 0", lang_version=(2018, 2), name="blocks",
        seq_dependencies=True,
    )  # fmt: skip
    unit = lp.split_iname(unit, "i", GROUP, outer_tag="g.0", inner_tag="l.0")
    return count(unit, SUBGROUP, {"j": rows, "k": entries}, cache=False)


@pytest.mark.parametrize("rows", [2, Fraction(5, 2), Fraction(1, 3)])
@pytest.mark.parametrize("entries", [3, Fraction(3, 2)])
def test_blocks_of_rows_follow_one_another_as_a_program_would_run_them(rows, entries) -> None:
    """Turn by turn of both loops, a sub-group requests the lines of the lanes that have such a turn."""
    n = 3 * GROUP
    (one,) = trace(blocks(rows, entries), {"n": n}, 2, LINE)
    begin = [int(row * Fraction(rows)) for row in range(n + 1)]
    start = [int(block * Fraction(entries)) for block in range(begin[-1] + 1)]
    found: Counter[tuple[int, int, str, int]] = Counter()
    for place, group in enumerate(one.groups):
        for number in range(GROUP // SUBGROUP):
            cells: dict[tuple[object, ...], set[int]] = {}
            for row in range(group * GROUP + number * SUBGROUP, group * GROUP + (number + 1) * SUBGROUP):
                for name, cell in (("begin", row), ("begin+", row + 1), ("x", row)):
                    cells.setdefault((name,), set()).add(cell)
                for turn, block in enumerate(range(begin[row], begin[row + 1])):
                    for name in ("starts", "ends", "scales"):
                        cells.setdefault((name, turn), set()).add(block)
                    for inner, entry in enumerate(range(start[block], start[block + 1])):
                        cells.setdefault(("val", turn, inner), set()).add(entry)
            for (array, *_), touched in cells.items():
                found.update((place, number, str(array).rstrip("+"), line) for line in {c * 4 // LINE for c in touched})
    traced = zip(*(part.tolist() for part in (one.group, one.subgroup, one.array, one.line)), strict=True)
    assert found == Counter((g, s, one.arrays[a], line - one.first[a]) for g, s, a, line in traced)
    assert ((), False) == (one.drawn, one.exact)
