"""The grid of a device kernel, as Loopy computes it.

Hardware ids begin at 0. Where an iname on a hardware axis begins elsewhere, the generated code adds its first value
to the id. So does :func:`from_zero` to the kernel, before it is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import islpy as isl
import loopy as lp
import pymbolic.primitives as p
from constantdict import constantdict
from loopy.kernel.function_interface import CallableKernel
from loopy.kernel.tools import get_hw_axis_base_for_codegen
from loopy.symbolic import SubstitutionMapper, aff_to_expr

from perfmodel.counts.reading.domains import Domains
from perfmodel.errors import NotCountableError

SET, PARAM = isl.dim_type.set, isl.dim_type.param


def from_zero(domains: Domains) -> lp.LoopKernel:
    """Return the kernel with inames on hardware axes that begin at 0, and their first values in its expressions.

    The kernel itself is returned where all of them begin at 0 already.
    """
    firsts: dict[str, isl.Aff] = {}
    for name, axis in domains.axes.items():
        line = domains.line(name) if axis else None
        if line is None or all(low.plain_is_zero() for _, low in line.dim_min(0).get_pieces()):
            continue
        first = get_hw_axis_base_for_codegen(domains.kernel, name)
        if not first.plain_is_zero() and set(first.get_var_names(PARAM)) <= set(domains.parameters):
            firsts[name] = first
    return _moved(domains.kernel, firsts) if firsts else domains.kernel


def _moved(kernel: lp.LoopKernel, firsts: Mapping[str, isl.Aff]) -> lp.LoopKernel:
    """Return the kernel with each iname replaced by its sum with a first value."""
    texts = {name: f"{name} + {str(first).partition('[(')[2].rpartition(')]')[0]}" for name, first in firsts.items()}
    sums = {p.Variable(name): p.Sum((p.Variable(name), aff_to_expr(first))) for name, first in firsts.items()}
    substitute = SubstitutionMapper(sums.get)
    return kernel.copy(
        domains=[_moved_domain(domain, texts) for domain in kernel.domains],
        instructions=[i.with_transformed_expressions(substitute) for i in kernel.instructions],
    )


def _moved_domain(domain: isl.BasicSet, texts: Mapping[str, str]) -> isl.BasicSet:
    """Return {x : the point with the texts in place of the names is in the domain}, names being loops or parameters."""
    outer = [name for name in domain.get_var_names(PARAM) if name in texts]
    for name in outer:
        index = domain.get_var_names(PARAM).index(name)
        domain = domain.move_dims(SET, domain.dim(SET), PARAM, index, 1)
    names = domain.get_var_names(SET)
    parameters = domain.get_var_names(PARAM)
    used = {word for text in texts.values() for word in re.findall(r"[A-Za-z_]\w*", text)} - {"floor", *names}
    known = ", ".join(dict.fromkeys([*parameters, *sorted(used - set(texts))]))
    change = isl.MultiAff(
        f"[{known}] -> {{ [{', '.join(names)}] -> [{', '.join(texts.get(name, name) for name in names)}] }}"
    )
    domain = domain.align_params(change.get_space().params())
    domain = domain.preimage_multi_aff(change.align_params(domain.get_space()))
    for position, name in enumerate(names):
        domain = domain.set_dim_name(SET, position, name)
    for name in outer:
        index = domain.get_var_names(SET).index(name)
        domain = domain.move_dims(PARAM, domain.dim(PARAM), SET, index, 1)
    return domain


def grid_and_group(
    domains: Domains, callables: Mapping[Any, Any], instructions: frozenset[str]
) -> tuple[tuple[isl.PwAff, ...], tuple[int, ...]]:
    """Return the work-groups along each group axis and the work-items along each local axis.

    Where one constraint bounds each axis, the extents are read from it. Loopy's search for static bounds
    gives the same, but takes milliseconds for each iname.
    """
    found = _read_off(domains, instructions)
    if found is None:
        functions = constantdict({
            name: known for name, known in callables.items() if not isinstance(known, CallableKernel)
        })  # callees are inlined; Loopy keeps the sizes by a hash of all that it is given, and kernels take long
        grid, local = domains.kernel.get_grid_sizes_for_insn_ids(instructions, functions, return_dict=False)
        return tuple(_sorted(size) for size in grid), tuple(_constant(size) for size in local)
    return found


def _sorted(extent: Any) -> Any:
    """Return an extent with its parameters in sorted order; Loopy's order depends on Python's hash seed."""
    if not isinstance(extent, isl.PwAff):
        return extent
    names = sorted(extent.get_var_names(PARAM))
    return extent.align_params(isl.Space.create_from_names(isl.DEFAULT_CONTEXT, set=[], params=names).params())


def _read_off(
    domains: Domains, instructions: frozenset[str]
) -> tuple[tuple[isl.PwAff, ...], tuple[int, ...]] | None:
    kernel, axes = domains.kernel, domains.axes
    if kernel.overridden_get_grid_sizes_for_insn_ids:
        return None
    sizes: dict[str, isl.PwAff] = {}
    inames = {name for i in instructions for name in kernel.id_to_insn[i].within_inames}
    for name in inames:
        if not axes[name]:
            continue
        size = _lanes(domains, name) if axes[name].startswith("l") else _groups(domains.line(name))
        if size is None:
            return None
        known = sizes.setdefault(axes[name], size)
        if not known.plain_is_equal(size):
            return None
    group: list[isl.PwAff] = []
    local: list[int] = []
    for kind, extents in (("g", group), ("l", local)):
        count = sum(axis.startswith(kind) for axis in sizes)
        for k in range(count):
            if f"{kind}.{k}" not in sizes:
                return None
            size = sizes[f"{kind}.{k}"]
            extents.append(size if kind == "g" else _constant(size))
    return tuple(group), tuple(local)


def _groups(line: isl.Set | None) -> isl.PwAff | None:
    """Return the extent of a line from 0 that one constraint gives, else None, as for bounds that data give."""
    if line is None:
        return None
    basics = line.compute_divs().get_basic_sets()
    if len(basics) != 1:
        return None
    basic = basics[0]
    uppers: list[isl.Constraint] = []
    lowers: list[isl.Constraint] = []
    for constraint in basic.get_constraints():
        coefficient = constraint.get_coefficient_val(SET, 0)
        if coefficient.is_zero():
            continue
        if constraint.is_equality() or _uses_divs(constraint.get_aff()):
            return None
        (uppers if coefficient.is_neg() else lowers).append(constraint)
    if len(uppers) != 1 or len(lowers) != 1 or not _is_zero_bound(lowers[0]):
        return None
    bound = isl.PwAff.from_aff(uppers[0].get_bound(SET, 0).floor())
    return bound.add_constant_val(isl.Val(1)).project_domain_on_params().coalesce()


def _uses_divs(aff: isl.Aff) -> bool:
    divs = isl.dim_type.div
    return any(not aff.get_coefficient_val(divs, k).is_zero() for k in range(aff.dim(divs)))


def _lanes(domains: Domains, iname: str) -> isl.PwAff | None:
    """Return the constant extent of an iname that starts at 0, else None, as for bounds that data give."""
    extremes = domains.extremes(iname)
    if extremes is None:
        return None
    low, high = extremes
    if not low.is_zero() or not high.is_int():
        return None
    return isl.PwAff(f"{{ [{high.to_python() + 1}] }}")


def _is_zero_bound(constraint: isl.Constraint) -> bool:
    aff = constraint.get_aff()
    return bool(
        aff.get_constant_val().is_zero()
        and not aff.involves_dims(PARAM, 0, aff.dim(PARAM))
    )


def _constant(size: Any) -> int:
    if isinstance(size, int):
        return size
    pieces = [piece for _, piece in size.get_pieces()]
    values = {piece.get_constant_val().to_python() for piece in pieces if piece.is_cst()}
    if len(values) != 1 or not all(piece.is_cst() for piece in pieces):
        raise NotCountableError(
            "a work-group whose shape depends on a parameter", f"its extent is {size}",
            "fix the local sizes, as OpenCL's compiled code does",
        )
    return int(values.pop())
