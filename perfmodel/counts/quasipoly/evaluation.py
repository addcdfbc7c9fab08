"""Programs that evaluate quasi-polynomials; generated Python for one point.

The arithmetic is on *pieces*: a guard (affine constraints) and a sum of terms
``coefficient * product of atoms**exponent``. An atom is a parameter or the floor of an affine
form of earlier atoms. Nothing here knows isl.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray


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
class Program:
    """Pieces over the atoms ``parameters + floors``; zero outside every piece."""

    parameters: tuple[str, ...]
    floors: tuple[Floor, ...]
    pieces: tuple[Piece, ...]

    def _floor_lines(self) -> list[str]:
        first = len(self.parameters)
        return [
            f"    x{first + i} = ({f.numerator.source()}) // {f.denominator}"
            for i, f in enumerate(self.floors)
        ]

    @cached_property
    def exact(self) -> Callable[..., int | Fraction]:
        """The compiled function of the parameters, in order, giving an int or a Fraction."""
        arguments = ", ".join(f"x{i}" for i in range(len(self.parameters)))
        lines = [f"def exact({arguments}):", *self._floor_lines()]
        for piece in self.pieces:
            common = lcm(1, *(t.coefficient.denominator for t in piece.terms))
            total = " + ".join(_term_source(t, common) for t in piece.terms) or "0"
            condition = guard_source(piece.guard)
            indent = "    "
            if condition != "True":
                lines.append(f"    if {condition}:")
                indent = "        "
            value = total if common == 1 else f"ratio({total}, {common})"
            lines.append(f"{indent}return {value}")
        lines.append("    return 0")
        return _compile("\n".join(lines), "exact", {"ratio": _ratio})

    @cached_property
    def holds(self) -> Callable[..., bool]:
        """The compiled test whether any piece's guard holds (used for assumptions)."""
        arguments = ", ".join(f"x{i}" for i in range(len(self.parameters)))
        condition = " or ".join(f"({guard_source(p.guard)})" for p in self.pieces) or "False"
        source = "\n".join(
            [f"def holds({arguments}):", *self._floor_lines(), f"    return {condition}"]
        )
        return _compile(source, "holds", {})

    def evaluate(
        self, values: Mapping[str, NDArray[np.int64]], shape: tuple[int, ...]
    ) -> NDArray[np.float64]:
        """Return the values as float64, within a relative error of 1e-12 of the exact ones."""
        from perfmodel.counts.quasipoly.vectorised import evaluated

        flat = [np.ravel(values[name]) for name in self.parameters]
        return evaluated(self, flat, int(np.prod(shape, dtype=np.int64))).reshape(shape)


def _compile(source: str, name: str, names: dict[str, Any]) -> Callable[..., Any]:
    scope = dict(names)
    exec(compile(source, f"<count {name}>", "exec"), scope)  # generated from our own terms only
    function: Callable[..., Any] = scope[name]
    return function


def _ratio(numerator: int, denominator: int) -> int | Fraction:
    quotient, rest = divmod(numerator, denominator)
    return quotient if rest == 0 else Fraction(numerator, denominator)


def _term_source(term: Term, common: int) -> str:
    factors = [str(term.coefficient.numerator * (common // term.coefficient.denominator))]
    for atom, exponent in term.powers:
        factors.extend([f"x{atom}"] * exponent)
    return "*".join(factors)
