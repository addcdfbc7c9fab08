"""Piecewise quasi-polynomials. One point is evaluated exactly. Many points are evaluated with NumPy, without isl.

A *piece* is a guard (a union of polytopes) and a polynomial. Both are functions of *atoms*: the parameters, and floors
of affine forms in earlier atoms. Code is generated once. If 64-bit integers could overflow, the points are evaluated
one by one with Python's integers.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import lcm, prod
from typing import Any, NamedTuple

import islpy as isl
import numpy as np
from numpy.typing import NDArray

from perfmodel.counts.points import polytopes
from perfmodel.counts.points.polytopes import AffineForm, Atom, NamedFloor, Polynomial, Polytope
from perfmodel.counts.points.summation import RESIDUES, PartialSum, without_equalities
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

    @cached_property
    def at_arrays(self) -> Callable[..., Any]:
        """The compiled function of int64 arrays, in the order of ``parameters``."""
        source = PythonSource(self.parameters, self.floors, arrays=True)
        values = [
            f"v = where({source.guard(piece.guard)}, {source.sum(total)}, v)"
            for piece, total in zip(self.pieces, self.sums, strict=True)
        ]
        return source.compiled("at_arrays", ["v = 0.0", *reversed(values), "return v"])


def _indices(parameters: Sequence[str], floors: Sequence[NamedFloor]) -> dict[Atom, int]:
    return {name: k for k, name in enumerate((*parameters, *(floor.name for floor in floors)))}


class PythonSource:
    """Writes Python source, with the variables ``x0, x1, ...`` for parameters and floors."""

    def __init__(self, parameters: Sequence[str], floors: Sequence[NamedFloor], arrays: bool = False) -> None:
        self.parameters, self.floors = parameters, floors
        self.both, self.either = (" & ", " | ") if arrays else (" and ", " or ")
        self.ratio = "({}) / {}" if arrays else "ratio({}, {})"
        self.indices = _indices(parameters, floors)

    def form(self, form: AffineForm) -> str:
        parts = [f"{c}*x{self.indices[name]}" if c != 1 else f"x{self.indices[name]}" for name, c in form.terms.items()]
        if form.constant or not parts:
            parts.append(str(form.constant))
        return " + ".join(parts).replace("+ -", "- ")

    def guard(self, guard: Guard) -> str:
        alternatives = []
        for conditions in guard:
            tests = [f"({self.form(form)} == 0)" for form in conditions.equalities]
            tests += [f"({self.form(form)} >= 0)" for form in conditions.inequalities]
            alternatives.append(self.both.join(tests) or "True")
        return "True" if "True" in alternatives else self.either.join(alternatives) or "False"

    def sum(self, value: IntegerSum) -> str:
        parts = [
            "*".join([str(c), *(f"x{self.indices[atom]}" for atom, exponent in powers for _ in range(exponent))])
            for c, powers in value.terms
        ]
        total = f"sum(({', '.join(parts)}))" if len(parts) > CHAIN else " + ".join(parts) or "0"
        return total if value.denominator == 1 else self.ratio.format(total, value.denominator)

    def compiled(self, name: str, lines: Sequence[str]) -> Callable[..., Any]:
        arguments = ", ".join(f"x{self.indices[name]}" for name in self.parameters)
        floors = [f"x{self.indices[f.name]} = ({self.form(f.form)}) // {f.denominator}" for f in self.floors]
        return _compiled(name, "\n    ".join([f"def {name}({arguments}):", *floors, *lines]))


@lru_cache(maxsize=4096)  # a kernel has many equal counts
def _compiled(name: str, source: str) -> Callable[..., Any]:
    scope: dict[str, Any] = {"ratio": _ratio, "where": np.where}
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
        return np.full(count, function.at_arrays(*values), np.float64)
    points = zip(*(column.tolist() for column in values), strict=True)
    return np.array([float(function.exact(*point)) for point in points])


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


def vanishes(function: QuasiPolynomial) -> bool:
    """Return whether a function is provably zero: on each residue class, or at each of few values."""
    floors = {floor.name: floor for floor in function.floors}
    names = {name: f"_q{k}" for k, name in enumerate(floors)}  # a name in isl's notation

    def value_of(atom: Atom) -> Polynomial:
        if atom in floors:
            return polytopes.floor(floors[atom].form.renamed(names), floors[atom].denominator)
        return Polynomial.atom(atom)

    for piece in function.pieces:
        atoms = {atom for monomial in piece.value.terms for atom, _ in monomial}
        inner = {name for floor in function.floors if floor.name in atoms for name in floor.form.names}
        for conditions in piece.guard:
            used = inner.union(*(form.names for form in (*conditions.equalities, *conditions.inequalities)))
            rows, variables = [form.renamed(names) for form in conditions.inequalities], [*function.parameters]
            for floor in reversed(function.floors):
                if floor.name in used:
                    used |= floor.form.names
                    variables.append(names[floor.name])
                    rows += polytopes.floor_rows(names[floor.name], floor.form.renamed(names), floor.denominator)
            equalities = tuple(form.renamed(names) for form in conditions.equalities)
            whole = Polytope(tuple(variables), equalities, tuple(rows))
            if not _is_zero_on(PartialSum(whole, piece.value.mapped(value_of))):
                return False
    return True


def _is_zero_on(summand: PartialSum) -> bool:
    simple = polytopes.reduced(summand.polytope)
    if simple is None or not summand.value:
        return True
    summand = without_equalities(replace(summand, polytope=simple))
    for name in summand.polytope.variables:
        period = summand.value.period(name)
        if period > 1:
            residues = (summand.substituted(name, AffineForm({name: period}, residue)) for residue in range(period))
            return all(map(_is_zero_on, residues))
    if not summand.value:
        return True
    points = isl.Set(str(summand.polytope))
    for k, name in enumerate(summand.polytope.variables):
        low, high = points.dim_min_val(k), points.dim_max_val(k)
        if low.is_int() and high.is_int() and high.sub(low).to_python() < RESIDUES:
            values = range(low.to_python(), high.to_python() + 1)
            lines = (summand.substituted(name, AffineForm({}, value)) for value in values)
            return all(_is_zero_on(replace(line, polytope=line.polytope.without(name))) for line in lines)
    return False
