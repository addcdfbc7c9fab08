"""Affine forms, polynomials in integer variables, and integer polytopes, with conversions from isl's objects."""

from __future__ import annotations

from collections.abc import Callable, KeysView, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import count
from math import comb, gcd, lcm
from typing import NamedTuple

import islpy as isl

from perfmodel.values import FrozenValue

IN, SET, PARAM, DIV = isl.dim_type.in_, isl.dim_type.set, isl.dim_type.param, isl.dim_type.div


@dataclass(frozen=True, slots=True)
class AffineForm:
    """``sum(coefficient * name) + constant`` with nonzero integer coefficients."""

    terms: Mapping[str, int]
    constant: int = 0

    def __hash__(self) -> int:
        return hash((frozenset(self.terms.items()), self.constant))

    def __bool__(self) -> bool:
        return bool(self.terms) or self.constant != 0

    def __getitem__(self, name: str) -> int:
        return self.terms.get(name, 0)

    def __contains__(self, name: str) -> bool:
        return name in self.terms

    def __str__(self) -> str:
        shown = [f"{c}*{name}" for name, c in self.terms.items()]
        return " + ".join([*shown, str(self.constant)] if self.constant or not shown else shown)

    def __add__(self, other: AffineForm | int) -> AffineForm:
        return self._plus(other, 1)

    def __neg__(self) -> AffineForm:
        return AffineForm({name: -c for name, c in self.terms.items()}, -self.constant)

    def __sub__(self, other: AffineForm | int) -> AffineForm:
        return self._plus(other, -1)

    def _plus(self, other: AffineForm | int, times: int) -> AffineForm:
        if isinstance(other, int):
            return AffineForm(self.terms, self.constant + times * other)
        terms = {name: c for name in {**self.terms, **other.terms} if (c := self[name] + times * other[name])}
        return AffineForm(terms, self.constant + times * other.constant)

    def __mul__(self, factor: int) -> AffineForm:
        if factor == 1:
            return self
        terms = {name: factor * c for name, c in self.terms.items()} if factor else {}
        return AffineForm(terms, factor * self.constant)

    __rmul__ = __mul__

    @property
    def names(self) -> KeysView[str]:
        return self.terms.keys()

    def at(self, values: Mapping[str, int]) -> int:
        return self.constant + sum(c * values[name] for name, c in self.terms.items())

    def without(self, name: str) -> AffineForm:
        if name not in self.terms:
            return self
        return AffineForm({key: c for key, c in self.terms.items() if key != name}, self.constant)

    def substituted(self, name: str, by: AffineForm) -> AffineForm:
        return self.without(name)._plus(by, self.terms[name]) if name in self.terms else self

    def renamed(self, names: Mapping[str, str]) -> AffineForm:
        return AffineForm({names.get(name, name): c for name, c in self.terms.items()}, self.constant)

    def tightened(self) -> AffineForm:
        """Return a form that is >= 0 at the same integers, with coefficients that have no common divisor."""
        divisor = gcd(*self.terms.values())
        if divisor < 2:
            return self
        return AffineForm({name: c // divisor for name, c in self.terms.items()}, self.constant // divisor)

    def is_certain(self) -> bool:
        """Return whether the form is a non-negative constant."""
        return not self.terms and self.constant >= 0

    def follows_from(self, other: AffineForm) -> bool:
        """Return whether this form is ``other`` plus a non-negative constant, so that ``other >= 0`` implies it."""
        return self.constant >= other.constant and self.terms == other.terms


def floor_rows(name: str, form: AffineForm, denominator: int) -> tuple[AffineForm, AffineForm]:
    """Return the forms of ``0 <= form - denominator*name <= denominator - 1``, which say that ``name`` is the floor."""
    remainder = form - AffineForm({name: denominator})
    return remainder, -remainder + (denominator - 1)


class FloorAtom(NamedTuple):
    """``floor(form / denominator)``."""

    form: AffineForm
    denominator: int


Atom = str | FloorAtom
Monomial = frozenset[tuple[Atom, int]]  # atoms with their exponents


@dataclass(frozen=True, slots=True)
class Polynomial:
    """``sum(coefficient * product of atom**exponent)``. Atoms are variables and floors. No coefficient is zero."""

    terms: Mapping[Monomial, Fraction]

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    @classmethod
    def constant(cls, value: Fraction | int) -> Polynomial:
        return cls({frozenset(): Fraction(value)} if value else {})

    @classmethod
    def atom(cls, atom: Atom) -> Polynomial:
        return cls({frozenset([(atom, 1)]): Fraction(1)})

    @classmethod
    def linear(cls, form: AffineForm) -> Polynomial:
        terms: dict[Monomial, Fraction] = {frozenset([(name, 1)]): Fraction(c) for name, c in form.terms.items()}
        if form.constant:
            terms[frozenset()] = Fraction(form.constant)
        return cls(terms)

    def __bool__(self) -> bool:
        return bool(self.terms)

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

    def mapped(self, value_of: Callable[[Atom], Polynomial]) -> Polynomial:
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
        """Return the polynomial with a variable replaced by an affine form. Floors are changed too."""

        def value_of(atom: Atom) -> Polynomial:
            if atom == name:
                return Polynomial.linear(by)
            if isinstance(atom, FloorAtom) and name in atom.form:
                return floor(atom.form.substituted(name, by), atom.denominator)
            return Polynomial.atom(atom)

        return self.mapped(value_of)

    def replaced(self, name: str, by: Polynomial) -> Polynomial:
        """Return the polynomial with a variable replaced by a polynomial. Floors are not changed."""
        return self.mapped(lambda atom: by if atom == name else Polynomial.atom(atom))

    def coefficients(self, name: str) -> dict[int, Polynomial]:
        """Return the coefficient of each power of a variable, by exponent."""
        terms: dict[int, dict[Monomial, Fraction]] = {}
        for monomial, c in self.terms.items():
            exponent = next((e for atom, e in monomial if atom == name), 0)
            terms.setdefault(exponent, {})[frozenset((atom, e) for atom, e in monomial if atom != name)] = c
        return {exponent: Polynomial(coefficient) for exponent, coefficient in terms.items()}

    def period(self, name: str) -> int:
        """Return the period of the floors that contain a variable. Without such floors the period is 1."""
        return lcm(1, *(
            atom.denominator // gcd(atom.denominator, atom.form[name])
            for monomial in self.terms for atom, _ in monomial
            if isinstance(atom, FloorAtom) and name in atom.form
        ))

    def summed(self, name: str, below: Polynomial, last: Polynomial) -> Polynomial:
        """Return the sum over ``below < name <= last``. No floor may contain the variable."""
        parts = (
            coefficient * (_value(faulhaber(power), last) - _value(faulhaber(power), below))
            for power, coefficient in self.coefficients(name).items()
        )
        return sum(parts, Polynomial({}))


def floor(form: AffineForm, denominator: int) -> Polynomial:
    """Return floor(form / denominator) without integer parts: ``floor(-n/16)`` becomes ``-floor((n + 15)/16)``."""
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
    """Return the coefficients of S with S(t) - S(t-1) = t**power and S(0) = 0."""
    # t^(k+1) - (t-1)^(k+1) = sum_j binom(k+1, j) (-1)^(k-j) t^j, solved for t^k
    result = [Fraction(0)] * (power + 2)
    result[power + 1] = Fraction(1)
    for j in range(power):
        for i, c in enumerate(faulhaber(j)):
            result[i] -= comb(power + 1, j) * (-1) ** (power - j) * c
    return tuple(c / (power + 1) for c in result)


def _value(coefficients: tuple[Fraction, ...], at: Polynomial) -> Polynomial:
    total = Polynomial({})
    for c in reversed(coefficients):
        total = total * at + Polynomial.constant(c)
    return total


@dataclass(frozen=True)
class NamedFloor:
    """The parameter ``name = floor(form / denominator)``."""

    name: str
    form: AffineForm
    denominator: int


@dataclass(frozen=True)
class Polytope(FrozenValue):
    """The integer points with ``form == 0`` for all equalities and ``form >= 0`` for all inequalities."""

    variables: tuple[str, ...]
    equalities: tuple[AffineForm, ...]
    inequalities: tuple[AffineForm, ...]

    def __str__(self) -> str:
        """Return the polytope in isl's notation. Every parameter is a symbol."""
        used = {name for form in (*self.equalities, *self.inequalities) for name in form.names}
        # derived parameters first: isl eliminates the last name of an equality
        symbols = sorted(used - set(self.variables), key=lambda s: (s[0] != "_", s))
        return f"[{', '.join(symbols)}] -> {{ [{', '.join(self.variables)}] : {self.condition} }}"

    @property
    def condition(self) -> str:
        tests = [f"{form} = 0" for form in self.equalities] + [f"{form} >= 0" for form in self.inequalities]
        return " and ".join(tests) or "1 = 1"

    @cached_property
    def canonical(self) -> object:
        """A key that is equal for polytopes that differ only in the names of variables."""
        names = {name: f"_{k}" for k, name in enumerate(self.variables)}
        both = (self.equalities, self.inequalities)
        equalities, inequalities = (frozenset(form.renamed(names) for form in forms) for forms in both)
        return len(names), equalities, inequalities

    def bounds(self, name: str) -> tuple[list[AffineForm], list[AffineForm], list[AffineForm]]:
        """Return three lists of inequalities: lower bounds of a name, upper bounds of the name, and the others."""
        lower: list[AffineForm] = []
        upper: list[AffineForm] = []
        others: list[AffineForm] = []
        for form in self.inequalities:
            c = form.terms.get(name, 0)
            (lower if c > 0 else upper if c < 0 else others).append(form)
        return lower, upper, others

    def without(self, name: str) -> Polytope:
        return Polytope(tuple(v for v in self.variables if v != name), self.equalities, self.inequalities)

    def substituted(self, name: str, by: AffineForm) -> Polytope:
        return Polytope(
            self.variables,
            tuple(form.substituted(name, by) for form in self.equalities),
            tuple(form.substituted(name, by) for form in self.inequalities),
        )


def polytope_of(basic: isl.BasicSet, dimensions: tuple[str, ...] = ()) -> tuple[Polytope, tuple[NamedFloor, ...]]:
    """Return a polytope with the same number of points as a set. Also return the polytope's derived parameters.

    The variables have the names of ``dimensions``, by default ``_v0, _v1, ...``. Floors of variables become variables
    with determined values. Floors of parameters become derived parameters.
    """
    names = [basic.get_dim_name(PARAM, k) for k in range(basic.dim(PARAM))]
    variables = [*(dimensions or (f"_v{k}" for k in range(basic.dim(SET))))]
    names += variables
    derived: list[NamedFloor] = []
    inequalities: list[AffineForm] = []
    for k in range(basic.dim(DIV)):
        form, denominator = fraction_of(basic.get_div(k), names)
        name = next(f"_e{i}" for i in count() if f"_e{i}" not in names)
        if any(key in variables for key in form.names):
            variables.append(name)
            inequalities += floor_rows(name, form, denominator)
        else:
            derived.append(NamedFloor(name, form, denominator))
        names.append(name)
    return _constrained(Polytope(tuple(variables), (), tuple(inequalities)), basic, names), tuple(derived)


def reduced(polytope: Polytope) -> Polytope | None:
    """Return the polytope without redundant constraints, or None if the polytope is empty."""
    basic = isl.BasicSet(str(polytope)).detect_equalities().remove_redundancies()
    if basic.is_empty():
        return None
    names = [basic.get_dim_name(PARAM, k) for k in range(basic.dim(PARAM))]
    return _constrained(Polytope(polytope.variables, (), ()), basic, [*names, *polytope.variables])


def _constrained(polytope: Polytope, basic: isl.BasicSet, names: list[str]) -> Polytope:
    """Return the polytope with isl's constraints. ``names`` are the parameters, dimensions and floors."""
    equalities, inequalities = [*polytope.equalities], [*polytope.inequalities]
    for constraint in basic.get_constraints():
        (equalities if constraint.is_equality() else inequalities).append(_form_of(constraint.get_aff(), names))
    return Polytope(polytope.variables, tuple(equalities), tuple(inequalities))


def fraction_of(aff: isl.Aff, names: list[str]) -> tuple[AffineForm, int]:
    denominator = aff.get_denominator_val()
    return _form_of(aff.scale_val(denominator), names), int(denominator.to_python())


def _form_of(aff: isl.Aff, names: list[str]) -> AffineForm:
    values = (aff.get_coefficient_val(kind, k) for kind in (PARAM, IN, DIV) for k in range(aff.dim(kind)))
    terms = {name: c for name, value in zip(names, values, strict=False) if (c := int(value.to_python()))}
    return AffineForm(terms, int(aff.get_constant_val().to_python()))
