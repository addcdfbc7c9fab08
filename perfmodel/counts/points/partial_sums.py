"""Cases of a sum over the points of a set, and what they add up to as a function of parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import islpy as isl

from perfmodel.counts.points.polynomials import (
    Atom,
    FloorAtom,
    Form,
    Polynomial,
    add,
    constant,
    linear,
    multiply,
)
from perfmodel.counts.points.polytopes import Derived, Polytope

Values = dict[str, Polynomial]  # by the condition in isl's notation
TERMS = 400  # of a function: of all kernels that we know none needs 300 terms or 20 floors
FLOORS = 24


class TooHardError(Exception):
    """The sum needs too many cases (internal: an upper bound is given instead)."""


@dataclass(frozen=True)
class Case:
    """A polynomial to be summed over the points of a polytope.

    Attributes
    ----------
    polytope : Polytope
        Its equalities hold among parameters alone once no variable is left.
    value : dict
        The polynomial.
    derived : tuple of Derived
        Parameters that are floors of forms in other ones, those before them included.
    """

    polytope: Polytope
    value: Polynomial
    derived: tuple[Derived, ...]


def closed(cases: list[Case]) -> Values:
    """Return, for cases that have no variables left, their values by the conditions that isl reads."""
    values: Values = {}
    for case in cases:
        condition, value = _closed(case)
        values[condition] = add(values.get(condition, {}), value)
    return values


def joined(first: Values, second: Values) -> Values:
    """Return the sum of what :func:`closed` returns.

    Raises
    ------
    TooHardError
        It would take isl long to add the values, or more than 0.1 s to evaluate them.
    """
    both = first | {
        condition: add(first.get(condition, {}), value) for condition, value in second.items()
    }
    terms = [monomial for value in both.values() for monomial in value]
    floors = {atom for monomial in terms for atom, _ in monomial if "floor" in str(atom)}
    if len(terms) > TERMS or len(floors) > FLOORS:
        raise TooHardError
    return both


def total_of(values: Values, parameters: list[str]) -> isl.PwQPolynomial:
    """Return the sum of what :func:`closed` returned."""
    total = isl.PwQPolynomial("{ 0 }")
    for condition, value in values.items():
        total = total.add(_piecewise(value, condition, parameters)).coalesce()
    return total


def _closed(case: Case) -> tuple[str, Polynomial]:
    """Return the condition in isl's notation, and the value, over parameters that isl knows."""
    texts: dict[str, str] = {}
    for one in case.derived:
        texts[one.name] = f"floor(({_text(one.form, texts)})/{one.denominator})"
    tests = [f"{_text(form, texts)} = 0" for form in case.polytope.equalities]
    tests += [f"{_text(form, texts)} >= 0" for form in case.polytope.inequalities]
    value = case.value
    for one in reversed(case.derived):
        for form in case.polytope.equalities:
            if one.name in form:
                value = _solved(value, one.name, form)
                break
    return " and ".join(sorted(tests)) or "1 = 1", _with_texts(value, texts)


def _text(form: Form, texts: Mapping[str, str]) -> str:
    shown = [f"{c}*{texts.get(name, name)}" if name else str(c) for name, c in form.items()]
    return " + ".join(shown) or "0"


def _solved(value: Polynomial, name: str, form: Form) -> Polynomial:
    """Return the value with ``name``, outside floors, as ``form == 0`` has it."""
    rest = {key: c for key, c in form.items() if key != name}
    by = multiply(constant(Fraction(-1, form[name])), linear(rest))
    result: Polynomial = {}
    for monomial, c in value.items():
        term = constant(c)
        for atom, exponent in monomial:
            factor = by if atom == name else {frozenset([(atom, 1)]): Fraction(1)}
            for _ in range(exponent):
                term = multiply(term, factor)
        result = add(result, term)
    return result


def _with_texts(value: Polynomial, texts: Mapping[str, str]) -> Polynomial:
    """Return the value with every atom as a text of isl's notation."""

    def shown(atom: Atom) -> str:
        if isinstance(atom, FloorAtom):
            return f"floor(({_text(dict(atom.form), texts)})/{atom.denominator})"
        return texts.get(atom, atom)

    result: Polynomial = {}
    for monomial, c in value.items():
        powers: dict[Atom, int] = {}
        for atom, exponent in monomial:
            powers[shown(atom)] = powers.get(shown(atom), 0) + exponent
        result = add(result, {frozenset(powers.items()): c})
    return result


def _piecewise(
    value: Polynomial, condition: str, parameters: list[str]
) -> isl.PwQPolynomial:
    terms = []
    for monomial, c in value.items():
        factors = [f"({atom})^{exponent}" for atom, exponent in monomial]
        terms.append("*".join([f"({c})", *factors]))
    names, total = ", ".join(parameters), " + ".join(terms) or "0"
    return isl.PwQPolynomial(f"[{names}] -> {{ ({total}) : {condition} }}")
