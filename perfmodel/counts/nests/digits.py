"""Array indices with floors, as in ``a[j // 8, i, j % 8]``, and the digits of their inames.

If an index uses ``j // 8`` and ``j % 8``, the iname ``j`` has two digits. The digit ``j // 8`` has the *place value* 8,
and the digit ``j % 8`` has the place value 1. In its digits the index is affine, so that all rules for affine addresses
apply. The index is evaluated to find the steps, because isl takes seconds to write the pieces of some such functions.

Nests and traffic share this module. A flattened index such as ``a[n*i + j]`` has no floors:
:mod:`perfmodel.counts.reading.indexing` splits it into axes.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from math import inf
from operator import mul, sub

import islpy as isl
import numpy as np

from perfmodel.counts.nests.addresses import IN, NO_BYTES, PARAM, SET, Address, address_of
from perfmodel.counts.program.program import SHARED, Access, Domain, Program
from perfmodel.counts.quasipoly.count import Count

NEIGHBOURS = 8  # steps between neighbouring values of a digit that are evaluated; the most frequent step counts
SAMPLES = 8  # values at which an address by digits is checked


def digit_name(name: str, place_value: int) -> str:
    """Return the name of a digit of an axis or iname: ``g.2/36`` for place value 36, ``g.2`` for place value 1."""
    return name if place_value == 1 else f"{name}/{place_value}"


def name_and_place_value(digit: str) -> tuple[str, int]:
    """Return the axis or iname of a digit and the digit's place value."""
    name, _, place_value = digit.partition("/")
    return name, int(place_value or 1)


def _index_functions(access: Access) -> list[isl.PwAff]:
    """Return the index along each axis as a function of the inames. The list is empty if data determine the index."""
    if access.cells is None:
        return []
    function = isl.PwMultiAff.from_map(access.cells)
    return [function.get_pw_aff(axis) for axis in range(len(access.strides))]


def place_values(program: Program, factors: bool) -> Mapping[tuple[int, str], tuple[int, ...]]:
    """Return the place values above 1 of digits in indices, by launch and hardware axis or iname, in ascending order.

    If ``factors``, inames with a factor count too: in ``7*j // 9``, ``j`` has the place value 9. Nests use ``factors``
    and traffic does not. The fitted weights of models depend on this difference.
    """
    values: dict[tuple[int, str], set[int]] = defaultdict(set)
    for statement in program.statements:
        domain = statement.domain
        shape = program.launches[domain.launch].group_shape
        for access in statement.accesses:
            if access.space in SHARED and access.cells is not None and address_of(access, domain) is None:
                for position, coefficient in _floors(access):
                    axis, value = domain.axes[position], coefficient.denominator
                    items = shape[int(axis[2:])] if axis.startswith("l") else inf
                    if 1 < value < items and (factors or abs(coefficient.numerator) == 1):
                        values[domain.launch, axis or domain.names[position]].add(value)
    return {name: tuple(sorted(numbers)) for name, numbers in values.items()}


def _floors(access: Access) -> Iterator[tuple[int, Fraction]]:
    """Yield the position of each iname in a floor of an index, and the iname's coefficient in the floor's argument."""
    for function in _index_functions(access):
        for _, form in function.get_pieces():
            for number in range(form.dim(isl.dim_type.div)):
                quotient = form.get_div(number)
                for position in range(form.dim(IN)):
                    yield position, Fraction(str(quotient.get_coefficient_val(IN, position)))


class AddressByDigits:
    """The address of an access as a function of inames. Evaluation gives the bytes for a step of each digit.

    ``first`` has the first value of each iname, by default 0. ``extents`` has the number of values, by default
    infinite.
    """

    def __init__(
        self, access: Access, names: Sequence[str], first: Sequence[int] = (), extents: Sequence[float] = ()
    ) -> None:
        self.names, self._functions = names, _index_functions(access)
        self._first, self._extents = first or (0,) * len(names), extents or (inf,) * len(names)
        self._pitches = [Fraction(access.bits, 8) * Count(stride, granularity="byte") for stride in access.strides]

    @classmethod
    def of(
        cls, access: Access, domain: Domain, first: Sequence[int] = (), extents: Sequence[float] = ()
    ) -> "AddressByDigits | None":
        """Return the address of an access, or None if the index depends on data or on size parameters."""
        address = cls(access, domain.names, first, extents)
        functions = address._functions
        known = functions and not any(function.involves_dims(PARAM, 0, function.dim(PARAM)) for function in functions)
        return address if known else None

    @property
    def start(self) -> Count:
        """The address at the first values [B]."""
        return self._bytes(self._indices({}) or ())

    def step(self, name: str, width: int = 1) -> Count:
        return self._bytes(self._move(self.names.index(name), width) if name in self.names else ())

    def checked(self, units: Sequence[Sequence[int]]) -> Address | None:
        """Return the address as a sum over digits. ``units`` has the place values of the digits of each iname.

        The result is None if the address differs from this sum at one of :data:`SAMPLES` values of an iname. It is also
        None if the address differs where all inames have their last values.
        """
        pitches = [int(pitch()) for pitch in self._pitches]
        steps = [[sum(map(mul, pitches, self._move(k, unit))) for unit in numbers] for k, numbers in enumerate(units)]
        last = {k: int(extent) - 1 for k, extent in enumerate(self._extents)}
        samples = [{k: int(number)} for k in last for number in np.linspace(0, last[k], SAMPLES)]

        def address_at(moved: Mapping[int, int]) -> int | None:
            indices = self._indices(moved)
            return None if indices is None else sum(map(mul, pitches, indices))

        if (start := address_at({})) is None:
            return None
        for moved in (*samples, last):
            distance = sum(_distance_of(number, units[k], steps[k]) for k, number in moved.items())
            if address_at(moved) not in (None, start + distance):
                return None
        named = [*zip(self.names, units, steps, strict=True)]
        return Address(
            _constant(start), {name: _constant(moves[0]) for name, _, moves in named if moves[0]},
            digits={
                name: dict(zip(numbers, map(_constant, moves), strict=True))
                for name, numbers, moves in named if len(numbers) > 1
            },
        )  # fmt: skip

    def _indices(self, moved: Mapping[int, int]) -> tuple[int, ...] | None:
        """Return the indices where inames, given by position, exceed their first values. Undefined indices are None."""
        inames = isl.Point.zero(self._functions[0].get_domain_space())
        for position, first in enumerate(self._first):
            inames = inames.set_coordinate_val(SET, position, isl.Val(first + moved.get(position, 0)))
        values = [function.eval(inames) for function in self._functions]
        return tuple(value.to_python() for value in values) if all(value.is_int() for value in values) else None

    def _move(self, position: int, width: int) -> tuple[int, ...]:
        """Return the most frequent change of the indices when an iname rises by ``width``."""
        ends = (width * k for k in range(NEIGHBOURS + 1) if width * k < self._extents[position])
        indices = (self._indices({position: number}) for number in ends)
        moves = Counter(
            tuple(map(sub, after, before)) for before, after in pairwise(indices)
            if before is not None and after is not None
        )  # fmt: skip
        return moves.most_common(1)[0][0] if moves else (0,) * len(self._pitches)

    def _bytes(self, cells: Sequence[int]) -> Count:
        return sum((number * pitch for number, pitch in zip(cells, self._pitches, strict=False)), NO_BYTES)


def _constant(number: int) -> Count:
    return Count.constant(number, "byte")


def _distance_of(number: int, units: Sequence[int], steps: Sequence[int]) -> int:
    distance = 0
    for unit, step in zip(reversed(units), reversed(steps), strict=True):
        digit, number = divmod(number, unit)
        distance += digit * step
    return distance
