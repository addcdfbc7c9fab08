"""Traces against executed code, and of the sparse product of Kim et al. 2012, Listing 4.1, against plain Python."""

from collections import Counter
from fractions import Fraction
from typing import Any

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import KernelCounts, count
from scripts.lab.kim.trace import Trace, trace
from tests import oracle
from tests.corpus import kernels


def counted(domain: str, code: str, *tags: tuple[str, int, str, str], **types: Any) -> KernelCounts:
    unit = lp.make_kernel(domain, code, assumptions="n >= 1", lang_version=(2018, 2), name="made_up")
    unit = lp.add_dtypes(unit, types)
    for iname, length, outer, inner in tags:
        unit = lp.split_iname(unit, iname, length, outer_tag=outer, inner_tag=inner)
    return count(unit, cache=False)


def streaming() -> KernelCounts:
    return counted("{[i]: 0 <= i < n}", "y[i] = 2*x[i]", ("i", 64, "g.0", "l.0"), x=np.float32)


FLOAT = np.float32
LINE = 64
pytestmark = [
    pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

TRACED = (  # of the corpus: guards, triangles, tiles, ties, copies of statements, vectors, offsets, launches
    "scan_in_group", "guard_in_ilp", "matmul_tiled", "stencil_box_halo_remainder", "skewed_triangle",
    "array_of_structures", "array_offset", "loop_around_launches", "gather", "complex128",
    "if_expression_boundary", "barrier_in_triangle",
    "flattened_by_hand", "predicate_modulo", "fortran_order_across", "different_guards", "steps_by_parity",
)


def executed_requests(executed: oracle.Executed, launches: list[int]) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for instance in executed.instances:
        occurrence = instance.occurrence
        if occurrence.space not in ("global", "constant") or instance.launch not in launches:
            continue
        lanes: dict[int, set[int]] = {}
        for lane, address in instance.touched:
            lanes.setdefault(lane // 32, set()).add(address * occurrence.type.bits // 8 // LINE)
        for number, lines in lanes.items():
            for line in lines:
                where = (launches.index(instance.launch), instance.group, number)
                found[(*where, occurrence.array, occurrence.direction, line)] += 1
    return found


def traced_requests(traces: tuple[Trace, ...]) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for launch, one in enumerate(traces):
        for group, number, array, store, line in zip(
            one.group, one.subgroup, one.array, one.store, one.line, strict=True
        ):
            direction = "store" if store else "load"
            found[launch, one.groups[group], number, one.arrays[array], direction, line - one.first[array]] += 1
    return found


@pytest.mark.parametrize("name", TRACED)
def test_trace_is_what_is_executed(name: str) -> None:
    (kernel,) = (kernel for kernel in kernels() if kernel.name == name)
    sizes = kernel.cases[0]
    counts = count(kernel.build(), 32)
    traces = trace(counts, sizes, 10**6, LINE)
    executed = oracle.execute(kernel.build(), sizes, 32, kernel.contents(sizes))
    names = [grid.kernel for grid in executed.launched]
    launches = [names.index(one.launch) for one in traces]
    expected, actual = executed_requests(executed, launches), traced_requests(traces)
    if all(one.exact for one in traces):
        assert expected == actual
    else:  # cells drawn, or tests on data taken to hold: as many requests at least
        assert {key[:5] for key in expected} <= {key[:5] for key in actual}


def test_requests_come_in_the_order_of_the_program() -> None:
    counts = counted(
        "{[i,k]: 0 <= i < n and 0 <= k < 2}", """
        for i
            <> total = start[i] {id=begin}
            for k
                total = total + a[k]*b[i] {id=add,dep=begin}
            end
            out[i] = total {dep=add}
        end
        """, ("i", 16, "g.0", "l.0"), start=FLOAT, a=FLOAT, b=FLOAT,
    )
    (one,) = trace(counts, {"n": 16})
    assert ["start", "a", "b", "a", "b", "out"] == [one.arrays[k] for k in one.array]
    assert [0, 0, 0, 0, 0, 1] == one.store.tolist()
    assert not one.phase.any()


def test_barriers_part_the_phases() -> None:
    (kernel,) = (kernel for kernel in kernels() if kernel.name == "matmul_tiled")
    (one,) = trace(count(kernel.build(), 32), {"n": 16}, 1)
    loads = {name: one.phase[one.array == one.arrays.index(name)] for name in one.arrays}
    (store,) = {int(phase) for phase in one.phase[one.store == 1]}
    assert max(loads["a"].max(), loads["b"].max()) < store
    assert len(set(loads["a"].tolist())) > 1  # a tile after another


GROUP, SUBGROUP = 64, 32


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
