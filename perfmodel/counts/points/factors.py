"""Sets as products of polytopes over fewer variables. The polytopes are counted and projected one by one.

A *form* is a sum of variables with integer coefficients, and a constant. A *row* is a form that is not negative in the
set. The loops of a tiled kernel are coupled in pairs only (16*i_outer + i_inner < n), and most pairs are equal. A
variable is projected out, or replaced by a less coupled variable, where that is exact in the integers.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

import islpy as isl

from perfmodel.counts.points.polytopes import AffineForm, Polytope, floor_rows, fraction_of

SET, PARAM, DIV, CONSTANT = isl.dim_type.set, isl.dim_type.param, isl.dim_type.div, isl.dim_type.cst
Factors = tuple[Polytope | None, ...]
PRODUCTS = 4  # most products of a union that is expanded: four products have eleven intersections


def eliminated(polytope: Polytope, name: str) -> Polytope | None:
    """Return the projection along a variable, or None if the projection is not provably a polytope.

    If a or b is 1, an integer x with ``a*x >= l`` and ``b*x <= h`` exists where ``b*l <= a*h``. For any a and b it
    exists where ``a*h - b*l >= (a - 1)*(b - 1)`` (Pugh's Omega test, CACM 35(8), 1992).
    """
    tied = [form for form in polytope.equalities if name in form]
    if tied:
        unit = next((form for form in tied if abs(form[name]) == 1), None)
        if unit is None:
            return None
        moved = polytope.substituted(name, -unit[name] * unit.without(name)).without(name)
        return replace(moved, equalities=tuple(form for form in moved.equalities if form))
    lower, upper, kept = polytope.bounds(name)
    for low in lower:
        for high in upper:
            a, b = low[name], -high[name]
            form = b * low + a * high
            slack = (a - 1) * (b - 1)
            if (form - slack).is_certain():
                continue
            if slack:
                return None
            form = form.tightened()
            if form not in kept:
                kept.append(form)
    return Polytope(polytope.variables, polytope.equalities, tuple(kept)).without(name)


def straightened(polytope: Polytope) -> Polytope:
    """Return a polytope with the same number of points and, if possible, less coupled variables."""
    simple = without_tiles(_without_fixed(polytope))
    for name in simple.variables if len(simple.variables) > 1 else ():
        moved = _sheared(simple, name)
        if moved != simple:
            return straightened(moved)
    return simple


def _without_fixed(polytope: Polytope) -> Polytope:
    for form in polytope.equalities:
        for name in polytope.variables:
            if abs(form[name]) == 1:
                return _without_fixed(eliminated(polytope, name) or polytope)
    return polytope


def _sheared(polytope: Polytope, name: str) -> Polytope:
    """Return an equally large polytope. If x occurs only in multiples of x + f, x replaces x + f there."""
    others = set(polytope.variables) - {name}
    skews = {
        tuple(sorted((y, Fraction(form[y], form[name])) for y in form.names & others))
        for form in (*polytope.equalities, *polytope.inequalities) if name in form
    }
    if len(skews) != 1 or any(c.denominator != 1 for _, c in min(skews)):
        return polytope
    return polytope.substituted(name, AffineForm({name: 1, **{y: -int(c) for y, c in min(skews)}}))


def without_tiles(polytope: Polytope) -> Polytope:
    """Return a polytope with the same number of points in which one variable replaces a tile x and an offset y.

    The new variable is ``z = a*x + y``. The conditions are ``0 <= y - f < a``, and that all other constraints contain
    ``a*x + y`` or ``x`` alone. Then z determines x = floor((z - f)/a), and ``x >= l`` becomes ``z >= a*l + f``.
    """
    polytope = _without_determined(polytope)
    for offset in polytope.variables:
        for tile in polytope.variables:
            merged_tile = _with_merged(polytope, tile, offset) if tile != offset else None
            if merged_tile is not None:
                return without_tiles(merged_tile)
    return polytope


def _without_determined(polytope: Polytope) -> Polytope:
    """Remove each variable x = floor(f/a) that other variables determine: only ``0 <= f - a*x < a`` contains x."""
    for name in polytope.variables:
        rows = [form for form in polytope.inequalities if name in form.terms]
        if len(rows) != 2 or any(name in form for form in polytope.equalities):
            continue
        if rows[0] + rows[1] == AffineForm({}, abs(rows[0][name]) - 1):
            others = tuple(form for form in polytope.inequalities if name not in form)
            return _without_determined(replace(polytope, inequalities=others).without(name))
    return polytope


def _with_merged(polytope: Polytope, tile: str, offset: str) -> Polytope | None:
    """Return the polytope in which ``offset`` means width * tile + offset, or None if that is not possible."""
    both = {tile, offset}
    if not all(both.isdisjoint(form.terms) for form in polytope.equalities):
        return None
    rows = [form for form in polytope.inequalities if not both.isdisjoint(form.terms)]
    of_offset = [form for form in rows if tile not in form]
    for start in (form for form in of_offset if form[offset] == 1):
        for stop in (form for form in of_offset if form[offset] == -1):
            span = start + stop
            if not span.is_certain():
                continue
            moved = [
                _on_merged(form, tile, offset, start, span.constant + 1) for form in rows if form not in (start, stop)
            ]
            if None not in moved:
                kept = [form for form in polytope.inequalities if form not in rows]
                kept += [form for form in moved if form is not None]
                return replace(polytope, inequalities=tuple(kept)).without(tile)
    return None


def _on_merged(form: AffineForm, tile: str, offset: str, start: AffineForm, width: int) -> AffineForm | None:
    """Return an inequality in z = width*tile + offset, or None if it has other terms. z has the name ``offset``."""
    c, d = form[tile], form[offset]
    rest = form.without(tile).without(offset)
    if c == width * d:
        return rest + AffineForm({offset: d})
    if d == 0 and c == 1:  # tile >= -rest: z - f >= -width*rest
        return start + width * rest
    if d == 0 and c == -1:  # tile <= rest: z - f <= width*rest + width - 1
        return width * rest + (width - 1) - start
    return None

def alternating(union: Sequence[Factors]) -> Iterator[tuple[int, Factors]]:
    """Yield signs and products whose points add up to the points of a union: ``|A or B| = |A| + |B| - |A and B|``.

    A factor None is an unknown polytope. An intersection with a factor None is None. A union of more than
    :data:`PRODUCTS` products yields only ``(1, (None,))``.
    """
    if len(union) > PRODUCTS:
        yield 1, (None,)
        return
    for size in range(1, len(union) + 1):
        for products in combinations(union, size):
            yield (-1) ** (size + 1), tuple(_common(factors) for factors in zip(*products, strict=True))


def _common(factors: Factors) -> Polytope | None:
    distinct = list({id(factor): factor for factor in factors}.values())
    first = distinct[0]
    if len(distinct) == 1 or first is None:
        return first
    rows, equalities = dict.fromkeys(first.inequalities), dict.fromkeys(first.equalities)
    for factor in distinct[1:]:
        if factor is None:
            return None
        rows |= dict.fromkeys(factor.inequalities)
        equalities |= dict.fromkeys(factor.equalities)
    kept = [row for row in rows if not any(row.follows_from(other) for other in rows if other is not row)]
    return Polytope(first.variables, tuple(equalities), tuple(kept))

@dataclass(frozen=True)
class Multiple:
    """The integer ``(parameter - remainder) / divisor``."""

    parameter: str
    remainder: int
    divisor: int

    @property
    def name(self) -> str:
        return f"({self.parameter} - {self.remainder})/{self.divisor}"


@dataclass(frozen=True)
class FactoredSet:
    """A basic set as a product of polytopes over disjoint groups of variables. Dimension k is the variable ``_vk``.

    A condition is a form in the parameters alone. The set is empty where a condition is negative. If the set requires a
    parameter to be a multiple, the name of a :class:`Multiple` replaces the parameter. In a separable set, each of
    isl's own constraints involves the variables of one factor only. If floors over several factors were eliminated, the
    set is not separable.
    """

    basic: isl.BasicSet
    factors: tuple[Polytope, ...]
    conditions: tuple[AffineForm, ...]
    multiples: tuple[Multiple, ...]
    separable: bool

    def points(self, factor: Polytope) -> isl.Set:
        """Return a factor with the conditions as a set of isl. The product must be separable."""
        others = [k for k in range(self.basic.dim(SET)) if variable(k) not in factor.variables]
        basic = self.basic
        for k in reversed(others):
            basic = basic.drop_constraints_involving_dims(SET, k, 1)
        return without_dimensions(basic.to_set(), others)

    def straightened_points(self, factor: Polytope) -> isl.Set | None:
        """Return a set of as many points as :meth:`points` with fewer variables, or None if none is found."""
        simple = straightened(factor)
        if self.multiples or len(simple.variables) == len(factor.variables):
            return None
        constrained = replace(simple, inequalities=(*simple.inequalities, *self.conditions))
        return isl.Set(str(constrained)).align_params(self.basic.get_space())


def without_dimensions(points: isl.Set, dimensions: Iterable[int]) -> isl.Set:
    for k in sorted(dimensions, reverse=True):
        points = points.project_out(SET, k, 1)
    return points


def variable(dimension: int) -> str:
    return f"_v{dimension}"


def factored(points: isl.Set) -> FactoredSet | None:
    """Return a set as a product, or None for a union and for a set whose floors cannot be eliminated."""
    if points.n_basic_set() != 1:
        return None
    (basic,) = points.get_basic_sets()
    whole, multiples = _with_multiples(basic)
    floors = whole.variables[basic.dim(SET):]  # of variables
    for floor in floors:
        simpler = eliminated(whole, floor)
        if simpler is None:
            return None
        whole = simpler
    free = set(whole.variables)
    forms = (*whole.equalities, *whole.inequalities)
    groups = merged(({name} for name in whole.variables), (form.terms.keys() & free for form in forms))
    factors = tuple(Polytope(
        tuple(name for name in whole.variables if name in group),
        tuple(form for form in whole.equalities if not group.isdisjoint(form.terms)),
        tuple(form for form in whole.inequalities if not group.isdisjoint(form.terms)),
    ) for group in groups)  # fmt: skip
    conditions = [form for form in whole.inequalities if free.isdisjoint(form.terms)]
    for form in whole.equalities:
        if free.isdisjoint(form.terms):
            conditions += [form, -form]
    return FactoredSet(basic, factors, tuple(conditions), multiples, not floors)


def merged(groups: Iterable[set[str]], couplings: Iterable[set[str]]) -> list[set[str]]:
    """Return the groups. Groups are joined if a coupling contains variables of both."""
    joined = list(groups)
    for coupled in couplings:
        touched = [group for group in joined if group & coupled]
        if len(touched) > 1:
            joined = [group for group in joined if not group & coupled]
            joined.append(set().union(*touched))
    return joined


def _with_multiples(basic: isl.BasicSet) -> tuple[Polytope, tuple[Multiple, ...]]:
    """Return a set as a polytope whose variables are the set's dimensions and the floors of dimensions.

    If a floor requires a parameter to be a multiple, the multiple's name replaces both the floor and the parameter.
    """
    names = [basic.get_dim_name(PARAM, k) for k in range(basic.dim(PARAM))]
    variables = [variable(k) for k in range(basic.dim(SET))]
    floors = [f"_e{k}" for k in range(basic.dim(DIV))]
    columns = [*names, *variables, *floors]
    equalities = _rows(basic.equalities_matrix(PARAM, SET, DIV, CONSTANT), columns)
    inequalities = _rows(basic.inequalities_matrix(PARAM, SET, DIV, CONSTANT), columns)
    multiples: list[Multiple] = []
    for position, floor in enumerate(floors):
        congruence = _congruence(equalities, floor, {*names})
        if congruence is None:
            variables.append(floor)
            with suppress(isl.Error):  # an existential variable has no definition
                inequalities += floor_rows(floor, *fraction_of(basic.get_local_space().get_div(position), columns))
            continue
        multiple, by_floor = congruence
        by_parameter = AffineForm({multiple.name: multiple.divisor}, multiple.remainder)
        for name, by in ((floor, by_floor), (multiple.parameter, by_parameter)):
            equalities = [form.substituted(name, by) for form in equalities]
            inequalities = [form.substituted(name, by) for form in inequalities]
        multiples.append(multiple)
    return Polytope(
        tuple(variables), tuple(form for form in equalities if form), tuple(form.tightened() for form in inequalities)
    ), tuple(multiples)


def _rows(matrix: isl.Mat, columns: list[str]) -> list[AffineForm]:
    forms = []
    for row in range(matrix.rows()):
        *coefficients, constant = (matrix.get_element_val(row, k).get_num_si() for k in range(len(columns) + 1))
        forms.append(AffineForm({name: c for name, c in zip(columns, coefficients, strict=True) if c}, constant))
    return forms


def _congruence(
    equalities: Iterable[AffineForm], floor: str, parameters: set[str]
) -> tuple[Multiple, AffineForm] | None:
    """Find an equality p = c + k*floor. Return the multiple m in p = r + |k|*m, and the floor as a form in m."""
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


def projected(points: isl.Set, names: Sequence[str]) -> isl.Set:
    """Return the projection of a set onto dimensions, which are then in the given order."""
    result = points.project_out_except(names, [SET])
    for target, name in enumerate(names):
        index = result.find_dim_by_name(SET, name)
        if index != target:
            # isl moves dimensions between different types only
            result = result.move_dims(PARAM, 0, SET, index, 1).move_dims(SET, target, PARAM, 0, 1)
    return result
