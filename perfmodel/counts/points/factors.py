"""A set as a product of sets over fewer dimensions, which are counted one by one.

The loops of a tiled kernel couple only in pairs (16*i_outer + i_inner < n), and most pairs look
alike: a matrix product's six loops are three times the same two-dimensional set.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import islpy as isl

from perfmodel.counts.points.elimination import eliminated, tightened
from perfmodel.counts.points.polynomials import Form, combine, replaced
from perfmodel.counts.points.polytopes import Polytope, form_of

SET, PARAM, DIV, CONSTANT = (
    isl.dim_type.set, isl.dim_type.param, isl.dim_type.div, isl.dim_type.cst
)


@dataclass(frozen=True)
class Multiple:
    """The integer ``(parameter - remainder) / divisor``."""

    parameter: str
    remainder: int
    divisor: int

    @property
    def name(self) -> str:
        """The name that stands for it in forms."""
        return f"({self.parameter} - {self.remainder})/{self.divisor}"


@dataclass(frozen=True)
class Product:
    """A basic set, taken apart.

    Attributes
    ----------
    basic : islpy.BasicSet
        The set; dimension k is the variable ``_vk`` of the factors.
    factors : tuple of Polytope
        Over disjoint groups of variables.
    conditions : tuple of dict
        The forms that the set asks to be >= 0 of the parameters alone.
    multiples : tuple of Multiple
        What stands in forms for parameters that the set makes multiples.
    divisible : bool
        Whether isl's constraints, too, involve the variables of one factor each: they may
        involve floors of several, which are eliminated from the factors.
    """

    basic: isl.BasicSet
    factors: tuple[Polytope, ...]
    conditions: tuple[Form, ...]
    multiples: tuple[Multiple, ...]
    divisible: bool

    def points(self, factor: Polytope) -> isl.Set:
        """Return one of the factors (and the conditions) as isl's set, if it is divisible."""
        kept = {int(name[2:]) for name in factor.variables}
        return _part(self.basic, kept)


def variable(dimension: int) -> str:
    """Return the name of a dimension in the factors of a set."""
    return f"_v{dimension}"


def product_of(points: isl.Set) -> Product | None:
    """Return a set as a product; None for a union, and where floors can't be eliminated."""
    if points.n_basic_set() != 1:
        return None
    (basic,) = points.get_basic_sets()
    names = [basic.get_dim_name(PARAM, k) for k in range(basic.dim(PARAM))]
    variables = tuple(variable(k) for k in range(basic.dim(SET)))
    floors = [f"_e{k}" for k in range(basic.dim(DIV))]
    columns = ["", *names, *variables, *floors]
    equalities = _rows(basic.equalities_matrix(CONSTANT, PARAM, SET, DIV), columns)
    inequalities = _rows(basic.inequalities_matrix(CONSTANT, PARAM, SET, DIV), columns)
    multiples: list[Multiple] = []
    bound: list[str] = []
    for position, floor in enumerate(floors):
        found = _congruence(equalities, floor, {*names})
        if found is None:
            bound.append(floor)
            inequalities += _definition(basic, position, columns)
            continue
        multiple, by_floor = found
        by_parameter = {multiple.name: multiple.divisor, "": multiple.remainder}
        for name, by in ((floor, by_floor), (multiple.parameter, by_parameter)):
            equalities = [replaced(form, name, by) for form in equalities]
            inequalities = [replaced(form, name, by) for form in inequalities]
        multiples.append(multiple)
    whole: Polytope | None = Polytope(
        (*variables, *bound), tuple(form for form in equalities if form),
        tuple(map(tightened, inequalities)),
    )
    for floor in bound:
        whole = None if whole is None else eliminated(whole, floor)
    return None if whole is None else _taken_apart(basic, whole, tuple(multiples), not bound)


def _definition(basic: isl.BasicSet, position: int, columns: list[str]) -> list[Form]:
    """Return 0 <= f - d*e < d for a variable e = floor(f/d), which isl may take as read.

    Of a variable that isl only knows to exist, the constraints are all that there is.
    """
    try:
        floor = basic.get_local_space().get_div(position)
    except isl.Error:
        return []
    denominator = int(floor.get_denominator_val().to_python())
    form = form_of(floor.scale_val(isl.Val(denominator)), columns[1:])
    remainder = combine(form, 1, {f"_e{position}": denominator}, -1)
    return [remainder, combine({"": denominator - 1}, 1, remainder, -1)]


def _rows(matrix: isl.Mat, columns: list[str]) -> list[Form]:
    return [
        {
            name: c for k, name in enumerate(columns)
            if (c := matrix.get_element_val(row, k).get_num_si())
        }
        for row in range(matrix.rows())
    ]


def _congruence(
    equalities: list[Form], floor: str, parameters: set[str]
) -> tuple[Multiple, Form] | None:
    """Return the equality p = c + k*floor as p = r + |k|*m with 0 <= r < |k|, and floor in m."""
    for form in equalities:
        others = form.keys() - {"", floor}
        if floor in form and len(others) == 1 and others <= parameters:
            (name,) = others
            if abs(form[name]) != 1:
                continue
            sign = -form[name]
            constant, factor = sign * form.get("", 0), sign * form[floor]
            multiple = Multiple(name, constant % abs(factor), abs(factor))
            step = {multiple.name: abs(factor) // factor, "": (multiple.remainder - constant) // factor}
            return multiple, {key: c for key, c in step.items() if c}
    return None


def _taken_apart(
    basic: isl.BasicSet, whole: Polytope, multiples: tuple[Multiple, ...], divisible: bool
) -> Product:
    forms = (*whole.equalities, *whole.inequalities)
    groups = merged(({name} for name in whole.variables),
                    (form.keys() & set(whole.variables) for form in forms))
    factors = []
    for group in groups:
        factors.append(Polytope(
            tuple(name for name in whole.variables if name in group),
            tuple(form for form in whole.equalities if form.keys() & group),
            tuple(form for form in whole.inequalities if form.keys() & group),
        ))
    free = set(whole.variables)
    conditions = [form for form in whole.inequalities if not form.keys() & free]
    for form in whole.equalities:
        if not form.keys() & free:
            conditions += [form, combine(form, -1, {}, 0)]
    return Product(basic, tuple(factors), tuple(conditions), multiples, divisible)


def canonical(factor: Polytope) -> object:
    """Return what is equal for factors that differ in the names of their variables only."""
    names = {name: f"_{k}" for k, name in enumerate(factor.variables)}
    equalities, inequalities = (
        frozenset(frozenset((names.get(name, name), c) for name, c in form.items()) for form in forms)
        for forms in (factor.equalities, factor.inequalities)
    )
    return len(names), equalities, inequalities


def merged(groups: Iterable[set[str]], couplings: Iterable[set[str]]) -> list[set[str]]:
    """Return the groups joined where a coupling has members of several."""
    found = list(groups)
    for coupled in couplings:
        touched = [group for group in found if group & coupled]
        if len(touched) > 1:
            found = [group for group in found if not group & coupled]
            found.append(set().union(*touched))
    return found


def _part(basic: isl.BasicSet, kept: set[int]) -> isl.Set:
    others = [k for k in reversed(range(basic.dim(SET))) if k not in kept]
    for k in others:
        basic = basic.drop_constraints_involving_dims(SET, k, 1)
    part = basic.to_set()
    for k in others:
        part = part.project_out(SET, k, 1)
    return part
