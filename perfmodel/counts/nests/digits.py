"""Array indices with floors, as in ``a[j // 8, i, j % 8]``: the digits of an iname, and how these move the address.

An iname ``j`` whose index uses ``j // 8`` and ``j % 8`` has the digits ``j // 8``, of place value 8, and ``j % 8``, of
place value 1. In its digits the index is affine, so that all rules for affine addresses apply. The steps are found by
evaluating the index, because isl takes seconds to write the pieces of some such functions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from math import inf

import islpy as isl
import numpy as np

from perfmodel.counts.nests.addresses import IN, NO_BYTES, PARAM, SET, Address, address_of
from perfmodel.counts.program.program import SHARED, Access, Domain, Program, Statement
from perfmodel.counts.quasipoly.count import Count

NEIGHBOURS = 8  # steps between neighbouring values of a digit that are evaluated; the most frequent step counts
SAMPLES = 8  # values at which an address by digits is checked

Digits = tuple[tuple[int, Count], ...]  #: for each digit its place value, and the address's step [B]


def index_functions(access: Access) -> list[isl.PwAff]:
    """Return the index along each axis of an array as a function of the inames; an empty list if data determine it."""
    if access.cells is None:
        return []
    function = isl.PwMultiAff.from_map(access.cells)
    return [function.get_pw_aff(axis) for axis in range(len(access.strides))]


def _indices_at(functions: Sequence[isl.PwAff], point: Mapping[int, int]) -> tuple[int, ...] | None:
    """Return the indices at given values of some inames (by position), 0 for the others; None if undefined there."""
    inames = isl.Point.zero(functions[0].get_domain_space())
    for position, value in point.items():
        inames = inames.set_coordinate_val(SET, position, isl.Val(value))
    values = [function.eval(inames) for function in functions]
    return tuple(value.to_python() for value in values) if all(value.is_int() for value in values) else None


def floors(access: Access) -> Iterator[tuple[int, Fraction, int]]:
    """Yield the inames in floors of the index: position, coefficient in the floor, and the floor's denominator."""
    for function in index_functions(access):
        for _, form in function.get_pieces():
            for number in range(form.dim(isl.dim_type.div)):
                quotient = form.get_div(number)
                for position in range(form.dim(IN)):
                    if coefficient := Fraction(str(quotient.get_coefficient_val(IN, position))):
                        yield position, coefficient, quotient.get_denominator_val().to_python()


class StepsByDigits:
    """How far an address moves when an iname rises by 1, or by the place value of one of its digits."""

    def __init__(self, access: Access, functions: Sequence[isl.PwAff], names: tuple[str, ...]) -> None:
        self.access, self.functions, self.names = access, functions, names

    @staticmethod
    def of(access: Access, domain: Domain) -> StepsByDigits | None:
        """Return the steps of an access; None if its index depends on data or on size parameters."""
        functions = index_functions(access)
        if not functions or any(function.involves_dims(PARAM, 0, function.dim(PARAM)) for function in functions):
            return None
        return StepsByDigits(access, functions, domain.names)

    @property
    def start(self) -> Count:
        """The address where all inames are 0 [B]."""
        return self._bytes(_indices_at(self.functions, {}) or ())

    def step(self, name: str, width: int) -> Count:
        """Return the bytes by which the address moves when an iname rises by a width."""
        if name not in self.names:
            return NO_BYTES
        position = self.names.index(name)
        indices = [_indices_at(self.functions, {position: width * k}) or () for k in range(NEIGHBOURS + 1)]
        moves = (tuple(b - a for a, b in zip(*pair, strict=True)) for pair in pairwise(indices))
        return self._bytes(Counter(moves).most_common(1)[0][0])

    def _bytes(self, cells: Sequence[int]) -> Count:
        total = NO_BYTES
        for number, stride in zip(cells, self.access.strides, strict=True):
            total = total + Fraction(self.access.bits, 8) * number * Count(stride, granularity="byte")
        return total


def place_values(program: Program, launch: int) -> Mapping[str, tuple[int, ...]]:
    """Return the place values above 1, largest first, of the digits of inames and axes in a launch's indices."""
    values: dict[str, set[int]] = defaultdict(set)
    for statement in program.statements:
        domain = statement.domain
        for access in statement.accesses if domain.launch == launch else ():
            if access.space in SHARED and access.cells is not None and address_of(access, domain) is None:
                for position, coefficient, _ in floors(access):
                    value, axis = abs(1 / coefficient), domain.axes[position]
                    items = program.launches[launch].group_shape[int(axis[2:])] if axis.startswith("l") else inf
                    if 1 < value < items and value.denominator == 1:
                        values[axis or domain.names[position]].add(int(value))
    return {name: tuple(sorted(numbers, reverse=True)) for name, numbers in values.items()}


def hardware_place_values(statements: Iterable[Statement]) -> Mapping[tuple[int, str], tuple[int, ...]]:
    """Return the place values above 1 of the digits of group and local ids, by launch and axis, smallest first."""
    divisors: dict[tuple[int, str], set[int]] = defaultdict(set)
    for statement in statements:
        domain = statement.domain
        for access in statement.accesses:
            for position, _, divisor in floors(access) if access.space in SHARED else ():
                if axis := domain.axes[position]:
                    divisors[domain.launch, axis].add(divisor)
    return {key: _dividing(numbers) for key, numbers in divisors.items()}


def _dividing(divisors: set[int]) -> tuple[int, ...]:
    chosen: list[int] = []
    for divisor in sorted(divisors - {1}):
        if not chosen or divisor % chosen[-1] == 0:
            chosen.append(divisor)
    return tuple(chosen)


def address_by_digits(
    access: Access, domain: Domain, first: Sequence[int], extents: Sequence[int], units: Sequence[tuple[int, ...]]
) -> tuple[Address | None, Mapping[str, Digits]]:
    """Return the address of an access, and the steps of its digits, if the index is affine in the digits.

    Each iname has a first value, an extent and the place values of its digits (``units``). The result is checked at
    :data:`SAMPLES` other values.
    """
    functions = index_functions(access)
    pitches = [int(Fraction(access.bits, 8) * Count(stride)()) for stride in access.strides]

    def address_at(moved: Mapping[int, int]) -> int | None:
        indices = _indices_at(functions, {k: value + moved.get(k, 0) for k, value in enumerate(first)})
        return None if indices is None else sum(p * index for p, index in zip(pitches, indices, strict=True))

    start = address_at({})
    if start is None:
        return None, {}
    steps: dict[str, Count] = {}
    digits: dict[str, Digits] = {}
    expected = start
    for k, name in enumerate(domain.names):
        numbers = _steps_along(lambda value: address_at({k: value}), start, extents[k], units[k])  # noqa: B023
        if numbers is None:
            return None, {}
        expected += _distance_of(extents[k] - 1, numbers)
        if len(numbers) > 1:
            digits[name] = tuple((unit, Count.constant(step, "byte")) for unit, step in numbers)
        elif numbers[0][1]:
            steps[name] = Count.constant(numbers[0][1], "byte")
    if address_at({k: extent - 1 for k, extent in enumerate(extents)}) not in (None, expected):
        return None, {}
    return Address(Count.constant(start, "byte"), steps), digits


def _steps_along(
    address_at: Callable[[int], int | None], start: int, extent: int, units: Sequence[int]
) -> list[tuple[int, int]] | None:
    """Return the place value and the step [B] of each digit of one iname; None if the address has no such steps."""
    numbers: list[tuple[int, int]] = []
    for unit in units:
        moved = address_at(unit) if unit < extent else start
        if moved is None:
            return None
        numbers.append((unit, moved - start))
    for number in np.linspace(0, extent - 1, SAMPLES).astype(int):
        address = address_at(int(number))
        if address is not None and address - start != _distance_of(int(number), numbers):
            return None
    return numbers


def _distance_of(number: int, steps: Sequence[tuple[int, int]]) -> int:
    distance = 0
    for unit, step in reversed(steps):
        digit, number = divmod(number, unit)
        distance += digit * step
    return distance
