"""Several quasi-polynomials as one generated function that computes shared floors once; whether one vanishes.

:func:`vanishes` decides exactly whether a quasi-polynomial is zero wherever it is defined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import islpy as isl

from perfmodel.counts.points.affine_forms import AffineForm, floor_rows
from perfmodel.counts.points.partial_sums import PartialSum
from perfmodel.counts.points.polynomials import Atom, Polynomial, floor
from perfmodel.counts.points.polytopes import Polytope, fraction_of, polytope_of, reduced
from perfmodel.counts.points.summation import without_equalities
from perfmodel.counts.quasipoly.evaluation import (
    Affine,
    Constraint,
    Floor,
    Guard,
    Piece,
    QuasiPolynomial,
    Term,
    compiled,
    guard_source,
    sum_source,
)
from perfmodel.counts.quasipoly.printing import fraction

SET, PARAM, DIV = isl.dim_type.set, isl.dim_type.param, isl.dim_type.div


def vanishes(function: isl.PwQPolynomial) -> bool:
    """Whether the function is zero at every point of its domain.

    Parameters become the variables of polytopes. On the points of one residue class the value is
    a polynomial; of degree d in a variable, it is zero on a line of more than d points only if
    all its coefficients are, and lines of at most d points are gone through one by one.
    """
    return all(
        _is_zero_on(summand) for domain, value in function.get_pieces()
        for summand in _summands(domain, value)
    )


def _summands(domain: isl.Set, value: isl.QPolynomial) -> Iterator[PartialSum]:
    """Yield the value on polytopes that together are the domain; all names are variables."""
    count = value.get_domain_space().dim(PARAM)
    names = [f"_v{k}" for k in range(count)]
    polynomial, inner_floors = _polynomial(value, names)
    if not polynomial:
        return
    if domain.is_params():
        domain = domain.from_params()
    points = domain.move_dims(SET, 0, PARAM, 0, count).compute_divs()
    for basic in points.get_basic_sets():
        polytope, _ = polytope_of(basic)
        inner = (name for form in inner_floors for name in form.names if name.startswith("_q"))
        variables = (*polytope.variables, *dict.fromkeys(inner))
        rows = (*polytope.inequalities, *inner_floors)
        yield PartialSum(Polytope(variables, polytope.equalities, rows), polynomial)


def _polynomial(value: isl.QPolynomial, names: list[str]) -> tuple[Polynomial, list[AffineForm]]:
    """Return the value as a polynomial, and inequalities that fix floors inside floors."""
    total = Polynomial({})
    inner_floors: list[AffineForm] = []
    for term in value.get_terms():
        powers: dict[Atom, int] = {
            name: term.get_exp(PARAM, k) for k, name in enumerate(names) if term.get_exp(PARAM, k)
        }
        product = Polynomial({frozenset(powers.items()): fraction(term.get_coefficient_val())})
        for k in range(term.dim(DIV)):
            for _ in range(term.get_exp(DIV, k)):
                product = product * _floor_of(term.get_div(k), names, inner_floors)
        total = total + product
    return total, inner_floors


def _floor_of(aff: isl.Aff, names: list[str], inner_floors: list[AffineForm]) -> Polynomial:
    inner = [f"_q{k}" for k in range(aff.dim(DIV))]
    columns = [*names, *inner]
    form, denominator = fraction_of(aff, columns)
    for k, name in enumerate(inner):
        if name in form:
            inner_floors += floor_rows(name, *fraction_of(aff.get_div(k), columns))
    return floor(form, denominator)


def _is_zero_on(summand: PartialSum) -> bool:
    """Whether the polynomial is zero at all points of the polytope; all names are variables."""
    if not summand.value:
        return True
    simple = reduced(summand.polytope)
    if simple is None:
        return True
    summand = without_equalities(replace(summand, polytope=simple))
    return all(_is_zero_without_floors(one) for one in _residue_classes(summand))


def _residue_classes(summand: PartialSum) -> Iterator[PartialSum]:
    """Yield what covers the polytope where the value is not zero, with no variable in a floor."""
    for name in summand.polytope.variables:
        period = summand.value.period(name)
        if period > 1:
            for residue in range(period):
                yield from _residue_classes(summand.substituted(name, AffineForm({name: period}, residue)))
            return
    if summand.value:
        yield summand


def _is_zero_without_floors(summand: PartialSum) -> bool:
    simple = reduced(summand.polytope)
    if simple is None or not summand.value:
        return True
    if simple.equalities:
        return _is_zero_on(replace(summand, polytope=simple))
    name = next((v for v in simple.variables if summand.value.coefficients(v).keys() - {0}), None)
    if name is None:
        return False  # a constant, and a point
    coefficients = summand.value.coefficients(name)
    degree = max(coefficients)
    whole = isl.Set(str(simple))
    index = simple.variables.index(name)
    long = _lines_longer_than(degree, whole, index)
    others = (*simple.variables[:index], *simple.variables[index + 1:])
    on_long = (PartialSum(one, c) for one in _polytopes(long, others) for c in coefficients.values())
    if not all(_is_zero_on(one) for one in on_long):
        return False
    short = whole.subtract(long.insert_dims(SET, index, 1))
    return all(
        _is_zero_on(PartialSum(points, summand.value))
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
            yield replace(polytope, equalities=(*polytope.equalities, form - distance))


class Together(NamedTuple):
    """A function of parameters, in order, that returns the value of each quasi-polynomial."""

    function: Callable[..., tuple[int | Fraction, ...]]
    parameters: tuple[str, ...]


def together(polynomials: Sequence[QuasiPolynomial]) -> Together:
    """Return the function that gives the values of quasi-polynomials at one point.

    Examples
    --------
    >>> double = QuasiPolynomial(("n",), (), (Piece(((),), (Term(Fraction(2), ((0, 1),)),)),))
    >>> function, parameters = together([double, QuasiPolynomial((), (), ())])
    >>> parameters, function(7)
    (('n',), (14, 0))
    """
    parameters = tuple(sorted({name for one in polynomials for name in one.parameters}))
    floors: dict[Floor, int] = {}
    lines: list[str] = []
    for k, one in enumerate(polynomials):
        places = [parameters.index(name) for name in one.parameters]
        for inner in one.floors:
            moved = Floor(_moved(inner.numerator, places), inner.denominator)
            places.append(floors.setdefault(moved, len(parameters) + len(floors)))
        lines.extend(_assignment(f"v{k}", [_piece(piece, places) for piece in one.pieces]))
    values = "".join(f"v{k}, " for k in range(len(polynomials)))
    return Together(compiled("together", parameters, tuple(floors), [*lines, f"return ({values})"]), parameters)


def _assignment(name: str, pieces: Sequence[Piece]) -> Iterator[str]:
    """Yield the lines that give a variable the value of the first piece that holds, or zero."""
    word = "if"
    for piece in pieces:
        condition, value = guard_source(piece.guard), f"{name} = {sum_source(piece.terms)}"
        if condition == "True":
            yield value if word == "if" else f"else: {value}"
            return
        yield f"{word} {condition}: {value}"
        word = "elif"
    yield f"{name} = 0" if word == "if" else f"else: {name} = 0"


def _piece(piece: Piece, places: Sequence[int]) -> Piece:
    guard: Guard = tuple(
        tuple(Constraint(_moved(one.form, places), one.equality) for one in conjunction) for conjunction in piece.guard
    )
    terms = (Term(one.coefficient, tuple((places[atom], power) for atom, power in one.powers)) for one in piece.terms)
    return Piece(guard, tuple(terms))


def _moved(form: Affine, places: Sequence[int]) -> Affine:
    """Return a form in atoms at other places."""
    return Affine(form.constant, tuple((places[atom], coefficient) for atom, coefficient in form.coefficients))
