"""Polynomials in integer variables and floors of affine forms, as values with operators.

A polynomial maps monomials to rationals; a monomial is a set of (atom, exponent), and an atom is a
name or the floor of an affine form over a positive integer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import comb, gcd, lcm
from typing import NamedTuple

from perfmodel.counts.points.affine_forms import AffineForm


class FloorAtom(NamedTuple):
    """``floor(form / denominator)``."""

    form: AffineForm
    denominator: int


Atom = str | FloorAtom
Monomial = frozenset[tuple[Atom, int]]


@dataclass(frozen=True, slots=True)
class Polynomial:
    """``sum(coefficient * product of atom**exponent)``.

    Attributes
    ----------
    terms : mapping of frozenset to Fraction
        The coefficients by monomial; none of them is zero.
    """

    terms: Mapping[Monomial, Fraction]

    @classmethod
    def constant(cls, value: Fraction | int) -> Polynomial:
        """Return a constant polynomial."""
        return cls({frozenset(): Fraction(value)} if value else {})

    @classmethod
    def atom(cls, atom: Atom) -> Polynomial:
        """Return the polynomial that is one atom."""
        return cls({frozenset([(atom, 1)]): Fraction(1)})

    @classmethod
    def linear(cls, form: AffineForm) -> Polynomial:
        """Return an affine form as a polynomial."""
        terms: dict[Monomial, Fraction] = {
            frozenset([(name, 1)]): Fraction(c) for name, c in form.terms.items()
        }
        if form.constant:
            terms[frozenset()] = Fraction(form.constant)
        return cls(terms)

    def __bool__(self) -> bool:
        return bool(self.terms)

    # {{{ arithmetic

    def __add__(self, other: Polynomial) -> Polynomial:
        terms = dict(self.terms)
        for monomial, c in other.terms.items():
            total = terms.get(monomial, 0) + c
            if total:
                terms[monomial] = total
            else:
                del terms[monomial]
        return Polynomial(terms)

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + -1 * other

    def __mul__(self, other: Polynomial | Fraction | int) -> Polynomial:
        if not isinstance(other, Polynomial):
            return Polynomial({monomial: c * other for monomial, c in self.terms.items()} if other else {})
        terms: dict[Monomial, Fraction] = {}
        for first, c in self.terms.items():
            for second, d in other.terms.items():
                powers = dict(first)
                for atom, exponent in second:
                    powers[atom] = powers.get(atom, 0) + exponent
                monomial = frozenset(powers.items())
                terms[monomial] = terms.get(monomial, Fraction(0)) + c * d
        return Polynomial({monomial: c for monomial, c in terms.items() if c})

    __rmul__ = __mul__

    # }}}

    def mapped(self, value_of: Callable[[Atom], Polynomial]) -> Polynomial:
        """Return the polynomial with a polynomial for each of its atoms."""
        total = Polynomial({})
        for monomial, c in self.terms.items():
            product = Polynomial.constant(c)
            for atom, exponent in monomial:
                value = value_of(atom)
                for _ in range(exponent):
                    product = product * value
            total = total + product
        return total

    def substituted(self, name: str, by: AffineForm) -> Polynomial:
        """Return the polynomial with an affine form for a variable, also inside floors."""

        def value_of(atom: Atom) -> Polynomial:
            if atom == name:
                return Polynomial.linear(by)
            if isinstance(atom, FloorAtom) and name in atom.form:
                return floor(atom.form.substituted(name, by), atom.denominator)
            return Polynomial.atom(atom)

        return self.mapped(value_of)

    def coefficients(self, name: str) -> dict[int, Polynomial]:
        """Return the coefficients of the powers of a variable, by exponent."""
        terms: dict[int, dict[Monomial, Fraction]] = {}
        for monomial, c in self.terms.items():
            exponent = next((e for atom, e in monomial if atom == name), 0)
            rest = frozenset((atom, e) for atom, e in monomial if atom != name)
            terms.setdefault(exponent, {})[rest] = c
        return {exponent: Polynomial(coefficient) for exponent, coefficient in terms.items()}

    def period(self, name: str) -> int:
        """Return the period in a variable of the floors that contain it; 1 if there are none."""
        return lcm(1, *(
            atom.denominator // gcd(atom.denominator, atom.form[name])
            for monomial in self.terms for atom, _ in monomial
            if isinstance(atom, FloorAtom) and name in atom.form
        ))

    def replaced(self, name: str, by: Polynomial) -> Polynomial:
        """Return the polynomial with a polynomial for a variable, except inside floors."""
        return self.mapped(lambda atom: by if atom == name else Polynomial.atom(atom))

    def summed(self, name: str, below: Polynomial, last: Polynomial) -> Polynomial:
        """Return the sum over ``below < name <= last``, for a variable that is in no floor."""
        total = Polynomial({})
        for power, coefficient in self.coefficients(name).items():
            sums = faulhaber(power)
            total = total + coefficient * (_value(sums, last) - _value(sums, below))
        return total


def floor(form: AffineForm, denominator: int) -> Polynomial:
    """Return floor(form / denominator), with every whole part taken out of the floor.

    The first coefficient left inside is at most half the denominator, so that
    ``floor(-n/16)`` becomes ``-floor((n + 15)/16)``.
    """
    divisor = gcd(denominator, *form.terms.values())
    denominator //= divisor
    whole, constant = divmod(form.constant // divisor, denominator)
    parts = {name: divmod(c // divisor, denominator) for name, c in form.terms.items()}
    outside = Polynomial.linear(AffineForm({name: q for name, (q, _) in parts.items() if q}, whole))
    inside = AffineForm({name: r for name, (_, r) in sorted(parts.items()) if r}, constant)
    if not inside.terms:
        return outside
    if 2 * next(iter(inside.terms.values())) <= denominator:
        return outside + Polynomial.atom(FloorAtom(inside, denominator))
    # floor(f/d) = -floor((d - 1 - f)/d), then d*name is added to f for coefficients in [0, d)
    every = AffineForm(dict.fromkeys(inside.terms, 1))
    inside = denominator * every - inside + (denominator - 1)
    return outside + Polynomial.linear(every) - Polynomial.atom(FloorAtom(inside, denominator))


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


def _value(coefficients: tuple[Fraction, ...], at: Polynomial) -> Polynomial:
    """Return ``sum(c_k * at**k)`` by Horner's rule."""
    total = Polynomial({})
    for c in reversed(coefficients):
        total = total * at + Polynomial.constant(c)
    return total
