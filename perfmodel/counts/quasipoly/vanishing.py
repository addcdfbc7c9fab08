"""Whether a piecewise quasi-polynomial is zero wherever it is defined, decided exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import islpy as isl

from perfmodel.counts.points.partial_sums import Case
from perfmodel.counts.points.polynomials import (
    Atom,
    Form,
    Polynomial,
    add,
    by_power,
    combine,
    floor,
    multiply,
    substituted,
)
from perfmodel.counts.points.polytopes import Polytope, form_of, polytope_of, reduced, text_of
from perfmodel.counts.points.summation import period_in, without_equalities
from perfmodel.counts.quasipoly.translation import fraction

SET, PARAM, DIV = isl.dim_type.set, isl.dim_type.param, isl.dim_type.div


def vanishes(function: isl.PwQPolynomial) -> bool:
    """Whether the function is zero at every point of its domain.

    Parameters become the variables of polytopes. On the points of one residue class the value is
    a polynomial; of degree d in a variable, it is zero on a line of more than d points only if
    all its coefficients are, and lines of at most d points are gone through one by one.
    """
    return all(
        _is_zero_on(case) for domain, value in function.get_pieces()
        for case in _cases(domain, value)
    )


def _cases(domain: isl.Set, value: isl.QPolynomial) -> Iterator[Case]:
    count = value.get_domain_space().dim(PARAM)
    names = [f"_v{k}" for k in range(count)]
    polynomial, extra = _polynomial(value, names)
    if not polynomial:
        return
    if domain.is_params():
        domain = domain.from_params()
    points = domain.move_dims(SET, 0, PARAM, 0, count).compute_divs()
    for basic in points.get_basic_sets():
        polytope, _ = polytope_of(basic)
        fresh = tuple(name for name in names if name not in polytope.variables)
        inner = tuple(name for form in extra for name in form if name.startswith("_q"))
        yield Case(
            Polytope(
                (*polytope.variables, *fresh, *dict.fromkeys(inner)), polytope.equalities,
                (*polytope.inequalities, *extra),
            ), polynomial, (),
        )


def _polynomial(value: isl.QPolynomial, names: list[str]) -> tuple[Polynomial, list[Form]]:
    """Return the value as a polynomial, and inequalities that fix floors inside floors."""
    total: Polynomial = {}
    extra: list[Form] = []
    for term in value.get_terms():
        powers: dict[Atom, int] = {
            name: term.get_exp(PARAM, k) for k, name in enumerate(names) if term.get_exp(PARAM, k)
        }
        product: Polynomial = {frozenset(powers.items()): fraction(term.get_coefficient_val())}
        for k in range(term.dim(DIV)):
            for _ in range(term.get_exp(DIV, k)):
                product = multiply(product, _floor_of(term.get_div(k), names, extra))
        total = add(total, product)
    return total, extra


def _floor_of(aff: isl.Aff, names: list[str], extra: list[Form]) -> Polynomial:
    denominator = int(aff.get_denominator_val().to_python())
    inner = [f"_q{k}" for k in range(aff.dim(DIV))]
    form = form_of(aff.scale_val(isl.Val(denominator)), [*names, *inner])
    for k, name in enumerate(inner):
        if name in form:
            within = aff.get_div(k)
            scale = int(within.get_denominator_val().to_python())
            numerator = form_of(within.scale_val(isl.Val(scale)), [*names, *inner])
            remainder = combine(numerator, 1, {name: scale}, -1)
            extra += [remainder, combine({"": scale - 1}, 1, remainder, -1)]
    return floor(form, denominator)


def _is_zero_on(case: Case) -> bool:
    """Whether the polynomial is zero at all points of the polytope; all names are variables."""
    if not case.value:
        return True
    simple = reduced(case.polytope)
    if simple is None:
        return True
    case = without_equalities(replace(case, polytope=simple))
    return all(_is_zero_without_floors(one) for one in _residue_classes(case))


def _residue_classes(case: Case) -> Iterator[Case]:
    """Yield cases that cover the case, in none of which a variable is in a floor."""
    for name in case.polytope.variables:
        period = period_in(case.value, name)
        if period > 1:
            for residue in range(period):
                by = {name: period, "": residue}
                value = substituted(case.value, name, by)
                if value:
                    moved = case.polytope.substituted(name, by)
                    moved = replace(moved, variables=case.polytope.variables)
                    yield from _residue_classes(Case(moved, value, ()))
            return
    if case.value:
        yield case


def _is_zero_without_floors(case: Case) -> bool:
    simple = reduced(case.polytope)
    if simple is None or not case.value:
        return True
    if simple.equalities:
        return _is_zero_on(replace(case, polytope=simple))
    name = next((v for v in simple.variables if by_power(case.value, v).keys() - {0}), None)
    if name is None:
        return False  # a constant, and a point
    coefficients = by_power(case.value, name)
    degree = max(coefficients)
    whole = isl.Set(text_of(simple))
    index = simple.variables.index(name)
    long = _lines_longer_than(degree, whole, index)
    others = (*simple.variables[:index], *simple.variables[index + 1:])
    on_long = (Case(one, c, ()) for one in _polytopes(long, others) for c in coefficients.values())
    if not all(_is_zero_on(one) for one in on_long):
        return False
    short = whole.subtract(long.insert_dims(SET, index, 1))
    return all(
        _is_zero_on(Case(points, case.value, ()))
        for one in _polytopes(short, simple.variables) for points in _ends(one, name, degree)
    )


def _lines_longer_than(length: int, points: isl.Set, index: int) -> isl.Set:
    """Return the points without a variable, at which it has more values than ``length``."""
    count = points.dim(SET)
    here = ", ".join(f"x{k}" for k in range(count))
    there = ", ".join(f"x{k}" if k != index else f"x{k} - {length}" for k in range(count))
    both = points.intersect(points.apply(isl.Map(f"{{ [{here}] -> [{there}] }}")))
    return both.project_out(SET, index, 1)


def _polytopes(points: isl.Set, names: tuple[str, ...]) -> Iterator[Polytope]:
    for basic in points.compute_divs().get_basic_sets():
        yield polytope_of(basic, names)[0]


def _ends(polytope: Polytope, name: str, length: int) -> Iterator[Polytope]:
    """Yield polytopes that together hold the first ``length`` points of all lines."""
    rows = [form for form in polytope.inequalities if name in form]
    bounds = [form for form in rows if form[name] > 0]
    for form in bounds or rows:
        for distance in range(abs(form[name]) * length):
            equality = combine(form, 1, {"": distance}, -1)
            yield replace(polytope, equalities=(*polytope.equalities, equality))
