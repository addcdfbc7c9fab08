"""Where vectorised loops are unrolled, against Loopy's generated code."""

import loopy as lp
import numpy as np
import pymbolic.primitives as p
import pytest

from perfmodel.counts import KernelCounts, count
from perfmodel.counts.counters.lines import UNITS
from tests.corpus.kernel import make

pytestmark = pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning")


def doubled(slabs: tuple[int, int], assumptions: str, code: str = "out[i] = 2*a[i]") -> lp.TranslationUnit:
    arrays = [lp.GlobalArg("a,out", np.float32, shape="n"), ...]
    unit = make("{ [i]: 0 <= i < n }", code, arrays, assumes=assumptions)
    unit = lp.split_iname(unit, "i", 4, slabs=slabs, inner_tag="vec")
    unit = lp.split_array_dim(unit, [("a", 0), ("out", 0)], 4, auto_split_inames=False)
    return lp.tag_array_axes(unit, "a,out", "C,vec")


def loads(counts: KernelCounts, n: int) -> tuple[int, int]:
    """Return the loads of vectors and of scalars."""
    return counts.accesses(array="a", bits=128)(n=n), counts.accesses(array="a", bits=32)(n=n)


@pytest.mark.parametrize(("slabs", "assumptions", "expected"), [
    ((0, 1), "n >= 1", (5, 3)),  # the last slab tests each lane, where it has all four too
    ((1, 1), "n >= 1", (4, 7)),
    ((0, 0), "n >= 1", (0, 23)),  # every lane is tested
])
def test_a_loop_is_unrolled_where_lanes_are_tested(
    slabs: tuple[int, int], assumptions: str, expected: tuple[int, int]
) -> None:
    counts = count(doubled(slabs, assumptions), cache=False)
    assert expected == loads(counts, 23)
    assert 23 == counts.operations(kind="mul")(n=23)


@pytest.mark.parametrize("slabs", [(0, 0), (0, 1), (1, 1)])
def test_a_loop_of_full_vectors_is_never_unrolled(slabs: tuple[int, int]) -> None:
    assert (5, 0) == loads(count(doubled(slabs, "n >= 4 and n mod 4 = 0"), cache=False), 20)


def test_an_index_that_is_simplified_to_the_lane_is_a_vector() -> None:
    unit = doubled((0, 0), "n mod 4 = 0")
    kernel = unit.default_entrypoint
    (instruction,) = kernel.instructions
    outer, lane = instruction.assignee.index_tuple
    target = instruction.assignee.aggregate[outer, p.Sum((0, lane))]
    counts = count(unit.with_kernel(kernel.copy(instructions=[instruction.copy(assignee=target)])), cache=False)
    assert 5 == counts.accesses(array="out", bits=128)(n=20)


Axes = dict[str, tuple[int, str, str]]  # by array: the axis along i, the shape without it, and tags of the split array
ROWS: Axes = {"a": (1, "m", "N1, N0, vec"), "out": (0, "", "N0, vec")}
COLUMNS: Axes = {"a": (0, "m", "N0, vec, N1"), "out": (0, "", "N0, vec")}
OUTER: Axes = {"a": (0, "m", "N1, vec, N0"), "out": (0, "", "N0, vec")}
APART: Axes = {"a": (1, "3", "sep, N0, vec"), "out": (1, "3", "sep, N0, vec")}
SPLIT_APART: Axes = {"a": (1, "m", "N1, N0, sep"), "out": (0, "", "N0, sep")}


def in_vectors(code: str, axes: Axes, width: int, split: bool, tag: str = "vec") -> lp.TranslationUnit:
    """Return a kernel over vectors: Loopy splits loops and arrays, or they are written with an axis more."""
    def shape_of(axis: int, other: str) -> str:
        along = ["n"] if split else [f"n//{width}", str(width)]
        return ", ".join([other, *along] if axis else [*along, other]).rstrip(", ")

    def index_of(axis: int, other: str) -> str:
        return ", ".join([other, "i"] if axis else ["i", other]).rstrip(", ")

    for name, (axis, other, _) in axes.items():
        index = index_of(axis, "k" if other else "")
        code = code.replace(f"{name}[]", f"{name}[{index if split else index.replace('i', 'i, j')}]")
    inames, bounds = ("i, k", "0 <= i < n") if split else ("i, k, j", f"0 <= i < n/{width} and 0 <= j < {width}")
    rows = "3" if "3" in axes["a"] else "m"
    unit = make(f"[n, m] -> {{ [{inames}]: {bounds} and 0 <= k < {rows} }}", code,
                [*(lp.GlobalArg(name, np.float32, shape=shape_of(*place[:2])) for name, place in axes.items()),
                 lp.ValueArg("n, m", np.int32)],
                assumes=f"n >= 1 and m >= 1 and m mod 16 = 0 and n mod {32*width} = 0")  # fmt: skip
    if split:
        for name, (axis, *_) in axes.items():
            unit = lp.split_array_axis(unit, name, axis, width)
        unit = lp.split_iname(unit, "i", width, inner_iname="j", outer_iname="vectors")
        unit = lp.rename_iname(unit, "vectors", "i")
    for name, (*_, tags) in axes.items():
        unit = lp.tag_array_axes(unit, name, tags)
    return lp.split_iname(
        lp.tag_inames(unit, {"j": tag, **({"k": "unr"} if rows == "3" else {})}), "i", 32, outer_tag="g.0",
        inner_tag="l.0",
    )


@pytest.mark.parametrize("width", [2, 3, 8])
@pytest.mark.parametrize(("code", "axes", "tag"), [
    ("out[] = 2*a[]", {**ROWS, "a": (0, "", "N0, vec")}, "vec"),
    ("out[] = 1", {"a": ROWS["out"], "out": ROWS["out"]}, "vec"), ("out[] = sum(k, a[])", ROWS, "vec"),
    ("out[] = sum(k, a[])", COLUMNS, "vec"), ("out[] = out[] + a[]", OUTER, "vec"),
    ("out[] = out[] + a[]", ROWS, "vec"), ("out[] = out[] + a[]", ROWS, "unr"), ("out[] = 2*a[]", APART, "vec"),
    ("out[] = out[] + a[]", SPLIT_APART, "unr"),
])  # fmt: skip
def test_split_arrays_are_those_written_with_an_axis_more(code: str, axes: Axes, tag: str, width: int) -> None:
    """What Loopy splits has the lane in other indices, as (j + 4*i)//4, until it is simplified."""
    split, written = (count(in_vectors(code, axes, width, split, tag), cache=False) for split in (True, False))
    rows = [
        [(row.array, row.direction, row.bits, row.indirect, str(row.stride), str(row.count), str(row.footprint))
         for row in counts.access_table] for counts in (split, written)
    ]  # fmt: skip
    assert rows[0] == rows[1]
    assert False not in [row.footprint is None or row.footprint.exact for row in split.access_table]
    for array in {row.array for row in split.access_table if row.space == "global"}:
        for per in UNITS:
            assert str(split.lines(array, per=per)) == str(written.lines(array, per=per))
    assert [str(row.count) for row in split.depth()] == [str(row.count) for row in written.depth()]
