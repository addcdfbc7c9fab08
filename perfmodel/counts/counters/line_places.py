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
    rows : tuple of str
        The distances of rows along each axis that is a row, in bits, as texts.
    """

    of_points: isl.Map
    cells_per_line: int | None
    rows: tuple[str, ...]

    @property
    def exact(self) -> bool:
        """Whether the lines are known; if not, their number is an upper bound."""
        return self.cells_per_line is None


def places_of(
    access: Access, line_bytes: int, sizes: Mapping[str, int], assumptions: isl.Set
) -> Places:
    """Return the places of an access.

    Along axes whose strides are known numbers, cells lie in one row, as in memory: with sizes that is the whole array.
    Every index of the other axes is a row.

    Raises
    ------
    ParameterError
        There are sizes, but not for every parameter of the strides.
    """
    cells: isl.Map = access.cells
    per_line = max(1, line_bytes * 8 // access.bits)
    axes = [f"x{k}" for k in range(len(access.strides))]
    steps = _known_steps(access, per_line, sizes)
    rows = [k for k in range(len(axes)) if k not in steps]
    offset = 0
    begins = [access.strides[k] for k in rows]
    if set(quasi_polynomial_of(access.offset).parameters) <= set(sizes):
        offset = value_at(access.offset, sizes) + access.shifted(sizes)
    else:
        begins.append(access.offset)
    aligned = all(divisible(step, per_line, assumptions) for step in begins)
    place = " + ".join([str(offset), *(f"{step}*{axes[k]}" for k, step in steps.items())])
    if aligned:
        place = f"floor(({place})/{per_line})"
    target = ", ".join([*(axes[k] for k in rows), place])
    places = cells.apply_range(isl.Map(f"{{ [{', '.join(axes)}] -> [{target}] }}"))
    distances = tuple(str(access.strides[k].scale_val(isl.Val(access.bits))) for k in rows)
    return Places(places, None if aligned else per_line, distances)


def _known_steps(access: Access, per_line: int, sizes: Mapping[str, int]) -> dict[int, int]:
    """Return the strides of the axes along which cells lie in one row.

    A row of whole lines may as well be a row of its own, which is simpler to count, where no shorter one is left.
    Where strides are symbolic, the known ones lie inside of them only if each divides all of these.
    """
    strides = access.strides
    if sizes:
        return {k: value_at(stride, sizes) for k, stride in enumerate(strides)}
    symbolic = [stride for stride in strides if quasi_polynomial_of(stride).parameters]
    known = {k: value_at(one, sizes) for k, one in enumerate(strides) if not quasi_polynomial_of(one).parameters}
    if not all(_multiple(one, step) for step in known.values() for one in symbolic):
        return {k: step for k, step in known.items() if k == access.unit_axis}
    for k in sorted(known, key=lambda k: -abs(known[k])):
        if known[k] % per_line or k == access.unit_axis:
            break
        del known[k]
    return known


def value_at(function: isl.PwQPolynomial, sizes: Mapping[str, int]) -> int:
    """Return the value of a function of parameters, or raise :class:`ParameterError`."""
    known = quasi_polynomial_of(function)
    for name in known.parameters:
        if name not in sizes:
            raise ParameterError(name, "was left out", known.parameters)
    return int(known.exact(*(sizes[name] for name in known.parameters)))


def _multiple(function: isl.PwQPolynomial, step: int) -> bool:
    """Whether each coefficient of a polynomial is a multiple of a number."""
    known = quasi_polynomial_of(function)
    return step != 0 and not known.floors and all(
        term.coefficient % step == 0 for piece in known.pieces for term in piece.terms
    )


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
