"""The distances between the addresses of neighbouring lanes.

The distance of a lane is that to the next lane along local axis 0; for the last lane it is the distance
to the lane before it. Where the distances of an access differ, it is divided into parts of one distance each.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

import islpy as isl
import loopy as lp
import numpy as np
import pymbolic.primitives as p
from loopy.diagnostic import ExpressionNotAffineError, ExpressionToAffineConversionError
from loopy.symbolic import CoefficientCollector, PwQPolyEvaluationMapper, get_dependencies

from perfmodel.counts.program.program import Domain, LaneStride
from perfmodel.counts.reading.affine import affine_form, names_in, pw_aff

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
