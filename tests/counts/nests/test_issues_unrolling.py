"""Which loops a compiler writes out, of tiles worked out by hand."""

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import KernelCounts, count
from tests.corpus.kernel import make

pytestmark = pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning", "ignore::DeprecationWarning")


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
    unit = make(f"{{ [i, j]: 0 <= j <= i < {2**28} }}", "out[i] = sum(j, a[j])",
                [lp.GlobalArg("a, out", np.float32, shape=2**28), ...])  # fmt: skip
    unit = lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0")
    assert ("j",) in {issue.loops for issue in count(unit, subgroup_size=32, cache=False).issues}


def test_a_long_loop_that_clears_an_array_is_a_call_that_needs_it_in_memory() -> None:
    def cleared(bound: str) -> set[bool]:
        unit = make(f"{{ [i, o, m]: 0 <= i < 320 and 0 <= o < 6 and 0 <= m < 16 and {bound} }}",
                    "for i, o, m\n own[m] = 0\n end",
                    [lp.TemporaryVariable("own", np.float32, shape=16), ...])  # fmt: skip
        unit = lp.split_iname(unit, "i", 32, outer_tag="g.0", inner_tag="l.0")
        issues = count(lp.prioritize_loops(unit, "o,m"), subgroup_size=32, cache=False).issues
        return {access.indexed for issue in issues for access in issue.private}

    assert ({False}, {True}) == (cleared("o < 6"), cleared("16*o + m < 88"))
