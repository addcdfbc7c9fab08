"""A set as a product of sets over fewer dimensions, which are counted one by one.

The loops of a tiled kernel couple only in pairs (16*i_outer + i_inner < n), and most pairs look
alike: a matrix product's six loops are three times the same two-dimensional set.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import islpy as isl

from perfmodel.counts.points.affine_forms import AffineForm, floor_rows
from perfmodel.counts.points.elimination import eliminated, straightened
from perfmodel.counts.points.polytopes import Polytope, fraction_of

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
class FactoredSet:
    """A basic set as a product.

    Attributes
    ----------
    basic : islpy.BasicSet
        The set; dimension k is the variable ``_vk`` of the factors.
    factors : tuple of Polytope
        Over disjoint groups of variables.
    conditions : tuple of AffineForm
        Forms in the parameters alone; the set is empty where one of them is negative.
    multiples : tuple of Multiple
        Names in the forms that replace parameters which the set makes multiples.
    separable : bool
        Whether each of isl's own constraints, too, involves the variables of one factor only.
        Otherwise they have floors of several, which are eliminated from the factors.
    """

    basic: isl.BasicSet
    factors: tuple[Polytope, ...]
    conditions: tuple[AffineForm, ...]
    multiples: tuple[Multiple, ...]
    separable: bool

    def points(self, factor: Polytope) -> isl.Set:
        """Return one of the factors (and the conditions) as isl's set, if the set is separable."""
        names = [variable(k) for k in range(self.basic.dim(SET))]
        others = [k for k in reversed(range(len(names))) if names[k] not in factor.variables]
        basic = self.basic
        for k in others:
            basic = basic.drop_constraints_involving_dims(SET, k, 1)
        part = basic.to_set()
        for k in others:
            part = part.project_out(SET, k, 1)
        return part

    def straightened_points(self, factor: Polytope) -> isl.Set | None:
        """Return a set of as many points as :meth:`points` over fewer variables; None where none are seen."""
        simple = straightened(factor)
        if self.multiples or len(simple.variables) == len(factor.variables):
            return None
        merged = replace(simple, inequalities=(*simple.inequalities, *self.conditions))
        return isl.Set(str(merged)).align_params(self.basic.get_space())


def variable(dimension: int) -> str:
    """Return the name of a dimension in the factors of a set."""
    return f"_v{dimension}"


def factored(points: isl.Set) -> FactoredSet | None:
    """Return a set as a product; None for a union, and where floors can't be eliminated."""
    if points.n_basic_set() != 1:
        return None
    (basic,) = points.get_basic_sets()
    whole, multiples = _with_multiples(basic)
    bound = whole.variables[basic.dim(SET):]  # floors of variables
    found: Polytope | None = whole
    for floor in bound:
        found = None if found is None else eliminated(found, floor)
    return None if found is None else _taken_apart(basic, found, multiples, not bound)


def _with_multiples(basic: isl.BasicSet) -> tuple[Polytope, tuple[Multiple, ...]]:
    """Return a set as a polytope whose variables are its dimensions and its floors of these.

    A floor that makes a parameter a multiple is replaced, together with the parameter, by a name
    for that multiple.
    """
    names = [basic.get_dim_name(PARAM, k) for k in range(basic.dim(PARAM))]
    variables = [variable(k) for k in range(basic.dim(SET))]
    floors = [f"_e{k}" for k in range(basic.dim(DIV))]
    columns = [*names, *variables, *floors]
    equalities = _rows(basic.equalities_matrix(PARAM, SET, DIV, CONSTANT), columns)
    inequalities = _rows(basic.inequalities_matrix(PARAM, SET, DIV, CONSTANT), columns)
    multiples: list[Multiple] = []
    for position, floor in enumerate(floors):
        found = _congruence(equalities, floor, {*names})
        if found is None:
            variables.append(floor)
            inequalities += _definition(basic, position, columns)
            continue
        multiple, by_floor = found
        by_parameter = AffineForm({multiple.name: multiple.divisor}, multiple.remainder)
        for name, by in ((floor, by_floor), (multiple.parameter, by_parameter)):
            equalities = [form.substituted(name, by) for form in equalities]
            inequalities = [form.substituted(name, by) for form in inequalities]
        multiples.append(multiple)
    return Polytope(
        tuple(variables), tuple(form for form in equalities if form),
        tuple(form.tightened() for form in inequalities),
    ), tuple(multiples)


def _definition(basic: isl.BasicSet, position: int, columns: list[str]) -> tuple[AffineForm, ...]:
    """Return the two inequalities of a variable e = floor(f/d), which isl may leave out.

    Of a variable that isl only knows to exist, isl's constraints are all that there is.
    """
    try:
        floor = basic.get_local_space().get_div(position)
    except isl.Error:
        return ()
    return floor_rows(f"_e{position}", *fraction_of(floor, columns))


def _rows(matrix: isl.Mat, columns: list[str]) -> list[AffineForm]:
    """Return a form for each row of a matrix with a column for each name, and last the constants."""
    forms = []
    for row in range(matrix.rows()):
        terms = {
            name: c for k, name in enumerate(columns)
            if (c := matrix.get_element_val(row, k).get_num_si())
        }
        forms.append(AffineForm(terms, matrix.get_element_val(row, len(columns)).get_num_si()))
    return forms


def _congruence(
    equalities: Iterable[AffineForm], floor: str, parameters: set[str]
) -> tuple[Multiple, AffineForm] | None:
    """Return the equality p = c + k*floor as p = r + |k|*m with 0 <= r < |k|, and floor in m."""
    for form in equalities:
        if floor not in form or len(form.terms) != 2:
            continue
        (name,) = form.names - {floor}
        if name in parameters and abs(form[name]) == 1:
            constant, factor = -form[name] * form.constant, -form[name] * form[floor]
            multiple = Multiple(name, constant % abs(factor), abs(factor))
            sign = abs(factor) // factor
            return multiple, AffineForm({multiple.name: sign}, (multiple.remainder - constant) // factor)
    return None


def _taken_apart(
    basic: isl.BasicSet, whole: Polytope, multiples: tuple[Multiple, ...], separable: bool
) -> FactoredSet:
    free = set(whole.variables)
    forms = (*whole.equalities, *whole.inequalities)
    groups = merged(({name} for name in whole.variables), (form.terms.keys() & free for form in forms))
    factors = tuple(
        Polytope(
            tuple(name for name in whole.variables if name in group),
            tuple(form for form in whole.equalities if not group.isdisjoint(form.terms)),
            tuple(form for form in whole.inequalities if not group.isdisjoint(form.terms)),
        ) for group in groups
    )
    conditions = [form for form in whole.inequalities if free.isdisjoint(form.terms)]
    for form in whole.equalities:
        if free.isdisjoint(form.terms):
            conditions += [form, -form]
    return FactoredSet(basic, factors, tuple(conditions), multiples, separable)


def merged(groups: Iterable[set[str]], couplings: Iterable[set[str]]) -> list[set[str]]:
    """Return the groups joined where a coupling has members of several."""
    found = list(groups)
    for coupled in couplings:
        touched = [group for group in found if group & coupled]
        if len(touched) > 1:
            found = [group for group in found if not group & coupled]
            found.append(set().union(*touched))
    return found
