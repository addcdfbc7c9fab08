"""Where vectorised loops are unrolled, against Loopy's generated code."""

from __future__ import annotations

import loopy as lp
import numpy as np
import pymbolic.primitives as p
import pytest

from perfmodel.counts import KernelCounts, count
from perfmodel.counts.reading.domains import Domains
from perfmodel.counts.reading.instructions import vectorised
from perfmodel.counts.reading.schedule import schedule

pytestmark = pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning")


def doubled(slabs: tuple[int, int], assumptions: str, code: str = "out[i] = 2*a[i]") -> lp.TranslationUnit:
    arrays = [lp.GlobalArg("a,out", np.float32, shape="n"), ...]
    unit = lp.make_kernel("{ [i]: 0 <= i < n }", code, arrays, assumptions=assumptions, lang_version=(2018, 2))
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


def test_the_parts_share_the_domain() -> None:
    kernel = schedule(doubled((0, 1), "n >= 1")).default_entrypoint
    (instruction,) = kernel.instructions
    domains = Domains(kernel, {})
    (first, bulk), (second, rest) = vectorised(domains, 0, instruction)
    assert ("i_inner", "") == (first, second)
    inside, outside, whole = (
        domains.domain(0, instruction.within_inames, conditions).points for conditions in (bulk, rest, ())
    )
    assert inside.is_disjoint(outside)
    assert whole.is_equal(inside.union(outside))


def test_an_index_that_is_simplified_to_the_lane_is_a_vector() -> None:
    unit = doubled((0, 0), "n mod 4 = 0")
    kernel = unit.default_entrypoint
    (instruction,) = kernel.instructions
    outer, lane = instruction.assignee.index_tuple
    target = instruction.assignee.aggregate[outer, p.Sum((0, lane))]
    counts = count(unit.with_kernel(kernel.copy(instructions=[instruction.copy(assignee=target)])), cache=False)
    assert 5 == counts.accesses(array="out", bits=128)(n=20)
