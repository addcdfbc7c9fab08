"""Piecewise quasi-polynomials as plain values, and their exact value at one point.

A *piece* is a guard (affine constraints) and a sum of terms ``coefficient * product of
atoms**exponent``. An atom is a parameter or the floor of an affine form of earlier atoms. The value
at a point is computed by Python code that is generated once. Nothing here knows isl.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

from perfmodel.lazy import Lazy, cached_property

CHAIN = 200  # terms that are added by operators


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


def remainder_in(
    form: Affine, floors: Sequence[Floor], first: int
) -> tuple[Floor, int, int] | None:
    """Return (floor, sign, c) where the form is ``sign * (numerator mod denominator) + c``.

    ``first`` is the position of the first floor among the atoms.
    """
    for atom, coefficient in form.coefficients:
        if atom >= first:
            floor = floors[atom - first]
            sign = -1 if coefficient > 0 else 1
            rest = tuple(pair for pair in form.coefficients if pair[0] != atom)
            same = rest == tuple((a, sign * c) for a, c in floor.numerator.coefficients)
            if same and coefficient == -sign * floor.denominator:
                return floor, sign, form.constant - sign * floor.numerator.constant
    return None


def guard_source(guard: Guard) -> str:
    """Return the guard as a Python condition; ``True`` where it always holds."""
    alternatives = []
    for conjunction in guard:
        tests = [
            f"{c.form.source()} {'==' if c.equality else '>='} 0" for c in conjunction
        ]
        alternatives.append(" and ".join(tests) or "True")
    if "True" in alternatives:
        return "True"
    return " or ".join(alternatives) or "False"


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
        return compiled("exact", self.parameters, self.floors, [*lines, "return 0"])

    @cached_property
    def holds(self) -> Callable[..., bool]:
        """The compiled test whether the guard of any piece holds."""
        condition = " or ".join(f"({guard_source(piece.guard)})" for piece in self.pieces)
        return compiled("holds", self.parameters, self.floors, [f"return {condition or 'False'}"])


def compiled(
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
