"""Rows and cache lines of the cells that an access touches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd

import islpy as isl

from perfmodel.counts.program.program import Access
from perfmodel.counts.quasipoly.evaluation import Term
from perfmodel.counts.quasipoly.translation import quasi_polynomial_of
from perfmodel.errors import ParameterError


@dataclass(frozen=True)
class Places:
    """Where the cells of an access lie.

    Attributes
    ----------
    of_points : islpy.Map
        From executed points to (row, line), or to (row, cell) where rows may begin inside a line.
    cells_per_line : int or None
        Cells of a line where the map gives cells; None where it gives lines.
    exact : bool
        False where the number of lines is an upper bound.
    """

    of_points: isl.Map
    cells_per_line: int | None
    exact: bool


def places_of(
    access: Access, line_bytes: int, sizes: Mapping[str, int], assumptions: isl.Set
) -> Places:
    """Return the places of an access.

    With sizes, the whole array is one row, as it lies in memory. Without them, every index of the
    axes other than the unit-stride axis is a row.

    Raises
    ------
    ParameterError
        There are sizes, but not for every parameter of the strides.
    """
    cells: isl.Map = access.cells
    per_line = max(1, line_bytes * 8 // access.bits)
    axes = [f"x{k}" for k in range(len(access.strides))]
    if sizes:
        aligned = set(quasi_polynomial_of(access.offset).parameters) <= set(sizes)
        offset = (value_at(access.offset, sizes) if aligned else 0) + access.shifted(sizes)
        products = [f"{value_at(s, sizes)}*{x}" for s, x in zip(access.strides, axes, strict=True)]
        row, place = [], " + ".join([str(offset), *products])
    elif access.unit_axis is None:  # every cell on a line of its own
        return Places(cells, None, not axes)
    else:
        row = [x for k, x in enumerate(axes) if k != access.unit_axis]
        aligned, place = _rows_aligned(access, per_line, assumptions), axes[access.unit_axis]
    if aligned:
        place = f"floor(({place})/{per_line})"
    target = ", ".join([*row, place])
    places = cells.apply_range(isl.Map(f"{{ [{', '.join(axes)}] -> [{target}] }}"))
    return Places(places, None if aligned else per_line, aligned)


def value_at(function: isl.PwQPolynomial, sizes: Mapping[str, int]) -> int:
    """Return the value of a function of parameters, or raise :class:`ParameterError`."""
    known = quasi_polynomial_of(function)
    for name in known.parameters:
        if name not in sizes:
            raise ParameterError(name, "was left out", known.parameters)
    return int(known.exact(*(sizes[name] for name in known.parameters)))


def _rows_aligned(access: Access, per_line: int, assumptions: isl.Set) -> bool:
    """Whether every row begins on a line: the offset and the other strides are whole lines."""
    others = [stride for k, stride in enumerate(access.strides) if k != access.unit_axis]
    return all(divisible(step, per_line, assumptions) for step in (access.offset, *others))


def divisible(function: isl.PwQPolynomial, by: int, assumptions: isl.Set) -> bool:
    """Whether a polynomial in parameters is seen to be a multiple of ``by`` under the assumptions."""
    known = quasi_polynomial_of(function)
    return not known.floors and all(
        _term_divisible(term, known.parameters, by, assumptions)
        for piece in known.pieces for term in piece.terms
    )


def _term_divisible(
    term: Term, parameters: tuple[str, ...], by: int, assumptions: isl.Set
) -> bool:
    if term.coefficient.denominator != 1:
        return False
    factor = int(term.coefficient)
    for atom, exponent in term.powers:
        name = parameters[atom]
        divisors = [
            d for d in range(1, by + 1) if by % d == 0 and assumptions.is_subset(
                isl.Set(f"[{name}] -> {{ : {name} mod {d} = 0 }}")
            )
        ]
        factor *= divisors[-1] ** exponent
    return gcd(factor, by) == by
