"""The nests of a program, with counts by sub-groups of the code that a GPU's compiler makes: an :class:`Issue` each.

The compiler unrolls short loops, from the innermost on, and stops at the first that it keeps. A loop of varying trips
is unrolled in steps that divide all its trip counts, with a test between steps. The rules follow from times of tiled
contractions on a TITAN V (docs/lab/real-gpus.md). The compiler then knows which addresses of a register tile are equal.
It accesses equal addresses once, and keeps private arrays with constant indices in registers. A private array that a
remaining loop indexes is in memory.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from itertools import takewhile

import islpy as isl
import numpy as np

from perfmodel.counts.flow.flow import Flow
from perfmodel.counts.nests.digits import Digits, address_by_digits, hardware_place_values
from perfmodel.counts.nests.nest import NO_BYTES, Address, Issue, IssuedAccess, Move, PrivateAccess, address_of
from perfmodel.counts.nests.nests import (
    NestTable,
    Surroundings,
    bounds,
    compiled,
    copies_of,
    counted,
    domains_of,
    line_of,
    rolled,
    union_of,
    values_of,
    without,
    written_out,
)
from perfmodel.counts.program.program import Access, Domain, Statement
from perfmodel.counts.quasipoly.count import Count

IN, OUT, SET, PARAM = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set, isl.dim_type.param
FAR = 2**40  # bytes: more than between any two addresses of an array
WRITTEN = 2**15
"""The most operations and accesses of an unrolled loop: beyond it a compiler keeps even loops with small bodies."""
GUARDED = 8
"""The most iterations, or steps, of an unrolled loop of varying trips, each behind a test (LLVM's default)."""


def issues_of(flow: Flow) -> tuple[Issue, ...]:
    """Return what the sub-groups of a kernel issue in each nest, in the order of the schedule."""
    issues = _Issues(flow)
    return tuple(issues.issue(around, statements) for (around, _), statements in issues.statements.items())


class _Issues(NestTable):
    def __init__(self, flow: Flow) -> None:
        super().__init__(flow)
        self._guarded = cache(self._is_guarded)

    @cached_property
    def _place_values(self) -> Mapping[tuple[int, str], tuple[int, ...]]:
        return hardware_place_values(self.program.statements)

    def count(self, domain: Domain) -> Count:
        return self.cardinalities.count(domain, "subgroup")

    def issue(self, around: Surroundings, statements: list[Statement]) -> Issue:
        written = written_loops(around, statements)
        loops = (*around.outer, *around.inner)
        left = tuple(loop for loop in loops if loop not in written)
        turns = [without(domain, written) for domain in rolled(statements, around)]
        copied = {domain: copies_of(domain, set(left)) for domain in domains_of(statements)}
        issued = [
            self._issued(s.domain, access, loops, copied[s.domain])
            for s in statements for access in s.accesses if access.space != "private"
        ]  # fmt: skip
        kept = [loop for loop in around.inner if loop in left]
        remaining = compiled(statements, around, kept, self.changes)
        return Issue(
            launch=around.launch, loops=left, turns=self.count(union_of(turns)),
            operations=counted(remaining, self.cardinalities, "subgroup"), accesses=tuple(self._deduplicated(issued)),
            private=tuple(
                self._private(access, s.domain, loops, left)
                for s in statements for access in s.accesses if access.space == "private"
            ),
            tests=self._tests(loops, statements, written),
        )  # fmt: skip

    def _tests(
        self, loops: tuple[str, ...], statements: Sequence[Statement], written: Mapping[str, LoopTrips]
    ) -> Count:
        """Return the tests of unrolled loops of varying trips: one for each iteration of the innermost such loop."""
        inside = set(takewhile(lambda loop: not written[loop].varying, written))
        if len(inside) == len(written):
            return Count.constant(0)
        return self.count(union_of([without(d, inside | set(written_out(d, loops))) for d in domains_of(statements)]))

    def _issued(
        self, domain: Domain, access: Access, loops: tuple[str, ...], copied: Mapping[str, int]
    ) -> IssuedAccess:
        launch = self.program.launches[domain.launch]
        address = address_of(access, domain)
        digits: Mapping[str, Digits] = {}
        if address is None and access.cells is not None and not domain.points.dim(PARAM):
            lows = (bounds(domain.points, k)[0] or 0 for k in range(len(domain.names)))
            extents = [values_of(domain, name) for name in domain.names]
            units = [self._units(domain, name) for name in domain.names]
            address, digits = address_by_digits(access, domain, [*lows], extents, units)
        shape, lanes = self._lanes(domain, launch.group_shape, {} if address is None else address.steps, digits)
        # a tied loop moves the address with the lane
        if lanes and access.lane_stride and (address is None or domain.tied):
            lanes[:1] = [Fraction(access.bits, 8) * Count(access.lane_stride[0].distance, granularity="byte")]
        moves = () if address is None else tuple(self._moves(domain, address, digits, loops, copied))
        return IssuedAccess(
            access.space, access.direction, access.array, access.bits, self.count(domain),
            self.cardinalities.count(domain), shape, NO_BYTES if address is None else address.start,
            tuple(lanes) if access.lane_stride else None, moves, address is not None, self._guarded(domain),
            site=(domain, access, launch),
        )  # fmt: skip

    @staticmethod
    def _lanes(
        domain: Domain, group_shape: tuple[int, ...], steps: Mapping[str, Count], digits: Mapping[str, Digits]
    ) -> tuple[tuple[int, ...], list[Count]]:
        """Return the work-items along each local axis, or its digits, and the bytes by which each moves the address."""
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
        self, domain: Domain, address: Address, digits: Mapping[str, Digits], loops: tuple[str, ...],
        copied: Mapping[str, int],
    ) -> Iterator[Move]:
        """Yield how an address moves: along group axes, then with loops from the outermost on, then in copies."""
        axes = dict(zip(domain.names, domain.axes, strict=True))
        positions = {name: (1, loops.index(name)) for name in domain.names if name in loops}
        for name in sorted(domain.names, key=lambda name: (0, 0) if axes[name] else positions.get(name, (2, 0))):
            if axes[name].startswith("l") or name in domain.tied:
                continue
            if axes[name].startswith("g"):
                yield from self._group_moves(domain, name, axes[name], address, digits)
            elif name in address.steps or name in copied:
                tested = name in copied and _is_tested(domain, name)
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
        """Return the place values of an iname's digits; only 1 if parameters bound the iname."""
        axis = domain.axes[domain.names.index(name)]
        units = () if domain.points.dim(PARAM) else self._place_values.get((domain.launch, axis), ())
        items = 0  # a group id may end within a digit, a local id may not
        if axis.startswith("l"):
            items = self.program.launches[domain.launch].group_shape[int(axis.partition(".")[2])]
        values = values_of(domain, name)
        return (1, *(unit for unit in units if unit < values and items % unit == 0))

    def _number(self, domain: Domain, name: str) -> Count:
        values = line_of(domain.points, domain.names.index(name))
        return self.cardinalities.wrap(self.cardinalities.size(values), granularity="value")

    def _is_guarded(self, domain: Domain) -> bool:
        number = self.cardinalities.wrap(self.cardinalities.size(domain.points))
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
        """Return the start addresses of an access's copies; copies behind different tests get addresses far apart."""
        offsets, distance = np.array([int(access.start(**self.sizes))]), FAR
        for move in access.moves:
            if move.written:
                step, values = (int(count(**self.sizes)) for count in (move.step, move.values))
                offsets = (offsets[:, None] + (step + distance * move.tested) * np.arange(values)).ravel()
                distance *= values if move.tested else 1
        return offsets

    def _private(
        self, access: Access, domain: Domain, loops: tuple[str, ...], left: tuple[str, ...]
    ) -> PrivateAccess:
        address = address_of(access, domain)
        count, reloads = (
            self.count(without(domain, _unmoving(loops, domain, address, spilled))) for spilled in (False, True)
        )
        indexed = address is None or any(loop in address.steps for loop in left)
        tested = address is not None and any(_is_tested(domain, name) for name in address.steps)
        return PrivateAccess(access.array, access.bits, count, reloads, indexed, tested)


def _is_tested(domain: Domain, name: str) -> bool:
    """Return whether tests exclude values of an iname between its bounds, for some values of the other inames."""
    position = domain.names.index(name)
    return not takes_each(domain.points, position, *bounds(domain.points, position))


def _unmoving(loops: tuple[str, ...], domain: Domain, address: Address | None, spilled: bool) -> set[str]:
    """Return the innermost loops that do not move an address; in these a compiler keeps the value in a register.

    If copies of the access differ in address, data not in registers (``spilled``) is loaded in each iteration.
    """
    if address is None:
        return set()
    copies = written_out(domain, loops)
    unmoving = {name for name in copies if name not in address.steps}
    if not spilled or unmoving == set(copies):
        unmoving |= {*takewhile(lambda loop: loop not in address.steps, reversed(loops))}
    return unmoving


@dataclass(frozen=True)
class LoopTrips:
    """All trip counts of a loop; empty if nothing bounds them, or if they vary up to more than :data:`WRITTEN`."""

    numbers: frozenset[int]
    by_group: bool = False  # whether the number depends on the work-group

    @property
    def most(self) -> int:
        return max(self.numbers, default=0)

    @property
    def varying(self) -> bool:
        return len(self.numbers) > 1

    @property
    def long(self) -> bool:
        return self.varying and self.most > GUARDED

    @property
    def steps(self) -> int:
        """The most steps of the loop; a step is as long as the greatest power of two that divides all trip counts."""
        common = math.gcd(*self.numbers)
        return self.most // (common & -common)


def written_loops(around: Surroundings, statements: Sequence[Statement]) -> dict[str, LoopTrips]:
    """Return the loops of a nest that a compiler unrolls, innermost first.

    Two kinds of loops are not unrolled: loops of varying trips around a long loop of varying trips, and long loops
    around statements of which the code has several copies.
    """
    written: dict[str, LoopTrips] = {}
    loops = {*around.outer, *around.inner}
    copies = [math.prod(copies_of(statement.domain, loops).values()) for statement in statements]
    code = sum(
        number * max(1, sum(operation.amount for operation in statement.operations) + len(statement.accesses))
        for number, statement in zip(copies, statements, strict=True)
    )
    for k in reversed(range(len(around.inner))):
        loop, inside = around.inner[k], {*around.inner[k + 1:]}
        trips = _trips(loop, inside, loops, statements)
        code *= trips.most
        if not trips.numbers or code > WRITTEN or (trips.varying and any(other.long for other in written.values())):
            break
        if trips.long and (max(copies) > 1 or _stays(trips, not inside, statements)):
            break
        written[loop] = trips
    return written


def _stays(trips: LoopTrips, innermost: bool, statements: Sequence[Statement]) -> bool:
    """Whether a compiler keeps a long loop, as it has many steps, has idle lanes in some groups, or clears memory."""
    clears = innermost and all(
        not statement.operations and all((a.space, a.direction) == ("private", "store") for a in statement.accesses)
        for statement in statements
    )
    edges = trips.by_group and any(_edge_lanes(statement.domain) for statement in statements)
    return trips.steps > GUARDED or clears or edges


def _trips(loop: str, inside: set[str], loops: set[str], statements: Sequence[Statement]) -> LoopTrips:
    trips = [
        _trips_of(without(domain, (inside | set(written_out(domain, loops))) - {loop}), loop)
        for domain in domains_of(statements) if loop in domain.names
    ]  # fmt: skip
    if not all(each.numbers for each in trips):
        return LoopTrips(frozenset())
    return LoopTrips(frozenset().union(*(each.numbers for each in trips)), any(each.by_group for each in trips))


def _trips_of(domain: Domain, loop: str) -> LoopTrips:
    points, position = domain.points, domain.names.index(loop)
    low, high = bounds(points, position)
    if low is None or high is None:
        return LoopTrips(frozenset())
    most = high - low + 1
    if takes_each(points, position, low, high):
        return LoopTrips(frozenset({most}))
    if most > WRITTEN:  # isl would list all of them
        return LoopTrips(frozenset())
    inames = zip(domain.names, domain.axes, strict=True)
    by_groups = without(domain, {name for name, axis in inames if name != loop and not axis.startswith("g")})
    by_group = _greatest(by_groups.points, by_groups.names.index(loop)) != {high}
    if _greatest(points.neg(), position) != {-low}:
        return LoopTrips(frozenset({1, most}), by_group)
    return LoopTrips(frozenset(end - low + 1 for end in _greatest(points, position)), by_group)


def takes_each(points: isl.Set, position: int, low: int | None, high: int | None) -> bool:
    """Return whether a dimension has each value from a least to a greatest one, for all values of the others."""
    line = points.project_out(SET, position, 1).insert_dims(SET, position, 1)
    if low is not None:
        line = line.lower_bound_val(SET, position, isl.Val(low))
    if high is not None:
        line = line.upper_bound_val(SET, position, isl.Val(high))
    return bool(line.is_subset(points))


def _greatest(points: isl.Set, position: int) -> set[int]:
    """Return the greatest values of a dimension, over the values of the others."""
    line = isl.Map.from_domain(points).add_dims(OUT, 1).equate(IN, position, OUT, 0).project_out(IN, position, 1)
    ends = line.lexmax().range()
    greatest: list[isl.Point] = []
    ends.project_out(PARAM, 0, ends.dim(PARAM)).foreach_point(greatest.append)
    return {point.get_coordinate_val(SET, 0).to_python() for point in greatest}


def _edge_lanes(domain: Domain) -> bool:
    """Return whether some groups leave lanes idle that work in others."""
    lanes = without(domain, {name for name, axis in zip(domain.names, domain.axes, strict=True) if not axis})
    axes = [k for k, axis in enumerate(lanes.axes) if axis.startswith("l")]
    return not all(takes_each(lanes.points, k, *bounds(lanes.points, k)) for k in axes)
