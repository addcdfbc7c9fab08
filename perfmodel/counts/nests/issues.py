"""The nests of a kernel after a GPU's compiler, with counts by sub-groups.

The compiler unrolls short loops, from the innermost on, until it keeps a loop. If the trips of a loop vary, the
compiler unrolls the loop in steps, with a test between steps. A step divides all trip counts of the loop. The compiler
then knows which addresses of a register tile are equal, and accesses equal addresses once. It keeps private arrays with
constant indices in registers. If a remaining loop indexes a private array, the array is in memory. The rules follow
from times of tiled contractions on a TITAN V (docs/lab/real-gpus.md).
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import takewhile

import islpy as isl
import numpy as np

from perfmodel.counts.nests.addresses import NO_BYTES, PARAM, Address, address_of
from perfmodel.counts.nests.digits import AddressByDigits, digit_name
from perfmodel.counts.nests.loops import (
    GUARDED,
    WRITTEN,
    LoopTrips,
    bounds,
    copies_of,
    line_of,
    takes_each,
    trips_of,
    values_of,
    without,
    written_out,
)
from perfmodel.counts.nests.nest import Nest, counted
from perfmodel.counts.program.program import Access, Domain, Launch, Statement
from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.rows import OperationCount
from perfmodel.values import FrozenValue, cached_method

FAR = 2**40  # bytes: more than between any two addresses of an array


@dataclass(frozen=True, eq=False)
class Move:
    """How an address moves with a group axis, a loop, or the copies of an unrolled loop."""

    name: str  # the axis ``g.0``, ..., the loop's iname, or ``g.2/36``: the digit of place value 36 of a group id
    step: Count  # bytes for each step
    values: Count  # number of values; it may be a fraction for the last digit of a group id
    written: bool  # whether the compiled code has a copy for each value
    tested: bool = False  # whether the copies are behind different tests


@dataclass(frozen=True, eq=False)
class IssuedAccess:
    """An access to an array by one expression, with its executions by sub-groups."""

    space: str  # this and the next as in AccessCount
    direction: str
    array: str
    bits: int
    count: Count  # executions by sub-groups: (sub-group, instance) pairs with at least one active lane
    items: Count  # executions by work-items
    shape: tuple[int, ...]  # work-items of a group along l.0, l.1, ..., or along the digits of local ids in the index
    start: Count  # the address where all inames are 0, in bytes from the array's first cell
    #: bytes by which the address moves along each axis of ``shape``; None if data decide. If the index is not
    #: affine, the smallest distance between neighbours along l.0, and 0 along the others
    lanes: tuple[Count, ...] | None
    moves: tuple[Move, ...]  # with group axes, loops from the outermost on, and copies; empty if not affine
    addressed: bool  # whether the address is affine in the inames or in digits of group and local ids
    guarded: bool  # whether a test excludes instances from the box of lanes, groups, loops and copies
    #: the share of executions that compiled code makes: copies with equal addresses access once, unless they are
    #: behind different tests
    fresh: Fraction = Fraction(1)
    site: tuple[Domain, Access, Launch] | None = None  # the access in the program


@dataclass(frozen=True, eq=False)
class PrivateAccess:
    """An access to a private array of a work-item by one expression."""

    array: str  # this and the next as in AccessCount
    bits: int
    count: Count  # executions by sub-groups, once for all iterations of innermost loops that do not move the address
    reloads: Count  # as ``count``, if registers do not hold data around code that moves the address
    indexed: bool  # whether a loop that is not unrolled indexes it: then the array cannot be in registers
    #: whether short loops around barriers index it: the compiler unrolls them if the registers hold the array
    around_barriers: bool = False
    tested: bool = False  # whether an index depends on an iname of a test around the access


@dataclass(frozen=True, eq=False)
class IssuedNest(FrozenValue):
    """The operations and accesses of a nest that sub-groups issue, once for all lanes that execute together."""

    nest: Nest

    @cached_property
    def unrolled(self) -> Mapping[str, LoopTrips]:
        """The loops that the compiler unrolls. The innermost loop is first.

        A loop of varying trips is not unrolled around a long loop of varying trips. A long loop is not unrolled around
        statements of which the code has several copies.
        """
        unrolled: dict[str, LoopTrips] = {}
        loops, statements = self.nest.loops.names, self.nest.statements
        copies = [math.prod(copies_of(statement.domain, loops).values()) for statement in statements]
        code = sum(
            number * max(1, sum(operation.amount for operation in statement.operations)
                         + sum(access.space != "private" for access in statement.accesses))
            for number, statement in zip(copies, statements, strict=True)
        )
        for k in range(len(loops), len(self.nest.loops.outer), -1):
            trips = trips_of(loops[k - 1], self.nest.within(loops[:k]))
            code *= trips.most
            if not trips.numbers or code > WRITTEN or (trips.varying and any(each.long for each in unrolled.values())):
                break
            if trips.long and (max(copies) > 1 or _stays(trips, not unrolled, statements)):
                break
            unrolled[loops[k - 1]] = trips
        return unrolled

    @cached_property
    def loops(self) -> tuple[str, ...]:
        """The sequential loops around the nest that the compiler keeps. The outermost loop is first."""
        return tuple(loop for loop in self.nest.loops.names if loop not in self.unrolled)

    @cached_property
    def turns(self) -> Count:
        """The number of (sub-group, iteration) pairs that execute at least one instruction of the nest."""
        return self.nest.turns((*self.loops, *self.nest.loops.repeated), "subgroup")

    @cached_property
    def operations(self) -> tuple[OperationCount, ...]:
        """The operations that remain after compilation, with their executions by sub-groups."""
        kept = [loop for loop in self.nest.loops.inner if loop in self.loops]
        return counted(self.nest.remaining(kept), self.nest.kernel.cardinalities, "subgroup")

    @cached_property
    def accesses(self) -> tuple[IssuedAccess, ...]:
        """The accesses to global, constant and local memory, one for each expression."""
        sites = ((s.domain, access) for s in self.nest.statements for access in s.accesses)
        issued = [self._issued(domain, access) for domain, access in sites if access.space != "private"]
        return tuple(self._deduplicated(issued))

    @cached_property
    def private(self) -> tuple[PrivateAccess, ...]:
        """The accesses to private arrays, one for each expression."""
        sites = ((s.domain, access) for s in self.nest.statements for access in s.accesses)
        return tuple(self._private(domain, access) for domain, access in sites if access.space == "private")

    @cached_property
    def tests(self) -> Count:
        """The tests between iterations of unrolled loops of varying trips. Only the innermost such loop counts."""
        inside = set(takewhile(lambda loop: not self.unrolled[loop].varying, self.unrolled))
        if len(inside) == len(self.unrolled):
            return Count.constant(0)
        return self.nest.turns([loop for loop in self.nest.loops.names if loop not in inside], "subgroup")

    @property
    def _launch(self) -> Launch:
        return self.nest.kernel.program.launches[self.nest.loops.launch]

    def _count(self, domain: Domain) -> Count:
        return self.nest.kernel.cardinalities.count(domain, "subgroup")

    def _issued(self, domain: Domain, access: Access) -> IssuedAccess:
        address = address_of(access, domain) or self._by_digits(domain, access)
        shape, lanes = self._lanes(domain, address)
        # a tied loop moves the address with the lane
        if lanes and access.lane_stride and (address is None or domain.tied):
            lanes[:1] = [Fraction(access.bits, 8) * Count(access.lane_stride[0].distance, granularity="byte")]
        moves = () if address is None else tuple(self._moves(domain, address))
        return IssuedAccess(
            access.space, access.direction, access.array, access.bits, self._count(domain),
            self.nest.kernel.cardinalities.count(domain), shape, NO_BYTES if address is None else address.start,
            tuple(lanes) if access.lane_stride else None, moves, address is not None, self._is_guarded(domain),
            site=(domain, access, self._launch),
        )  # fmt: skip

    def _by_digits(self, domain: Domain, access: Access) -> Address | None:
        if domain.points.dim(PARAM):
            return None
        lows = [bounds(domain.points, k)[0] or 0 for k in range(len(domain.names))]
        extents = [values_of(domain, name) for name in domain.names]
        address = AddressByDigits.of(access, domain, lows, extents)
        return None if address is None else address.checked([self._units(domain, name) for name in domain.names])

    def _lanes(self, domain: Domain, address: Address | None) -> tuple[tuple[int, ...], list[Count]]:
        """Return the work-items along each local axis or digit, and the bytes by which each axis moves the address."""
        by_axis = dict(zip(domain.axes, domain.names, strict=True))
        shape, lanes = [], []
        for axis, items in enumerate(self._launch.group_shape):
            name = by_axis.get(f"l.{axis}", "")
            units = [1] if address is None else [*address.digits.get(name, (1,))]
            for unit, following in zip(units, (*units[1:], items), strict=True):
                shape.append(following // unit)
                lanes.append(NO_BYTES if address is None else address.step(name, unit))
        return tuple(shape), lanes

    @cached_method
    def _copies(self, domain: Domain) -> dict[str, int]:
        return copies_of(domain, self.loops)

    def _moves(self, domain: Domain, address: Address) -> Iterator[Move]:
        """Yield the moves of an address, in this order: group axes, loops from the outermost on, copies."""
        loops, copied = self.nest.loops.names, self._copies(domain)
        axes = dict(zip(domain.names, domain.axes, strict=True))
        positions = {name: (1, loops.index(name)) for name in domain.names if name in loops}
        for name in sorted(domain.names, key=lambda name: (0, 0) if axes[name] else positions.get(name, (2, 0))):
            if axes[name].startswith("l") or name in domain.tied:
                continue
            if axes[name].startswith("g"):
                yield from self._group_moves(domain, name, axes[name], address)
            elif name in address.steps or name in copied:
                tested = name in copied and _is_tested(domain, name)
                yield Move(name, address.step(name), self._number(domain, name), name in copied, tested)

    def _group_moves(self, domain: Domain, name: str, axis: str, address: Address) -> Iterator[Move]:
        units, number = self._units(domain, name), self._number(domain, name)
        for unit, following in zip(units, (*units[1:], 0), strict=True):
            values = Count.constant(following // unit, "value") if following else Fraction(1, unit) * number
            yield Move(digit_name(axis, unit), address.step(name, unit), values, False)

    def _units(self, domain: Domain, name: str) -> tuple[int, ...]:
        """Return the place values of an iname's digits. If parameters bound the iname, return only the value 1."""
        axis = domain.axes[domain.names.index(name)]
        divisors = () if domain.points.dim(PARAM) else self.nest.kernel.place_values.get((domain.launch, axis), ())
        # a group id may end within a digit, a local id may not
        items = self._launch.group_shape[int(axis[2:])] if axis.startswith("l") else 0
        units, values = [1], values_of(domain, name)
        for divisor in divisors:  # each digit has a whole number of values
            if divisor < values and divisor % units[-1] == 0 and items % divisor == 0:
                units.append(divisor)
        return tuple(units)

    def _number(self, domain: Domain, name: str) -> Count:
        return self._size(line_of(domain.points, domain.names.index(name)), "value")

    def _size(self, points: isl.Set, granularity: str) -> Count:
        cardinalities = self.nest.kernel.cardinalities
        return cardinalities.wrap(cardinalities.size(points), granularity=granularity)

    @cached_method
    def _is_guarded(self, domain: Domain) -> bool:
        number = self._size(domain.points, "workitem")
        box = Count.constant(1)
        for name in domain.names:
            box = box.times(self._number(domain, name))
        return bool(number.unexpanded) or number != box

    def _deduplicated(self, accesses: Sequence[IssuedAccess]) -> Iterator[IssuedAccess]:
        """Yield the accesses with the share of executions that remains if equal addresses are accessed once."""
        alike: dict[object, list[IssuedAccess]] = defaultdict(list)
        for access in accesses:
            moving = tuple((move.name, str(move.step)) for move in access.moves if not move.written)
            known = access.lanes is not None and access.addressed
            key = (access.space, access.direction, access.array, moving, str(access.lanes))
            alike[key if known else id(access)].append(access)
        shares: dict[IssuedAccess, Fraction] = {}
        for together in alike.values():
            offsets = [self._offsets(access) for access in together]
            share = Fraction(len(np.unique(np.concatenate(offsets))), sum(map(len, offsets)))
            shares |= dict.fromkeys(together, share)
        yield from (replace(access, fresh=shares[access]) for access in accesses)

    def _offsets(self, access: IssuedAccess) -> np.ndarray:
        """Return the start addresses of an access's copies. Behind different tests these are never equal."""
        offsets, distance = np.array([int(access.start(**self.nest.kernel.sizes))]), FAR
        for move in access.moves:
            if move.written:
                step, values = (int(count(**self.nest.kernel.sizes)) for count in (move.step, move.values))
                offsets = (offsets[:, None] + (step + distance * move.tested) * np.arange(values)).ravel()
                distance *= values if move.tested else 1
        return offsets

    @cached_property
    def _short(self) -> set[str]:
        """The loops around barriers with at most :data:`GUARDED` trips."""
        names = self.nest.loops.names
        trips = {name: trips_of(name, self.nest.within(names[:k])) for k, name in enumerate(self.nest.loops.outer, 1)}
        return {name for name, each in trips.items() if 0 < each.most <= GUARDED}

    def _private(self, domain: Domain, access: Access) -> PrivateAccess:
        address, loops = address_of(access, domain), self.nest.loops.names
        count, reloads = (
            self._count(without(domain, _unmoving(loops, domain, address, spilled))) for spilled in (False, True)
        )
        kept = {loop for loop in self.loops if address is not None and loop in address.steps}
        indexed, around_barriers = address is None or not kept <= self._short, bool(kept)
        tested = address is not None and any(_is_tested(domain, name) for name in address.steps)
        return PrivateAccess(access.array, access.bits, count, reloads, indexed, around_barriers, tested)


def _is_tested(domain: Domain, name: str) -> bool:
    """Return whether tests exclude a value between the bounds of an iname, for some values of the other inames."""
    position = domain.names.index(name)
    return not takes_each(domain.points, position, *bounds(domain.points, position))


def _unmoving(loops: tuple[str, ...], domain: Domain, address: Address | None, spilled: bool) -> set[str]:
    """Return the innermost loops that do not move an address. In these loops a compiler keeps the value in a register.

    If ``spilled``, the data are not in registers. If copies of the access then differ in address, each iteration loads.
    """
    if address is None:
        return set()
    copies = written_out(domain, loops)
    unmoving = {name for name in copies if name not in address.steps}
    if not spilled or unmoving == set(copies):
        unmoving |= {*takewhile(lambda loop: loop not in address.steps, reversed(loops))}
    return unmoving


def _stays(trips: LoopTrips, innermost: bool, statements: Sequence[Statement]) -> bool:
    """Return whether a compiler keeps a long loop: it has many steps, leaves edge lanes idle, or clears memory."""
    clears = innermost and all(
        not statement.operations and all((a.space, a.direction) == ("private", "store") for a in statement.accesses)
        for statement in statements
    )
    edges = trips.by_group and any(_edge_lanes(statement.domain) for statement in statements)
    return trips.steps > GUARDED or clears or edges


def _edge_lanes(domain: Domain) -> bool:
    """Return whether lanes that work in some groups are idle in other groups."""
    lanes = without(domain, {name for name, axis in zip(domain.names, domain.axes, strict=True) if not axis})
    axes = [k for k, axis in enumerate(lanes.axes) if axis.startswith("l")]
    return not all(takes_each(lanes.points, k, *bounds(lanes.points, k)) for k in axes)
