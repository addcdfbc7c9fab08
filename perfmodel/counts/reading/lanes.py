"""The lanes of a device kernel: its grid as Loopy computes it, and distances between addresses of neighbouring lanes.

A lane's distance is that to the next lane along local axis 0, for the last lane that to the one before it. An access
with several distances is divided into parts of one distance each. Hardware ids begin at 0: where an iname begins
elsewhere, :func:`from_zero` moves it, as the generated code does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

import islpy as isl
import loopy as lp
import numpy as np
import pymbolic.primitives as p
from constantdict import constantdict
from loopy.diagnostic import ExpressionNotAffineError, ExpressionToAffineConversionError
from loopy.kernel.function_interface import CallableKernel
from loopy.kernel.tools import get_hw_axis_base_for_codegen
from loopy.symbolic import (
    CoefficientCollector,
    PwQPolyEvaluationMapper,
    SubstitutionMapper,
    aff_to_expr,
    get_dependencies,
)

from perfmodel.counts.program.program import Domain, LaneStride
from perfmodel.counts.reading.domains import Domains, affine_form, names_in, pw_aff
from perfmodel.errors import NotCountableError

SET, PARAM = isl.dim_type.set, isl.dim_type.param
MOST_DISTANCES = 64  # an access with more different distances than this is called indirect
LARGE = 1 << 12  # a stride has the sign that it has at this size
Step = tuple[isl.Set | None, Any]  # the points (None: all), and the difference of the index


class Lanes:
    """The lanes of one domain, ``width`` of them along local axis 0."""

    def __init__(self, domain: Domain, width: int, parameters: tuple[str, ...]) -> None:
        self.domain = domain
        self.width = width
        self.parameters = parameters
        self.position = domain.axes.index("l.0") if "l.0" in domain.axes else None

    def strides(
        self, indices: tuple[Any, ...], layout: tuple[Any, ...], unit_axis: int | None
    ) -> tuple[LaneStride, ...]:
        """Return the distances, each with its points; none where they depend on data.

        Parameters
        ----------
        indices : tuple of pymbolic expressions
            One for each axis of the array.
        layout : tuple of int or pymbolic expressions
            The strides of the axes, in units of the access.
        """
        if self.position is None or not indices:
            return (LaneStride(constant(0), None, 0),)
        parts: list[tuple[isl.Set | None, tuple[Any, ...]]] = [(None, ())]
        for index in indices:
            steps = self.steps(index)
            parts = [
                (_both(where, here), (*taken, step))
                for where, taken in parts for here, step in steps
            ]
        return tuple(
            self.stride(steps, layout, unit_axis, where)
            for where, steps in parts
            if where is None or not where.intersect(self.domain.points).is_empty()
        )

    def steps(self, index: Any) -> list[Step]:
        """Return the differences of ``index`` between a lane and the next, each with its points."""
        if self.domain.tied:
            return self.steps_by_relation(index)
        names = self.domain.names
        form = affine_form(index)
        if form is not None:
            return [(None, form.get(names[self.position or 0], 0))]
        try:
            coefficients = CoefficientCollector(list(names))(index)
        except (ExpressionNotAffineError, RuntimeError, ValueError, NotImplementedError):
            return self.steps_by_relation(index)
        return [(None, coefficients.get(p.Variable(names[self.position or 0]), 0))]

    def steps_by_relation(self, index: Any) -> list[Step]:
        """Return the same as :meth:`steps` for a quasi-affine index, or where loops are tied to lanes."""
        space = self.domain.points.get_space()
        try:
            here = isl.Map.from_pw_aff(pw_aff(space, index))
        except ExpressionToAffineConversionError:
            return []
        ahead = _difference(here, self.neighbours(1)).union(
            _difference(here, self.neighbours(-1), backwards=True)
        )
        ahead = ahead.intersect_domain(self.domain.points)
        values = ahead.range()
        values = values.project_out(PARAM, 0, values.dim(PARAM))
        if not values.is_bounded() or values.is_empty():
            return []
        if values.count_val().to_python() > MOST_DISTANCES:
            return []
        members: list[int] = []
        values.foreach_point(
            lambda point: members.append(point.get_coordinate_val(SET, 0).to_python())
        )
        return [
            (ahead.intersect_range(isl.Set(f"{{ [{value}] }}")).domain(), value)
            for value in sorted(members, key=abs)
        ]

    def neighbours(self, step: int) -> isl.Map:
        """Return the pairs of instances of lane l and lane l + step (last lane: step = -1)."""
        size = len(self.domain.names)
        here = [f"d{k}" for k in range(size)]
        there = [f"e{k}" for k in range(size)]
        lane = self.position
        last = max(self.width - 1, 1)
        tests = [f"e{lane} = d{lane} + {step}", f"d{lane} {'<' if step > 0 else '>='} {last}"]
        tests += [
            f"d{k} = e{k}" for k, name in enumerate(self.domain.names)
            if k != lane and name not in self.domain.tied
        ]
        pairs = isl.Map(
            f"{{ [{', '.join(here)}] -> [{', '.join(there)}] : {' and '.join(tests)} }}"
        )
        space = isl.Space.map_from_set(self.domain.points.get_space())
        pairs = pairs.align_params(space)
        for k, name in enumerate(self.domain.names):
            pairs = pairs.set_dim_name(isl.dim_type.in_, k, name)
            pairs = pairs.set_dim_name(isl.dim_type.out, k, name)
        return pairs.intersect_range(self.domain.points) if self.domain.tied else pairs

    def stride(
        self, steps: tuple[Any, ...], layout: tuple[Any, ...], unit_axis: int | None,
        within: isl.Set | None,
    ) -> LaneStride:
        """Return the distance that these steps along the axes make together."""
        distance: Any = 0
        for step, stride in zip(steps, layout, strict=True):
            distance = distance + step * stride
        along = None
        if unit_axis is not None and all(s == 0 for k, s in enumerate(steps) if k != unit_axis):
            step = steps[unit_axis]
            along = abs(int(step)) if isinstance(step, (int, np.integer)) else None
        return LaneStride(self.magnitude(distance), within, along)

    def magnitude(self, distance: Any) -> isl.PwQPolynomial:
        """Return |distance|, whose sign is that at large sizes."""
        found = quasi_polynomial(distance, self.parameters)
        value = found.eval_with_dict(dict.fromkeys(self.parameters, LARGE))
        return found.neg() if value < 0 else found


@lru_cache(maxsize=1024)
def quasi_polynomial(expr: Any, parameters: tuple[str, ...]) -> isl.PwQPolynomial:
    """Return an expression in parameters as a function of those that it uses."""
    if isinstance(expr, (int, np.integer)):
        return constant(int(expr))
    used = names_in(expr)
    names = [name for name in parameters if name in used]
    space = isl.Space.create_from_names(isl.DEFAULT_CONTEXT, set=[], params=names)
    if affine_form(expr) is not None:
        found = isl.PwQPolynomial.from_pw_aff(pw_aff(space, expr))
    else:
        found = _QuasiPolynomial(space, frozenset())(expr)
    if not found.get_domain_space().is_params():
        found = found.project_domain_on_params()
    return found.drop_unused_params()


class _QuasiPolynomial(PwQPolyEvaluationMapper):  # type: ignore[misc]
    """Loopy's mapper to quasi-polynomials, with floors of affine expressions."""

    def __init__(self, space: isl.Space, zeros: frozenset[str]) -> None:
        super().__init__(space, zeros)
        self.space = space

    def map_floor_div(self, expr: p.FloorDiv) -> isl.PwQPolynomial:
        return isl.PwQPolynomial.from_pw_aff(
            pw_aff(self.space, expr)
        )

    map_remainder = map_floor_div


@cache
def constant(value: int) -> isl.PwQPolynomial:
    """Return the function that is ``value`` everywhere."""
    return isl.PwQPolynomial(f"{{ {value} }}")


def _difference(here: isl.Map, pairs: isl.Map, backwards: bool = False) -> isl.Map:
    there = pairs.apply_range(here)
    first, second = (there, here) if backwards else (here, there)
    both = first.flat_range_product(second)
    return both.apply_range(isl.Map("{ [a, b] -> [b - a] }"))


def _both(left: isl.Set | None, right: isl.Set | None) -> isl.Set | None:
    if left is None or right is None:
        return right if left is None else left
    return left.intersect(right)


def uniform_scalars(kernel: lp.LoopKernel, axes: Mapping[str, str]) -> Mapping[str, frozenset[str]]:
    """Return the private scalars that no work-item of a group has to itself, each with the loops around its writes.

    ``box = list[g, k]`` is one: its index is made of group indices and sequential loops. Where it stands in another
    index, only the place depends on data, and the distance between lanes does not.

    A scalar is uniform inside of these loops: outside of them, lanes may have left a loop at different turns. All that
    is written to it is made of loops that are not on a local axis, of arguments that the kernel does not write, and of
    other such scalars. A write that has a condition makes it none of these. `axes` are the hardware axes of inames.
    """
    written = {name for instruction in kernel.instructions for name in instruction.assignee_var_names()}
    shared = frozenset(kernel.arg_dict.keys() - written)
    loops: dict[str, frozenset[str]] = {}
    needs: dict[str, list[tuple[frozenset[str], frozenset[str]]]] = {}  # of each write what it reads, and from where
    for instruction in kernel.instructions:
        around = frozenset(name for name in instruction.within_inames if not axes[name].startswith("l"))
        plain = isinstance(instruction, lp.Assignment) and not instruction.predicates
        for name in instruction.assignee_var_names():
            variable = kernel.temporary_variables.get(name)
            if variable is not None and variable.shape == () and variable.address_space == lp.AddressSpace.PRIVATE:
                reads = get_dependencies(instruction.expression) if plain else frozenset({""})
                needs.setdefault(name, []).append((reads - shared - around, around))
                loops[name] = loops.get(name, frozenset()) | around
    found: dict[str, frozenset[str]] = {}
    while more := [
        name for name in needs.keys() - found
        if all(one in found and found[one] <= around for reads, around in needs[name] for one in reads)
    ]:
        found.update((name, loops[name]) for name in more)
    return found




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
