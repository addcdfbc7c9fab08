"""Loopy's sets and functions as islpy's, from the released Loopy (2025.2) and from its main branch.

Since d9719462 (July 2026) the main branch keeps objects of namedisl, with three differences: domains and assumptions
may be unions, functions have a domain without dimensions, and a fixed size stays a parameter. Both versions of Loopy
have the same number.
"""

from collections.abc import Iterable
from functools import reduce
from typing import Any

import islpy as isl
import loopy as lp
from loopy.kernel.tools import get_hw_axis_base_for_codegen

SET, PARAM, IN = isl.dim_type.set, isl.dim_type.param, isl.dim_type.in_


def are_named(kernel: lp.LoopKernel) -> bool:
    """Return whether a kernel is from Loopy's main branch. The sets of such a kernel are objects of namedisl."""
    return not isinstance(kernel.assumptions, isl.BasicSet)


def plain(thing: Any) -> Any:
    """Convert a set or function of Loopy to islpy. Return anything else, such as a number, unchanged."""
    if hasattr(thing, "as_isl"):
        thing = thing.as_isl()
    if isinstance(thing, isl.BasicSet):
        return thing.to_set()
    if isinstance(thing, (isl.Aff, isl.PwAff)) and not thing.dim(IN) and not thing.get_domain_space().is_params():
        return thing.project_domain_on_params()
    return thing


def in_fixed_order(t_unit: lp.TranslationUnit) -> lp.TranslationUnit:
    """Sort arguments, and parameters and constraints of sets. Loopy orders them by Python's hash seed."""
    for name, function in t_unit.callables_table.items():
        if isinstance(function, lp.CallableKernel):
            kernel = function.subkernel
            changes = {"args": sorted(kernel.args, key=lambda argument: argument.name)}
            if not are_named(kernel):
                changes |= {"domains": list(map(_sorted, kernel.domains)), "assumptions": _sorted(kernel.assumptions)}
            t_unit = t_unit.with_kernel(kernel.copy(name=name, **changes))
    return t_unit


def _sorted(points: isl.BasicSet) -> isl.BasicSet:
    names = sorted(points.get_var_names(PARAM))
    points = points.align_params(isl.Space.create_from_names(isl.DEFAULT_CONTEXT, set=[], params=names).params())
    single = sorted(map(isl.BasicSet.from_constraint, points.get_constraints()), key=str)
    ordered = reduce(isl.BasicSet.intersect, single, isl.BasicSet.universe(points.get_space()))
    # a variable of isl's own may be in several constraints, which the single constraints lose
    return ordered if not points.dim(isl.dim_type.div) or ordered.is_equal(points) else points


def domains(kernel: lp.LoopKernel) -> list[isl.Set]:
    """Return the domains of a kernel. Outer loops are parameters of inner domains."""
    return [_without_fixed(kernel, plain(domain)) for domain in kernel.domains]


def inames_domain(kernel: lp.LoopKernel, inames: Iterable[str]) -> isl.Set:
    return _without_fixed(kernel, plain(kernel.get_inames_domain(frozenset(inames))))


def assumptions(kernel: lp.LoopKernel) -> isl.Set:
    return _without_fixed(kernel, plain(kernel.assumptions).params())


def bounds(kernel: lp.LoopKernel, iname: str, constants_only: bool = False) -> tuple[isl.PwAff, isl.PwAff]:
    """Return the first and the last value of a loop."""
    found = kernel.get_iname_bounds(iname, constants_only=constants_only)
    return plain(found.lower_bound_pw_aff), plain(found.upper_bound_pw_aff)


def axis_base(kernel: lp.LoopKernel, iname: str) -> tuple[isl.Aff, Any]:
    """Return the first value of an iname on a hardware axis in the code, as a function and as an expression."""
    first = get_hw_axis_base_for_codegen(kernel, iname)
    return plain(first), lp.symbolic.aff_to_expr(first)


def with_domains(kernel: lp.LoopKernel, new: Iterable[isl.Set], **changes: Any) -> lp.LoopKernel:
    if not are_named(kernel):
        return kernel.copy(domains=[domain.simple_hull() for domain in new], **changes)  # each has one piece
    from namedisl import make_set

    return kernel.copy(domains=list(map(make_set, new)), **changes)


def _without_fixed(kernel: lp.LoopKernel, points: isl.Set) -> isl.Set:
    """Return a set without the parameters that `loopy.fix_parameters` removed from the kernel's arguments."""
    for position in reversed(range(points.dim(PARAM))):
        name = points.get_dim_name(PARAM, position)
        if points.plain_get_val_if_fixed(PARAM, position).is_int() and name not in kernel.all_variable_names():
            points = points.project_out(PARAM, position, 1)
    return points
