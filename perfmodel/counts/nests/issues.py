"""What sub-groups issue, nest by nest, of the code that a GPU's compiler makes.

Such a compiler writes short loops out. Then it knows equal addresses of a tile, which it accesses once, and private
arrays whose indices are constants, which it keeps in registers. A private array that a loop indexes which it does not
write out lies in memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import takewhile

import islpy as isl
import numpy as np

from perfmodel.counts.counters.executions import Cardinalities
from perfmodel.counts.flow.flow import Flow
from perfmodel.counts.flow.trips import Trips
from perfmodel.counts.nests.compiled import LoopTrips, takes_each, written_loops
from perfmodel.counts.nests.folded import Changes
from perfmodel.counts.nests.nest import (
    IN,
    NO_BYTES,
    PARAM,
    SET,
    Address,
    Issue,
    IssuedAccess,
    Move,
    PrivateAccess,
    address_of,
)
from perfmodel.counts.nests.nests import (
    Surroundings,
    bounds,
    compiled,
    copies_of,
    counted,
    domains_of,
    line_of,
    rolled,
    statements_by_nest,
    union_of,
    values_of,
    without,
    written_out,
)
from perfmodel.counts.program.program import SHARED, Access, Domain, Statement
from perfmodel.counts.quasipoly.count import Count
from perfmodel.values import FrozenValue

APART = 2**40  # bytes: further than equal addresses can be
SAMPLES = 8  # places at which the digits of a group's number are tried

Digits = tuple[tuple[int, Count], ...]  #: for each digit of a group's number its place value, and the address's step


def issues_of(flow: Flow) -> tuple[Issue, ...]:
    """Return what the sub-groups of a kernel issue, nest by nest, in the order of the schedule."""
    issues = _Issues(flow)
    return tuple(issues.issue(around, statements) for (around, _), statements in issues.nests.items())


@dataclass(frozen=True)
class _Issues(FrozenValue):
    flow: Flow

    @cached_property
    def nests(self) -> Mapping[tuple[Surroundings, tuple[str, ...]], list[Statement]]:
        return statements_by_nest(self.flow)

    @property
    def cardinalities(self) -> Cardinalities:
        return self.flow.cardinalities

    @cached_property
    def changes(self) -> Changes:
        return Changes(self.cardinalities.program)

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """Large sizes, at which addresses are compared."""
        return Trips(self.cardinalities).sizes

    def count(self, domain: Domain) -> Count:
        return self.cardinalities.count(domain, "subgroup")

    def issue(self, around: Surroundings, statements: list[Statement]) -> Issue:
        """Return what is issued in a nest."""
        written = written_loops(around, statements)
        loops = (*around.outer, *around.inner)
        left = tuple(loop for loop in loops if loop not in written)
        turns = [without(domain, written) for domain in rolled(statements, around)]
        copied = {domain: copies_of(domain, set(left)) for domain in domains_of(statements)}
        accesses = [(s.domain, a) for s in statements for a in s.accesses if a.space != "private"]
        issued = [self._issued(domain, access, loops, copied[domain]) for domain, access in accesses]
        return Issue(
            launch=around.launch, loops=left, turns=self.count(union_of(turns)),
            operations=counted(
                compiled(statements, around, [loop for loop in around.inner if loop in left], self.changes),
                self.cardinalities, "subgroup",
            ),
            accesses=tuple(self._deduplicated(issued)),
            private=tuple(self._private(loops, left, statements)),
            tests=self._tests(loops, statements, written),
        )

    def _tests(
        self, loops: tuple[str, ...], statements: Sequence[Statement], written: Mapping[str, LoopTrips]
    ) -> Count:
        """Return the tests of written-out loops of varying trips: one for each iteration of the innermost of them."""
        inside = set(takewhile(lambda loop: not written[loop].varying, written))
        if len(inside) == len(written):
            return Count.constant(0)
        return self.count(union_of([without(d, inside | set(written_out(d, loops))) for d in domains_of(statements)]))

    # {{{ accesses

    def _issued(
        self, domain: Domain, access: Access, loops: tuple[str, ...], copied: Mapping[str, int]
    ) -> IssuedAccess:
        """Return an access as each of its executions makes it."""
        launch = self.cardinalities.program.launches[domain.launch]
        address = address_of(access, domain)
        digits: Mapping[str, Digits] = {}
        if address is None and access.cells is not None and not domain.points.dim(PARAM):
            address, digits = self._by_digits(access, domain)
        shape, lanes = self._lanes(domain, launch.group_shape, {} if address is None else address.steps, digits)
        # a tied loop moves the address with the lane
        if lanes and access.lane_stride and (address is None or domain.tied):
            distance = Count(access.lane_stride[0].distance, granularity="byte")
            lanes[:1] = [Fraction(access.bits, 8) * distance]
        return IssuedAccess(
            access.space, access.direction, access.array, access.bits, self.count(domain),
            self.cardinalities.count(domain), shape, NO_BYTES if address is None else address.start,
            tuple(lanes) if access.lane_stride else None,
            tuple(self._moves(domain, address, digits, loops, copied)), address is not None, self._guarded(domain),
            site=(domain, access, launch),
        )  # fmt: skip

    @staticmethod
    def _lanes(
        domain: Domain, group_shape: tuple[int, ...], steps: Mapping[str, Count], digits: Mapping[str, Digits]
    ) -> tuple[tuple[int, ...], list[Count]]:
        """Return the work-items along each local axis, or along its digits, and how far an address moves with them."""
        by_axis = dict(zip(domain.axes, domain.names, strict=True))
        shape, lanes = [], []
        for axis, items in enumerate(group_shape):
            name = by_axis.get(f"l.{axis}", "")
            parts = digits.get(name, ((1, steps.get(name, NO_BYTES)),))
            for (unit, step), following in zip(parts, (*(unit for unit, _ in parts[1:]), items), strict=True):
                shape.append(following // unit)
                lanes.append(step)
        return tuple(shape), lanes

    def _moves(
        self, domain: Domain, address: Address | None, digits: Mapping[str, Digits], loops: tuple[str, ...],
        copied: Mapping[str, int],
    ) -> Iterator[Move]:
        """Yield how an address moves: along group axes, then with loops from the outermost on, then in copies."""
        if address is None:
            return
        axes = dict(zip(domain.names, domain.axes, strict=True))
        places = {name: (1, loops.index(name)) for name in domain.names if name in loops}
        names = sorted(domain.names, key=lambda name: (0, 0) if axes[name] else places.get(name, (2, 0)))
        for name in names:
            if axes[name].startswith("l") or name in domain.tied:
                continue
            if axes[name].startswith("g"):
                yield from self._group_moves(domain, name, axes[name], address, digits)
            elif name in address.steps or name in copied:
                tested = name in copied and self._tested(domain, name)
                yield Move(name, address.step(name), self._number(domain, name), name in copied, tested)

    def _group_moves(
        self, domain: Domain, name: str, axis: str, address: Address, digits: Mapping[str, Digits]
    ) -> Iterator[Move]:
        steps = dict(digits.get(name, ()))
        units, number = self._units(domain, name), self._number(domain, name)
        for unit, following in zip(units, (*units[1:], 0), strict=True):
            step = steps[unit] if unit in steps else unit * address.step(name)
            values = Count.constant(following // unit, "value") if following else Fraction(1, unit) * number
            yield Move(axis if unit == 1 else f"{axis}/{unit}", step, values, False)

    def _units(self, domain: Domain, name: str) -> tuple[int, ...]:
        """Return the place values of a number's digits; the only one is 1 where parameters bound the number."""
        axis = domain.axes[domain.names.index(name)]
        radices = () if domain.points.dim(PARAM) else self._radices.get((domain.launch, axis), ())
        items = 0  # a group's number may end within a digit, the lanes along an axis may not
        if axis.startswith("l"):
            items = self.cardinalities.program.launches[domain.launch].group_shape[int(axis.partition(".")[2])]
        values = values_of(domain, name)
        return (1, *(radix for radix in radices if radix < values and items % radix == 0))

    def _number(self, domain: Domain, name: str) -> Count:
        values = line_of(domain.points, domain.names.index(name))
        return self.cardinalities.wrap(self.cardinalities.size(values), granularity="value")

    def _guarded(self, domain: Domain) -> bool:
        """Whether a domain has fewer points than the box around it, at some sizes."""
        if domain not in self._guards:
            number = self.cardinalities.wrap(self.cardinalities.size(domain.points))
            box = Count.constant(1)
            for name in domain.names:
                box = box.times(self._number(domain, name))
            self._guards[domain] = bool(number.unexpanded) or number != box
        return self._guards[domain]

    @staticmethod
    def _tested(domain: Domain, name: str) -> bool:
        """Whether a test depends on an iname: some of its values are left out where others are not."""
        position = domain.names.index(name)
        return not takes_each(domain.points, position, *bounds(domain.points, position))

    @cached_property
    def _guards(self) -> dict[Domain, bool]:
        return {}

    def _deduplicated(self, accesses: Sequence[IssuedAccess]) -> Iterator[IssuedAccess]:
        """Yield the accesses, each with the share of its executions that is left where equal addresses are one."""
        alike: dict[object, list[int]] = defaultdict(list)
        for position, access in enumerate(accesses):
            moving = tuple((move.name, str(move.step)) for move in access.moves if not move.written)
            known = access.lanes is not None and access.addressed
            alike[(access.space, access.direction, access.array, moving, str(access.lanes)) if known else position
                  ].append(position)
        shares: dict[int, Fraction] = {}
        for positions in alike.values():
            offsets = [self._offsets(accesses[position]) for position in positions]
            distinct = len(np.unique(np.concatenate(offsets)))
            share = Fraction(distinct, sum(map(len, offsets)))
            shares |= dict.fromkeys(positions, share)
        for position, access in enumerate(accesses):
            yield replace(access, fresh=shares[position])

    def _offsets(self, access: IssuedAccess) -> np.ndarray:
        """Return where the copies of an access begin, far apart where they stand behind different tests."""
        offsets, apart = np.array([int(access.start(**self.sizes))]), APART
        for move in access.moves:
            if move.written:
                step, values = (int(count(**self.sizes)) for count in (move.step, move.values))
                offsets = (offsets[:, None] + (step + apart * move.tested) * np.arange(values)).ravel()
                apart *= values if move.tested else 1
        return offsets

    # }}}

    # {{{ numbers of groups and lanes that the code takes apart

    @cached_property
    def _radices(self) -> Mapping[tuple[int, str], tuple[int, ...]]:
        """The place values, above 1, of the digits into which code takes the number along a group or local axis."""
        found: dict[tuple[int, str], set[int]] = defaultdict(set)
        for statements in self.nests.values():
            for statement in statements:
                for access in statement.accesses:
                    for name, divisors in _divisors(access, statement.domain).items():
                        axis = statement.domain.axes[statement.domain.names.index(name)]
                        found[statement.domain.launch, axis] |= divisors
        return {key: _chain(divisors) for key, divisors in found.items()}

    def _by_digits(self, access: Access, domain: Domain) -> tuple[Address | None, Mapping[str, Digits]]:
        """Return the address of an access that is affine but for digits of groups' and lanes' numbers, if it is one.

        A compiler's ``g / 36 % 4`` is such a digit. The steps are those between addresses at the digits' values, and
        some other numbers are tried.
        """
        functions = _functions(access)
        pitches = [int(Fraction(access.bits, 8) * Count(stride)()) for stride in access.strides]
        first = [0 if low is None else low for low, _ in (bounds(domain.points, k) for k in range(len(domain.names)))]
        start = _address_at(functions, pitches, first)
        if start is None:
            return None, {}
        steps: dict[str, Count] = {}
        digits: dict[str, Digits] = {}
        last, expected = list(first), start
        for position, name in enumerate(domain.names):
            units, extent = self._units(domain, name), values_of(domain, name)
            numbers: list[tuple[int, int]] = []
            for unit in units:
                moved = _address_at(functions, pitches, _moved(first, position, unit)) if unit < extent else start
                if moved is None:
                    return None, {}
                numbers.append((unit, moved - start))
            for number in np.linspace(0, extent - 1, SAMPLES).astype(int):
                address = _address_at(functions, pitches, _moved(first, position, int(number)))
                if address is not None and address - start != _of_digits(int(number), numbers):
                    return None, {}
            last[position] += extent - 1
            expected += _of_digits(extent - 1, numbers)
            if len(units) > 1:
                digits[name] = tuple((unit, Count.constant(step, "byte")) for unit, step in numbers)
            elif numbers[0][1]:
                steps[name] = Count.constant(numbers[0][1], "byte")
        if _address_at(functions, pitches, last) not in (None, expected):
            return None, {}
        return Address(Count.constant(start, "byte"), steps), digits

    # }}}

    # {{{ private arrays

    def _private(
        self, loops: tuple[str, ...], left: tuple[str, ...], statements: Sequence[Statement]
    ) -> Iterator[PrivateAccess]:
        for statement in statements:
            for access in statement.accesses:
                if access.space == "private":
                    domain, address = statement.domain, address_of(access, statement.domain)
                    count, reloads = (
                        self.count(without(domain, self._still(loops, domain, address, spilled)))
                        for spilled in (False, True)
                    )
                    indexed = address is None or any(loop in address.steps for loop in left)
                    tested = address is not None and any(self._tested(domain, name) for name in address.steps)
                    yield PrivateAccess(access.array, access.bits, count, reloads, indexed, tested)

    @staticmethod
    def _still(loops: tuple[str, ...], domain: Domain, address: Address | None, spilled: bool) -> set[str]:
        """Return the innermost loops that do not move an address: a compiler keeps its value in a register there.

        Of data that registers do not hold it keeps none around statements that the code itself holds several times.
        """
        if address is None:
            return set()
        copies = written_out(domain, loops)
        still = {name for name in copies if name not in address.steps}
        for loop in () if spilled and still != set(copies) else reversed(loops):
            if loop in address.steps:
                break
            still.add(loop)
        return still

    # }}}


def _functions(access: Access) -> list[isl.PwAff]:
    """Return the index along each axis of an array, as a function of a domain's inames; nothing where data decide.

    It is not restricted to the domain: isl takes seconds to write the pieces of some restrictions.
    """
    if access.cells is None:
        return []
    function = isl.PwMultiAff.from_map(access.cells)
    return [function.get_pw_aff(axis) for axis in range(len(access.strides))]


def _divisors(access: Access, domain: Domain) -> Mapping[str, set[int]]:
    """Return the numbers by which the index of an access divides the inames of group and lane axes."""
    divisors: dict[str, set[int]] = defaultdict(set)
    hardware = [k for k, axis in enumerate(domain.axes) if axis]
    for function in _functions(access) if access.space in SHARED else ():
        for _, form in function.get_pieces():
            for number in range(form.dim(isl.dim_type.div)):
                quotient = form.get_div(number)
                for k in hardware:
                    if not quotient.get_coefficient_val(IN, k).is_zero():
                        divisors[domain.names[k]].add(quotient.get_denominator_val().to_python())
    return divisors


def _chain(divisors: set[int]) -> tuple[int, ...]:
    """Return the divisors, from the least on, of which each divides the next."""
    chain: list[int] = []
    for divisor in sorted(divisors - {1}):
        if not chain or divisor % chain[-1] == 0:
            chain.append(divisor)
    return tuple(chain)


def _moved(point: Sequence[int], position: int, distance: int) -> list[int]:
    moved = list(point)
    moved[position] += distance
    return moved


def _address_at(functions: Sequence[isl.PwAff], pitches: Sequence[int], point: Sequence[int]) -> int | None:
    """Return the address of an access at a point, None outside of its domain."""
    place = isl.Point.zero(functions[0].get_domain_space())
    for position, value in enumerate(point):
        place = place.set_coordinate_val(SET, position, isl.Val(value))
    indices = [function.eval(place) for function in functions]
    if any(not index.is_int() for index in indices):
        return None
    return sum(pitch * index.to_python() for pitch, index in zip(pitches, indices, strict=True))


def _of_digits(number: int, steps: Sequence[tuple[int, int]]) -> int:
    """Return how far an address moves to a number whose digits have these place values and steps."""
    distance = 0
    for unit, step in reversed(steps):
        digit, number = divmod(number, unit)
        distance += digit * step
    return distance
