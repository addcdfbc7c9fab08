"""Indices with floors, as those of arrays in blocks: their numbers are taken apart into digits, which move an address.

The picture is an array of blocks of 8 cells, that is read along ``j``: the index along its first axis is ``j // 8``,
along its second ``j % 8``. A loop becomes two, over blocks (``j/8``) and over the cells of one (``j``)::

    j                                j/8
        s += a[j // 8, i, j % 8]         j
                                             s += a[...]
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import inf

import islpy as isl

from perfmodel.counts.nests.nest import NO_BYTES, PARAM, address_of
from perfmodel.counts.program.program import SHARED, Access, Domain, Program
from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.traffic.order import Path

IN, SET = isl.dim_type.in_, isl.dim_type.set
NEIGHBOURS = 8
"""Steps from one value of a digit to the next that are looked at; the most frequent one counts."""


@dataclass(frozen=True)
class StepsByDigits:
    """How far an address moves with each number: by one, or by the place value of one of its digits."""

    access: Access
    indices: tuple[isl.PwAff, ...]
    names: tuple[str, ...]

    @staticmethod
    def of(access: Access, domain: Domain) -> StepsByDigits | None:
        """Return the steps of an access, None where data, or sizes, decide on its index."""
        indices = _indices(access)
        if not indices or any(index.involves_dims(PARAM, 0, index.dim(PARAM)) for index in indices):
            return None
        return StepsByDigits(access, tuple(indices), domain.names)

    @property
    def start(self) -> Count:
        """The address where all inames are 0 [B]."""
        return self._bytes(self._at(0, 0))

    def step(self, name: str, width: int) -> Count:
        """Return how far the address moves where an iname rises by a width [B]."""
        if name not in self.names:
            return NO_BYTES
        position = self.names.index(name)
        places = [self._at(position, width * k) for k in range(NEIGHBOURS + 1)]
        moves = (tuple(b - a for a, b in zip(*pair, strict=True)) for pair in pairwise(places))
        return self._bytes(Counter(moves).most_common(1)[0][0])

    def _at(self, position: int, value: int) -> tuple[int, ...]:
        """Return the indices where one iname has a value and the others are 0."""
        point = isl.Point.zero(self.indices[0].get_domain_space()).set_coordinate_val(SET, position, isl.Val(value))
        return tuple(int(index.eval(point).to_python()) for index in self.indices)

    def _bytes(self, cells: Sequence[int]) -> Count:
        total = NO_BYTES
        for number, stride in zip(cells, self.access.strides, strict=True):
            total = total + Fraction(self.access.bits, 8) * number * Count(stride, granularity="byte")
        return total


def _indices(access: Access) -> list[isl.PwAff]:
    if access.cells is None:
        return []
    function = isl.PwMultiAff.from_map(access.cells)
    return [function.get_pw_aff(axis) for axis in range(len(access.strides))]


def digits_of(program: Program, launch: int) -> Mapping[str, tuple[int, ...]]:
    """Return the place values, the largest first, of the digits of inames and axes whose indices are not affine."""
    values: dict[str, set[int]] = defaultdict(set)
    for statement in program.statements:
        domain = statement.domain
        for access in statement.accesses if domain.launch == launch else ():
            if access.space in SHARED and access.cells is not None and address_of(access, domain) is None:
                for position, value in _place_values(access):
                    axis = domain.axes[position]
                    items = program.launches[launch].group_shape[int(axis[2:])] if axis.startswith("l") else inf
                    if value < items:
                        values[axis or domain.names[position]].add(value)
    return {name: tuple(sorted(numbers, reverse=True)) for name, numbers in values.items()}


def _place_values(access: Access) -> Iterator[tuple[int, int]]:
    """Yield inames by their positions, and by how much each rises until a floor of it does."""
    for index in _indices(access):
        for _, form in index.get_pieces():
            for number in range(form.dim(isl.dim_type.div)):
                quotient = form.get_div(number)
                divisor = quotient.get_denominator_val().to_python()
                for position in range(form.dim(IN)):
                    factor = divisor * Fraction(str(quotient.get_coefficient_val(IN, position)))
                    if factor and (value := abs(divisor / factor)) > 1 and value.denominator == 1:
                        yield position, int(value)


def by_digits(path: Path, digits: Mapping[str, tuple[int, ...]]) -> Path:
    """Return a path with a loop for each digit of its numbers, outside of those for smaller ones.

    Examples
    --------
    Vectors of 16 lanes, in blocks of 4:

    >>> by_digits(("g.0", "l.0/16", 0, "l.0"), {"l.0": (64, 4)})
    ('g.0', 'l.0/64', 'l.0/16', 0, 'l.0/4', 'l.0')
    """
    whole: list[int | str] = []
    for entry in path:
        if isinstance(entry, str):
            axis, _, width = entry.partition("/")
            outside = {str(other) for other in whole}
            for value in digits.get(axis, ()):
                if value > int(width or 1) and f"{axis}/{value}" not in outside:
                    whole.append(f"{axis}/{value}")
        whole.append(entry)
    return tuple(whole)
