"""Where the generated code executes an instruction as a vector, and where lane by lane."""

from __future__ import annotations

from collections.abc import Collection

import islpy as isl
import loopy as lp
import pymbolic.primitives as p
from loopy.kernel.instruction import MultiAssignmentBase
from loopy.symbolic import pw_aff_to_expr

from perfmodel.counts.reading.accesses import vector_iname
from perfmodel.counts.reading.domains import Domains
from perfmodel.counts.reading.events import Condition

SET = isl.dim_type.set
Part = tuple[str, tuple[Condition, ...]]  # the vectorised iname, or "", and where


def vectorised(domains: Domains, launch: int, instruction: MultiAssignmentBase) -> tuple[Part, ...]:
    """Return the parts of an instruction's domain, each with the iname along which it is vectorised there.

    Loopy unrolls a vectorised loop where it has to test whether a lane is executed: everywhere, or in the slabs alone
    which it takes off a loop around.
    """
    kernel, names = domains.kernel, instruction.within_inames
    iname = vector_iname(kernel, instruction)
    if not iname:
        return (("", ()),)
    partial = _partial(domains.domain(launch, names).points, iname, kernel.get_constant_iname_length(iname))
    if partial.is_empty():
        return ((iname, ()),)
    tests = _bulk(kernel, names)
    inside = domains.domain(launch, names, tuple((test, True) for test in tests)).points
    if not tests or not partial.is_disjoint(inside):
        return (("", ()),)
    return (iname, tuple((test, True) for test in tests)), ("", ((p.LogicalAnd(tests), False),))


def _partial(points: isl.Set, iname: str, lanes: int) -> isl.Set:
    """Return those points some of whose lanes are not executed."""
    position = points.find_dim_by_name(SET, iname)
    full = points
    for lane in range(lanes):
        full = full.intersect(points.fix_val(SET, position, isl.Val(lane)).eliminate(SET, position, 1))
    return points.subtract(full)


def _bulk(kernel: lp.LoopKernel, names: Collection[str]) -> tuple[p.Comparison, ...]:
    """Return what holds outside of the slabs that Loopy takes off the first or last iterations of loops."""
    tests: list[p.Comparison] = []
    for name in sorted(names):
        first, last = kernel.iname_slab_increments.get(name, (0, 0))
        bounds = kernel.get_iname_bounds(name) if first or last else None
        if bounds is not None and first:
            tests.append(p.Comparison(p.Variable(name), ">=", pw_aff_to_expr(bounds.lower_bound_pw_aff) + first))
        if bounds is not None and last:
            tests.append(p.Comparison(p.Variable(name), "<=", pw_aff_to_expr(bounds.upper_bound_pw_aff) - last))
    return tuple(tests)
