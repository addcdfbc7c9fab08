"""Operations and accesses that sub-groups issue, by hand; test_nests.py checks them for every kernel."""

from fractions import Fraction

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import KernelCounts, count
from tests.corpus.kernel import make


def doubled(index: str = "i", width: int = 64) -> KernelCounts:
    """Count work-items that double a cell each, all but those behind the end of the array."""
    unit = make("{ [i]: 0 <= i < n }", f"out[i] = 2*a[{index}]", "a: 4*n + 64; out: n", assumes="n >= 1")
    return count(lp.split_iname(unit, "i", width, outer_tag="g.0", inner_tag="l.0"), subgroup_size=32, cache=False)


def test_a_guard_leaves_whole_sub_groups_out() -> None:
    counts = doubled()
    (issue,) = [one for one in counts.issues if one.operations]
    # 70 work-items are sub-groups of 32, 32 and 6 lanes; the second group's other sub-group does nothing
    assert (3, 4) == (issue.operations[0].count(n=70), counts.sub_groups()(n=70))
    assert [(3, 70)] * 2 == [(one.count(n=70), one.items(n=70)) for one in issue.accesses]
    assert ((), 3) == (issue.loops, issue.turns(n=70))
    assert [True] * 2 == [access.guarded for access in issue.accesses]


def test_how_far_addresses_move() -> None:
    (issue,) = [one for one in doubled("3*i + 1").issues if one.operations]
    load = next(one for one in issue.accesses if one.direction == "load")
    assert load.lanes is not None
    assert (4, [12], (64,)) == (load.start(n=640), [step(n=640) for step in load.lanes], load.shape)
    assert [("g.0", 64 * 12, 10)] == [(move.name, move.step(n=640), move.values(n=640)) for move in load.moves]


def tiled(width: int, bound: str, unrolled: bool = False) -> KernelCounts:
    """Count work-items that add a row of `width` cells, all but those behind `bound`, to cells of their own."""
    unit = make(f"{{ [i, j, k, m]: 0 <= i < 64 and 0 <= j, m < {width} and 0 <= k < 16 and 0 <= j < {bound} }}", """
        for i
            for m
                own[m] = 0  {id=init}
            end
            for k, j
                own[j] = own[j] + a[k]*b[j]  {id=add,dep=init}
            end
            out[i] = own[0]  {dep=add}
        end
        """, f"a: 16; b: {width}; out: 64; temporary own: {width}")  # fmt: skip
    unit = lp.prioritize_loops(lp.tag_inames(unit, {"i": "l.0", **({"j": "unr"} if unrolled else {})}), "k,j")
    return count(unit, subgroup_size=32, cache=False)


@pytest.mark.parametrize("unrolled", [False, True])
def test_a_short_loop_is_written_out_and_equal_addresses_are_accessed_once(unrolled: bool) -> None:
    issue = next(issue for issue in tiled(4, "4", unrolled).issues if issue.operations)
    # 16 times 4 iterations of two sub-groups: the code has them all, with 16 loads of a and 4 of b
    assert ((), 2) == (issue.loops, issue.turns())
    left = {access.array: (access.count(), access.count() * access.fresh) for access in issue.accesses}
    assert {"a": (128, 32), "b": (128, 8)} == left
    assert [False] * 2 == [access.indexed for access in issue.private]


def test_a_loop_of_many_varying_trips_stays_and_puts_what_it_indexes_into_memory() -> None:
    # each group of lanes makes another number of trips, up to 16: more than a compiler guards one by one
    issue = next(issue for issue in tiled(16, "1 + i").issues if issue.operations)
    assert ("k", "j") == issue.loops
    assert {True} == {access.indexed for access in issue.private}
    few = next(issue for issue in tiled(8, "1 + i").issues if issue.operations)
    assert ((), {False}) == (few.loops, {access.indexed for access in few.private})


def test_a_group_number_that_the_code_takes_apart() -> None:
    unit = make("{ [g, l]: 0 <= g < 24 and 0 <= l < 32 }", "out[g, l] = a[g // 6, l, g % 6]",
                "a: 4, 32, 6; out: 24, 32")  # fmt: skip
    counts = count(lp.tag_inames(unit, {"g": "g.0", "l": "l.0"}), subgroup_size=32, cache=False)
    moves = {
        access.array: [(move.name, move.step(), move.values()) for move in access.moves]
        for issue in counts.issues for access in issue.accesses
    }  # fmt: skip
    assert {
        "a": [("g.0", 4, 6), ("g.0/6", 4 * 32 * 6, 4)], "out": [("g.0", 4 * 32, 6), ("g.0/6", 4 * 32 * 6, 4)],
    } == moves  # fmt: skip


@pytest.mark.parametrize("width", [4, 8, 16, 32])
def test_lanes_that_the_code_arranges_anew(width: int) -> None:
    if width <= 8:
        row, column = f"(x // {width} + {8 // width}*y)", f"(x % {width})"
    else:
        row, column = f"(y // {width // 8})", f"(x + 8*(y % {width // 8}))"
    unit = make("{ [g, x, y]: 0 <= x < 8 and 0 <= y < 4 and 0 <= g < 5 }",
                f"out[32*g + 8*y + x] = a[g, {row}, {column}]", "a: 5, 32, 48; out: 160")  # fmt: skip
    counts = count(lp.tag_inames(unit, {"g": "g.0", "x": "l.0", "y": "l.1"}), subgroup_size=32, cache=False)
    load = next(one for issue in counts.issues for one in issue.accesses if one.direction == "load")
    assert load.addressed
    assert load.lanes is not None
    addresses = np.zeros((1,))
    for step, items in zip(load.lanes, load.shape, strict=True):  # fast to slow
        addresses = (int(step()) * np.arange(items)[:, None] + addresses).ravel()
    places = np.arange(32)  # of a group as wide as `width`
    assert (4 * (48 * (places // width) + places % width)).tolist() == addresses.tolist()
    assert [("g.0", 4 * 48 * 32, 5)] == [(move.name, move.step(), move.values()) for move in load.moves]


@pytest.mark.parametrize(("bound", "each"), [("n mod 64 = 0", 7), ("n >= 1", 16)])
def test_equal_addresses_behind_different_tests_are_accessed_for_themselves(bound: str, each: int) -> None:
    # four sums of four neighbours each, a cell apart; without a test of its own a sum shares all but one with the next
    unit = make("{ [g, l, s, k]: 0 <= l < 16 and 0 <= s, k < 4 and 0 <= 64*g + 4*l + s < n }", """
        for g, l, s
            <> total = 0 {id=start}
            for k
                total = total + a[64*g + 4*l + s + k] {id=add, dep=start}
            end
            out[64*g + 4*l + s] = total {dep=add}
        end
        """, "a: n + 3; out: n", assumes=f"n >= 1 and {bound}")  # fmt: skip
    unit = lp.tag_inames(unit, {"g": "g.0", "l": "l.0", "s": "unr", "k": "unr"})
    counts = count(unit, subgroup_size=16, cache=False)
    load = next(one for issue in counts.issues for one in issue.accesses if one.array == "a")
    assert Fraction(each, 16) == load.fresh


def tile(
    bound: str, *, outer: str = "0 <= o < 6", lanes: int = 32, items: str = "i < 320", first: str = "own[m] = a[m]",
    repeated: int = 1, unrolled: bool = False,
) -> KernelCounts:  # fmt: skip
    """Count work-items that add products to 16 cells of their own, as many as ``bound`` says, and store the first."""
    unit = lp.make_kernel(
        f"{{ [i, o, r, j, m]: 0 <= i and {items} and {outer} and 0 <= r < {repeated} and 0 <= j < 16 and {bound} "
        "and 0 <= m < 16 }",
        f"""
        for i
            for m
                {first}  {{id=init}}
            end
            for o, r, j
                own[j] = own[j] + a[o + r]*b[j]  {{id=add,dep=init}}
            end
            out[i] = own[0]  {{dep=add}}
        end
        """,
        [
            lp.GlobalArg("a, b", np.float32, shape=64), lp.GlobalArg("out", np.float32, shape=320),
            lp.TemporaryVariable("own", np.float32, shape=16), ...,
        ],
        lang_version=(2018, 2),
    )  # fmt: skip
    unit = lp.split_iname(unit, "i", lanes, outer_tag="g.0", inner_tag="l.0")
    if unrolled:
        unit = lp.tag_inames(unit, {"r": "unr"})
    return count(lp.prioritize_loops(unit, "o,j,r" if unrolled else "o,r,j"), subgroup_size=32, cache=False)


def added(counts: KernelCounts) -> tuple[bool, float]:
    """Return whether the cells lie in memory, and the tests of a sub-group where it adds."""
    (issue,) = [issue for issue in counts.issues if issue.operations]
    return issue.private[0].indexed, float(issue.tests()) / 10


def test_a_loop_of_varying_trips_is_written_out_in_common_steps() -> None:
    # 88 cells in tiles of 16: five times 16 trips, then 8; each iteration of the loop ends with a test
    assert (False, 88) == added(tile("16*o + j < 88"))


def test_a_loop_of_varying_trips_around_a_long_one_stays() -> None:
    issue = next(issue for issue in tile("16*o + j < 88 and 2*o + r < 13", repeated=4).issues if issue.operations)
    assert ("o", "r") == issue.loops


def test_a_long_loop_around_copies_stays() -> None:
    assert (True, 0) == added(tile("16*o + j < 88", repeated=2, unrolled=True))
    assert (False, 0) == added(tile("0 <= o", repeated=2, unrolled=True))  # constant trips


@pytest.mark.parametrize(("items", "indexed"), [("i < 320", False), ("i < 310", True)])
def test_edges_of_the_grid_keep_a_loop_whose_trips_vary_between_groups(items: str, indexed: bool) -> None:
    # the first group makes 8 trips, the others 16; of 310 work-items the last group has 22
    vary = "exists g: 32*g <= i < 32*g + 32 and j < 8 + 8*g"
    assert indexed == added(tile(vary, outer="0 <= o < 2", items=items))[0]


def test_a_loop_of_millions_of_varying_trips_stays() -> None:
    # isl would take minutes to list the numbers of its trips
    unit = make(f"{{ [i, j]: 0 <= j <= i < {2**28} }}", "out[i] = sum(j, a[j])", f"a, out: {2 ** 28}")
    unit = lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0")
    assert ("j",) in {issue.loops for issue in count(unit, subgroup_size=32, cache=False).issues}


def test_a_long_loop_that_clears_an_array_is_a_call_that_needs_it_in_memory() -> None:
    def cleared(bound: str) -> set[bool]:
        unit = make(f"{{ [i, o, m]: 0 <= i < 320 and 0 <= o < 6 and 0 <= m < 16 and {bound} }}",
                    "for i, o, m\n own[m] = 0\n end", "temporary own: 16")  # fmt: skip
        unit = lp.split_iname(unit, "i", 32, outer_tag="g.0", inner_tag="l.0")
        issues = count(lp.prioritize_loops(unit, "o,m"), subgroup_size=32, cache=False).issues
        return {access.indexed for issue in issues for access in issue.private}

    assert ({False}, {True}) == (cleared("o < 6"), cleared("16*o + m < 88"))
