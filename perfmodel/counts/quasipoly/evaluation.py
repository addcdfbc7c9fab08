"""Piecewise quasi-polynomials. One point is evaluated exactly. Many points are evaluated with NumPy, without isl.

A *piece* is a guard (a union of polytopes) and a polynomial. Both are functions of *atoms*: the parameters, and floors
of affine forms in earlier atoms. Code is generated once. If 64-bit integers could overflow, the points are evaluated
one by one with Python's integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import lcm, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from perfmodel.counts.points.polytopes import AffineForm, Atom, NamedFloor, Polynomial, Polytope
from perfmodel.values import FrozenValue

CHAIN = 200  # most terms of a sum that is written with operators: Python's compiler recurses into them
LIMIT = 2**62
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Powers = tuple[tuple[Atom, int], ...]  # atoms with their exponents, in the order of the atoms
Guard = tuple[Polytope, ...]  # polytopes without variables: conditions on atoms; () never holds


@dataclass(frozen=True)
class Piece:
    """A polynomial in atoms, and its guard."""

    guard: Guard
    value: Polynomial


class IntegerSum(NamedTuple):
    """``sum(coefficient * prod(atom ** exponent)) / denominator``."""

    terms: tuple[tuple[int, Powers], ...]
    denominator: int


@dataclass(frozen=True)
class QuasiPolynomial(FrozenValue):
    """Pieces over the atoms ``parameters + floors``. The value is zero outside every piece."""

    parameters: tuple[str, ...]
    floors: tuple[NamedFloor, ...]
    pieces: tuple[Piece, ...]

    @cached_property
    def sums(self) -> tuple[IntegerSum, ...]:
        """The pieces' polynomials with integer coefficients over common denominators."""
        indices, sums = _indices(self.parameters, self.floors), []
        for piece in self.pieces:
            common = lcm(1, *(c.denominator for c in piece.value.terms.values()))
            sums.append(IntegerSum(tuple(
                (c.numerator * (common // c.denominator), tuple(sorted(monomial, key=lambda power: indices[power[0]])))
                for monomial, c in piece.value.terms.items()
            ), common))
        return tuple(sums)

    @cached_property
    def exact(self) -> Callable[..., int | Fraction]:
        """The compiled function of the parameters, in the order of ``parameters``."""
        source = PythonSource(self.parameters, self.floors)
        return source.compiled("exact", [*_assignment("v", self, source), "return v"])


def _indices(parameters: Sequence[str], floors: Sequence[NamedFloor]) -> dict[Atom, int]:
    return {name: k for k, name in enumerate((*parameters, *(floor.name for floor in floors)))}


class PythonSource:
    """Writes Python source, with the variables ``x0, x1, ...`` for parameters and floors."""

    def __init__(self, parameters: Sequence[str], floors: Sequence[NamedFloor]) -> None:
        self.parameters, self.floors = parameters, floors
        self.indices = _indices(parameters, floors)

    def form(self, form: AffineForm) -> str:
        parts = [f"{c}*x{self.indices[name]}" if c != 1 else f"x{self.indices[name]}" for name, c in form.terms.items()]
        if form.constant or not parts:
            parts.append(str(form.constant))
        return " + ".join(parts).replace("+ -", "- ")

    def guard(self, guard: Guard) -> str:
        alternatives = []
        for conditions in guard:
            tests = [f"{self.form(form)} == 0" for form in conditions.equalities]
            tests += [f"{self.form(form)} >= 0" for form in conditions.inequalities]
            alternatives.append(" and ".join(tests) or "True")
        return "True" if "True" in alternatives else " or ".join(alternatives) or "False"

    def sum(self, value: IntegerSum) -> str:
        parts = [
            "*".join([str(c), *(f"x{self.indices[atom]}" for atom, exponent in powers for _ in range(exponent))])
            for c, powers in value.terms
        ]
        total = f"sum(({', '.join(parts)}))" if len(parts) > CHAIN else " + ".join(parts) or "0"
        return total if value.denominator == 1 else f"ratio({total}, {value.denominator})"

    def compiled(self, name: str, lines: Sequence[str]) -> Callable[..., Any]:
        arguments = ", ".join(f"x{self.indices[name]}" for name in self.parameters)
        floors = [f"x{self.indices[f.name]} = ({self.form(f.form)}) // {f.denominator}" for f in self.floors]
        return _compiled(name, "\n    ".join([f"def {name}({arguments}):", *floors, *lines]))


@lru_cache(maxsize=4096)  # a kernel has many equal counts
def _compiled(name: str, source: str) -> Callable[..., Any]:
    scope: dict[str, Any] = {"ratio": _ratio}
    exec(compile(source, f"<count {name}>", "exec"), scope)  # the source has integers and our own names only
    function: Callable[..., Any] = scope[name]
    return function


def _ratio(numerator: int, denominator: int) -> int | Fraction:
    quotient, rest = divmod(numerator, denominator)
    return quotient if rest == 0 else Fraction(numerator, denominator)


def together(
    polynomials: Sequence[QuasiPolynomial]
) -> tuple[Callable[..., tuple[int | Fraction, ...]], tuple[str, ...]]:
    """Return a function that evaluates quasi-polynomials together at one point, and the function's parameters."""
    parameters = tuple(sorted({name for polynomial in polynomials for name in polynomial.parameters}))
    floors = tuple(dict.fromkeys(floor for polynomial in polynomials for floor in polynomial.floors))
    source = PythonSource(parameters, floors)
    lines = [line for k, polynomial in enumerate(polynomials) for line in _assignment(f"v{k}", polynomial, source)]
    values = "".join(f"v{k}, " for k in range(len(polynomials)))
    return source.compiled("together", [*lines, f"return ({values})"]), parameters


def _assignment(name: str, polynomial: QuasiPolynomial, source: PythonSource) -> Iterator[str]:
    """Yield lines that set a variable to the value of the first piece whose guard holds, or to zero."""
    word = "if"
    for piece, total in zip(polynomial.pieces, polynomial.sums, strict=True):
        condition, value = source.guard(piece.guard), f"{name} = {source.sum(total)}"
        if condition == "True":
            yield value if word == "if" else f"else: {value}"
            return
        yield f"{word} {condition}: {value}"
        word = "elif"
    yield f"{name} = 0" if word == "if" else f"else: {name} = 0"


def evaluated(function: QuasiPolynomial, values: list[Ints], count: int) -> Floats:
    """Return the values at ``count`` points. ``values`` has one array for each parameter."""
    if not values:
        return np.full(count, float(function.exact()))
    if _fits(function, [int(np.abs(column).max(initial=0)) for column in values]):
        return _at_arrays(function, values, np.zeros(count))
    points = zip(*(column.tolist() for column in values), strict=True)
    return np.array([float(function.exact(*point)) for point in points])


def _at_arrays(function: QuasiPolynomial, values: list[Ints], result: Floats) -> Floats:
    atoms: dict[Atom, Ints] = dict(zip(function.parameters, values, strict=True))

    def value_of(form: AffineForm) -> Ints:
        return sum((c * atoms[name] for name, c in form.terms.items()), np.int64(form.constant))

    for floor in function.floors:
        atoms[floor.name] = value_of(floor.form) // floor.denominator
    for piece, total in zip(reversed(function.pieces), reversed(function.sums), strict=True):
        inside = np.zeros(len(result), np.bool_)
        for conditions in piece.guard:
            tests = [value_of(form) == 0 for form in conditions.equalities]
            tests += [value_of(form) >= 0 for form in conditions.inequalities]
            inside |= np.logical_and.reduce(tests) if tests else True
        terms = (c * prod(atoms[atom] for atom, power in powers for _ in range(power)) for c, powers in total.terms)
        result = np.where(inside, sum(terms, np.int64(0)) / total.denominator, result)
    return result


def _fits(function: QuasiPolynomial, largest: list[int]) -> bool:
    """Return whether affine forms and sums stay within 64 bits."""
    sizes = dict[Atom, int](zip(function.parameters, largest, strict=True))

    def size(form: AffineForm) -> int:
        return abs(form.constant) + sum(abs(c) * sizes[name] for name, c in form.terms.items())

    for floor in function.floors:
        if size(floor.form) >= LIMIT:
            return False
        sizes[floor.name] = size(floor.form) // floor.denominator + 1
    polytopes = [conditions for piece in function.pieces for conditions in piece.guard]
    forms = [form for conditions in polytopes for form in (*conditions.equalities, *conditions.inequalities)]
    sums = [sum(abs(c) * prod(sizes[atom] ** e for atom, e in powers) for c, powers in s.terms) for s in function.sums]
    return all(number < LIMIT for number in (*map(size, forms), *sums))
