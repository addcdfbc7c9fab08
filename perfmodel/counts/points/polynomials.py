"""Polynomials in integer variables and floors of affine forms, as plain values.

An affine form is a mapping of names to integers, its constant under the name ``""``. A polynomial
is a mapping of monomials to rationals; a monomial is a set of (atom, exponent), and an atom is a
name or the floor of a form over a positive integer. Functions return new values.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import comb, gcd
from typing import NamedTuple

Form = dict[str, int]


class FloorAtom(NamedTuple):
    """``floor(form / denominator)``; the form as sorted items."""

    form: tuple[tuple[str, int], ...]
    denominator: int


Atom = str | FloorAtom
Monomial = frozenset[tuple[Atom, int]]
Polynomial = dict[Monomial, Fraction]
ONE: Monomial = frozenset()


# {{{ forms

def combine(first: Form, left: int, second: Form, right: int) -> Form:
    """Return ``left * first + right * second``."""
    result = {name: left * c for name, c in first.items()}
    for name, c in second.items():
        result[name] = result.get(name, 0) + right * c
    return {name: c for name, c in result.items() if c}


def replaced(form: Form, name: str, by: Form) -> Form:
    """Return the form with a variable replaced by a form."""
    if name not in form:
        return form
    rest = {key: c for key, c in form.items() if key != name}
    return combine(rest, 1, by, form[name])

# }}}


# {{{ polynomials

def constant(value: Fraction | int) -> Polynomial:
    """Return a constant polynomial."""
    return {ONE: Fraction(value)} if value else {}


def linear(form: Form) -> Polynomial:
    """Return a form as a polynomial."""
    return {
        frozenset([(name, 1)]) if name else ONE: Fraction(c) for name, c in form.items() if c
    }


def add(left: Polynomial, right: Polynomial) -> Polynomial:
    """Return the sum."""
    result = dict(left)
    for monomial, c in right.items():
        total = result.get(monomial, Fraction(0)) + c
        if total:
            result[monomial] = total
        else:
            del result[monomial]
    return result


def multiply(left: Polynomial, right: Polynomial) -> Polynomial:
    """Return the product."""
    result: Polynomial = {}
    for first, c in left.items():
        for second, d in right.items():
            powers = dict(first)
            for atom, exponent in second:
                powers[atom] = powers.get(atom, 0) + exponent
            monomial = frozenset(powers.items())
            result[monomial] = result.get(monomial, Fraction(0)) + c * d
    return {monomial: c for monomial, c in result.items() if c}


def floor(form: Form, denominator: int) -> Polynomial:
    """Return floor(form / denominator), whatever is whole taken out of the floor.

    The first coefficient left inside is at most half the denominator, so that
    ``floor(-n/16)`` becomes ``-floor((n + 15)/16)``.
    """
    divisor = gcd(denominator, *(c for name, c in form.items() if name))
    offset = form.get("", 0) // divisor
    denominator //= divisor
    outside = {"": offset // denominator}
    inside = {"": offset % denominator}
    for name, c in form.items():
        if name:
            outside[name], inside[name] = divmod(c // divisor, denominator)
    names = sorted(name for name, c in inside.items() if name and c)
    if not names:
        return linear(outside)
    sign = 1
    if 2 * inside[names[0]] > denominator:
        sign = -1
        for name in names:  # floor(f/d) = -floor((d - 1 - f)/d), then coefficients in [0, d)
            outside[name] += 1
            inside[name] = denominator - inside[name]
        inside[""] = denominator - 1 - inside[""]
    kept = tuple(sorted((name, c) for name, c in inside.items() if c))
    atom = FloorAtom(kept, denominator)
    return add(linear(outside), {frozenset([(atom, 1)]): Fraction(sign)})


def substituted(polynomial: Polynomial, name: str, by: Form) -> Polynomial:
    """Return the polynomial with a variable replaced by a form, also inside floors."""
    result: Polynomial = {}
    for monomial, c in polynomial.items():
        product = constant(c)
        for atom, exponent in monomial:
            value = _atom_substituted(atom, name, by)
            for _ in range(exponent):
                product = multiply(product, value)
        result = add(result, product)
    return result


def _atom_substituted(atom: Atom, name: str, by: Form) -> Polynomial:
    if atom == name:
        return linear(by)
    if isinstance(atom, FloorAtom) and any(key == name for key, _ in atom.form):
        return floor(replaced(dict(atom.form), name, by), atom.denominator)
    return {frozenset([(atom, 1)]): Fraction(1)}


def by_power(polynomial: Polynomial, name: str) -> dict[int, Polynomial]:
    """Return the coefficients of the powers of a variable."""
    result: dict[int, Polynomial] = {}
    for monomial, c in polynomial.items():
        exponent = next((e for atom, e in monomial if atom == name), 0)
        rest = frozenset((atom, e) for atom, e in monomial if atom != name)
        result.setdefault(exponent, {})[rest] = c
    return result


def floors_with(polynomial: Polynomial, name: str) -> set[FloorAtom]:
    """Return the floors that a variable is in."""
    return {
        atom for monomial in polynomial for atom, _ in monomial
        if isinstance(atom, FloorAtom) and any(key == name for key, _ in atom.form)
    }


def involves(polynomial: Polynomial, name: str) -> bool:
    """Whether a variable is in the polynomial."""
    return any(atom == name for monomial in polynomial for atom, _ in monomial) or bool(
        floors_with(polynomial, name)
    )

# }}}


# {{{ power sums

@cache
def faulhaber(power: int) -> tuple[Fraction, ...]:
    """Return the coefficients of S with S(t) - S(t-1) = t**power and S(0) = 0.

    >>> [str(c) for c in faulhaber(1)]
    ['0', '1/2', '1/2']
    """
    # t^(k+1) - (t-1)^(k+1) = sum_j binom(k+1, j) (-1)^(k-j) t^j, solved for t^k
    result = [Fraction(0)] * (power + 2)
    result[power + 1] = Fraction(1)
    for j in range(power):
        for i, c in enumerate(faulhaber(j)):
            result[i] -= comb(power + 1, j) * (-1) ** (power - j) * c
    return tuple(c / (power + 1) for c in result)


def summed(polynomial: Polynomial, name: str, below: Polynomial, last: Polynomial) -> Polynomial:
    """Return the sum over ``below < name <= last``."""
    total: Polynomial = {}
    for power, coefficient in by_power(polynomial, name).items():
        sums = faulhaber(power)
        difference = add(_value(sums, last), multiply(constant(-1), _value(sums, below)))
        total = add(total, multiply(coefficient, difference))
    return total


def _value(coefficients: tuple[Fraction, ...], at: Polynomial) -> Polynomial:
    total: Polynomial = {}
    for c in reversed(coefficients):
        total = add(multiply(total, at), constant(c))
    return total

# }}}
