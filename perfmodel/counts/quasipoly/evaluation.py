"""Piecewise quasi-polynomials, evaluated exactly at one point, and with NumPy at many; nothing here knows isl.

A *piece* is a guard (affine constraints) and a sum of terms ``coefficient * product of atoms**exponent``; an atom is a
parameter or the floor of an affine form of earlier atoms. Code is generated once. At many points integers are used
where they cannot overflow and floats where cancellation does not spoil them; elsewhere wrapped 64-bit integers give
the low bits, and floats say which multiple of 2**64 is to be added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm, prod
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from perfmodel.lazy import Lazy, cached_property

CHAIN = 200  # terms that are added by operators
TOLERANCE = 1e-12  # relative error that is promised
BLOCK = 1 << 14  # points evaluated together, so that intermediate arrays stay in the cache
LIMIT = 2**62
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Array = TypeVar("Array", Ints, Floats)


@dataclass(frozen=True)
class Affine:
    """The integer affine form ``constant + sum(coefficient * atom)``; atoms by position."""

    constant: int
    coefficients: tuple[tuple[int, int], ...]

    def source(self) -> str:
        """Return the form as Python source over the variables ``x0, x1, ...``."""
        parts = [f"{c}*x{a}" if c != 1 else f"x{a}" for a, c in self.coefficients]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts).replace("+ -", "- ")


@dataclass(frozen=True)
class Floor:
    """The atom ``floor(numerator / denominator)``."""

    numerator: Affine
    denominator: int


@dataclass(frozen=True)
class Constraint:
    """``form == 0`` or ``form >= 0``."""

    form: Affine
    equality: bool


@dataclass(frozen=True)
class Term:
    """``coefficient * prod(x_atom ** exponent)``."""

    coefficient: Fraction
    powers: tuple[tuple[int, int], ...]


Guard = tuple[tuple[Constraint, ...], ...]  # a disjunction of conjunctions; () is never


@dataclass(frozen=True)
class Piece:
    """A sum of terms, and where it holds."""

    guard: Guard
    terms: tuple[Term, ...]


def guard_source(guard: Guard) -> str:
    """Return the guard as a Python condition; ``True`` where it always holds."""
    alternatives = []
    for conjunction in guard:
        tests = [f"{c.form.source()} {'==' if c.equality else '>='} 0" for c in conjunction]
        alternatives.append(" and ".join(tests) or "True")
    return "True" if "True" in alternatives else " or ".join(alternatives) or "False"


@dataclass(frozen=True)
class QuasiPolynomial(Lazy):
    """Pieces over the atoms ``parameters + floors``; zero outside every piece."""

    parameters: tuple[str, ...]
    floors: tuple[Floor, ...]
    pieces: tuple[Piece, ...]

    @cached_property
    def exact(self) -> Callable[..., int | Fraction]:
        """The compiled function of the parameters, in order, with an int or a Fraction as result."""
        lines = []
        for piece in self.pieces:
            condition = guard_source(piece.guard)
            lines.append(f"{'' if condition == 'True' else f'if {condition}: '}return {sum_source(piece.terms)}")
        return _compiled("exact", self.parameters, self.floors, [*lines, "return 0"])

    @cached_property
    def holds(self) -> Callable[..., bool]:
        """The compiled test whether the guard of any piece holds."""
        condition = " or ".join(f"({guard_source(piece.guard)})" for piece in self.pieces)
        return _compiled("holds", self.parameters, self.floors, [f"return {condition or 'False'}"])


def _compiled(
    name: str, parameters: Sequence[str], floors: Sequence[Floor], lines: Sequence[str]
) -> Callable[..., Any]:
    """Return the function of parameters with these lines, which read parameters and floors as ``x0, x1, ...``."""
    first = len(parameters)
    arguments = ", ".join(f"x{i}" for i in range(first))
    atoms = [f"x{i} = ({floor.numerator.source()}) // {floor.denominator}" for i, floor in enumerate(floors, first)]
    source = "\n    ".join([f"def {name}({arguments}):", *atoms, *lines])
    scope: dict[str, Any] = {"ratio": _ratio}
    exec(compile(source, f"<count {name}>", "exec"), scope)  # generated from our own terms only
    function: Callable[..., Any] = scope[name]
    return function


def _ratio(numerator: int, denominator: int) -> int | Fraction:
    quotient, rest = divmod(numerator, denominator)
    return quotient if rest == 0 else Fraction(numerator, denominator)


def sum_source(terms: tuple[Term, ...]) -> str:
    """Return a sum of terms as Python source: integers over their common denominator."""
    common = lcm(1, *(term.coefficient.denominator for term in terms))
    parts = [_term_source(term, common) for term in terms]
    # Python's compiler recurses into a long chain of additions
    total = f"sum(({', '.join(parts)}))" if len(parts) > CHAIN else " + ".join(parts) or "0"
    return total if common == 1 else f"ratio({total}, {common})"


def _term_source(term: Term, common: int) -> str:
    factors = [str(term.coefficient.numerator * (common // term.coefficient.denominator))]
    for atom, exponent in term.powers:
        factors.extend([f"x{atom}"] * exponent)
    return "*".join(factors)


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
    parameters = tuple(sorted({name for polynomial in polynomials for name in polynomial.parameters}))
    floors: dict[Floor, int] = {}
    lines: list[str] = []
    for k, polynomial in enumerate(polynomials):
        places = [parameters.index(name) for name in polynomial.parameters]
        for floor in polynomial.floors:
            moved = Floor(_moved(floor.numerator, places), floor.denominator)
            places.append(floors.setdefault(moved, len(parameters) + len(floors)))
        lines.extend(_assignment(f"v{k}", [_moved_piece(piece, places) for piece in polynomial.pieces]))
    values = "".join(f"v{k}, " for k in range(len(polynomials)))
    return Together(_compiled("together", parameters, tuple(floors), [*lines, f"return ({values})"]), parameters)


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


def _moved_piece(piece: Piece, places: Sequence[int]) -> Piece:
    guard = tuple(tuple(Constraint(_moved(c.form, places), c.equality) for c in tests) for tests in piece.guard)
    terms = (Term(t.coefficient, tuple((places[atom], power) for atom, power in t.powers)) for t in piece.terms)
    return Piece(guard, tuple(terms))


def _moved(form: Affine, places: Sequence[int]) -> Affine:
    """Return a form in atoms at other places."""
    return Affine(form.constant, tuple((places[atom], coefficient) for atom, coefficient in form.coefficients))


def evaluated(function: QuasiPolynomial, values: list[Ints], count: int) -> Floats:
    """Return the values at ``count`` points, as float64, given one array for each parameter."""
    if not values:
        return np.full(count, float(function.exact()))
    result = np.zeros(count)
    fits = _forms_fit(function, [int(np.abs(v).max(initial=0)) for v in values])
    for start in range(0, count, BLOCK):
        block = [value[start:start + BLOCK] for value in values]
        result[start:start + BLOCK] = (_block_values if fits else _point_by_point)(function, block)
    return result


def _forms_fit(function: QuasiPolynomial, largest: list[int]) -> bool:
    """Whether no affine form can exceed 64 bits."""
    sizes = list(largest)

    def size(form: Affine) -> int:
        return abs(form.constant) + sum(abs(c) * sizes[atom] for atom, c in form.coefficients)

    for floor in function.floors:
        if size(floor.numerator) >= LIMIT:
            return False
        sizes.append(size(floor.numerator) // floor.denominator + 1)
    return all(size(c.form) < LIMIT for piece in function.pieces for conjunction in piece.guard for c in conjunction)


def _point_by_point(function: QuasiPolynomial, values: list[Ints]) -> Floats:
    points = zip(*(value.tolist() for value in values), strict=True)
    return np.array([float(function.exact(*point)) for point in points])


def _block_values(function: QuasiPolynomial, values: list[Ints]) -> Floats:
    atoms = list(values)
    for floor in function.floors:
        atoms.append(_affine(floor.numerator, atoms) // floor.denominator)
    result = np.zeros(len(values[0]))
    todo = np.ones(len(result), dtype=bool)
    for piece in function.pieces:
        mask = _where(piece.guard, atoms) & todo
        if mask.all():
            return _piece_values(function, piece, atoms)
        if mask.any():
            result[mask] = _piece_values(function, piece, [a[mask] for a in atoms])
            todo &= ~mask
    return result


def _affine(form: Affine, atoms: list[Ints]) -> Ints:
    total = np.full(len(atoms[0]), form.constant, dtype=np.int64)
    for atom, coefficient in form.coefficients:
        total += coefficient * atoms[atom]
    return total


def _where(guard: Guard, atoms: list[Ints]) -> NDArray[np.bool_]:
    result = np.zeros(len(atoms[0]), dtype=bool)
    for conjunction in guard:
        here = np.ones(len(result), dtype=bool)
        for constraint in conjunction:
            form = _affine(constraint.form, atoms)
            here &= form == 0 if constraint.equality else form >= 0
        result |= here
    return result


def _piece_values(function: QuasiPolynomial, piece: Piece, atoms: list[Ints]) -> Floats:
    common = lcm(1, *(t.coefficient.denominator for t in piece.terms))
    scaled = [int(t.coefficient * common) for t in piece.terms]
    largest = [int(np.abs(a).max(initial=0)) for a in atoms]
    bound = sum(abs(c) * prod(largest[a] ** e for a, e in t.powers) for c, t in zip(scaled, piece.terms, strict=True))
    if bound < LIMIT:
        return _wrapped_sum(piece.terms, scaled, atoms) / common
    total, error = _float_sum(piece.terms, scaled, atoms)
    bad = error > TOLERANCE * np.abs(total)
    if bad.any():
        points = [a[bad] for a in atoms]
        total[bad] = _mended(function, piece.terms, scaled, points, total[bad], error[bad], common)
    return total / common


def _mended(
    function: QuasiPolynomial, terms: tuple[Term, ...], scaled: list[int], atoms: list[Ints],
    rough: Floats, error: Floats, common: int,
) -> Floats:
    """Return the exact sums, rounded once, from rough ones."""
    low = _wrapped_sum(terms, scaled, atoms).astype(np.float64)
    value = low + np.round((rough - low) / 2.0**64) * 2.0**64
    for index in np.flatnonzero(error >= 2.0**61):  # too rough even for that
        point = (int(a[index]) for a in atoms[:len(function.parameters)])
        value[index] = float(function.exact(*point) * common)
    return value


def _wrapped_sum(terms: tuple[Term, ...], scaled: list[int], atoms: list[Ints]) -> Ints:
    """Return the sum modulo 2**64, between -2**63 and 2**63."""
    products: dict[tuple[int, ...], Ints] = {}
    total = np.zeros(len(atoms[0]), dtype=np.int64)
    for c, term in zip(scaled, terms, strict=True):
        wrapped = (c + 2**63) % 2**64 - 2**63
        total += wrapped * _product(term, atoms, products) if term.powers else wrapped
    return total


def _float_sum(terms: tuple[Term, ...], scaled: list[int], atoms: list[Ints]) -> tuple[Floats, Floats]:
    """Return the sum in floats, and a bound of its error."""
    floats = [a.astype(np.float64) for a in atoms]
    products: dict[tuple[int, ...], Floats] = {}
    total, magnitude = np.zeros(len(atoms[0])), np.zeros(len(atoms[0]))
    roundings = 0
    for c, term in zip(scaled, terms, strict=True):
        value = float(c) * _product(term, floats, products) if term.powers else float(c)
        total += value
        magnitude += np.abs(value)
        roundings = max(roundings, 2 + 2 * sum(e for _, e in term.powers))
    return total, magnitude * (np.finfo(np.float64).eps * (roundings + len(terms)))


def _product(term: Term, atoms: list[Array], products: dict[tuple[int, ...], Array]) -> Array:
    """Return the product of the term's atoms; those of other terms' are in ``products``."""
    factors = tuple(atom for atom, exponent in term.powers for _ in range(exponent))
    done = atoms[factors[0]]
    for length in range(2, len(factors) + 1):
        key = factors[:length]
        if key not in products:
            products[key] = done * atoms[factors[length - 1]]
        done = products[key]
    return done
