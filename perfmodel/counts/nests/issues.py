"""The nests of a program, with counts by sub-groups of the code that a GPU's compiler makes.

Input: the dataflow of a program. Output: one :class:`Issue` for each nest.

The compiler unrolls short loops (:mod:`~perfmodel.counts.nests.unrolling`). It then knows which addresses of a register
tile are equal, and accesses these once, and keeps private arrays with constant indices in registers. A private array
that a remaining loop indexes is in memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import takewhile

import numpy as np

from perfmodel.counts.flow.flow import Flow
from perfmodel.counts.nests.digits import Digits, address_by_digits, hardware_place_values
from perfmodel.counts.nests.nest import NO_BYTES, PARAM, Address, Issue, IssuedAccess, Move, PrivateAccess, address_of
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
from perfmodel.counts.nests.unrolling import LoopTrips, takes_each, written_loops
from perfmodel.counts.program.program import Access, Domain, Statement
from perfmodel.counts.quasipoly.count import Count

FAR = 2**40  # bytes: more than between any two addresses of an array


def issues_of(flow: Flow) -> tuple[Issue, ...]:
    """Return what the sub-groups of a kernel issue in each nest, in the order of the schedule."""
    issues = _Issues(flow)
    return tuple(issues.issue(around, statements) for (around, _), statements in issues.statements.items())


class _Issues(NestTable):
    """Makes the nests by sub-groups."""

    def count(self, domain: Domain) -> Count:
        return self.cardinalities.count(domain, "subgroup")

    def issue(self, around: Surroundings, statements: list[Statement]) -> Issue:
        """Return what sub-groups issue in a nest."""
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
        """Return the tests of unrolled loops of varying trips: one for each iteration of the innermost of them."""
        inside = set(takewhile(lambda loop: not written[loop].varying, written))
        if len(inside) == len(written):
            return Count.constant(0)
        return self.count(union_of([without(d, inside | set(written_out(d, loops))) for d in domains_of(statements)]))

    # {{{ accesses

    def _issued(
        self, domain: Domain, access: Access, loops: tuple[str, ...], copied: Mapping[str, int]
    ) -> IssuedAccess:
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
        """Return the place values of an iname's digits; only 1 if parameters bound the iname."""
        axis = domain.axes[domain.names.index(name)]
        units = () if domain.points.dim(PARAM) else self._place_values.get((domain.launch, axis), ())
        items = 0  # a group id may end within a digit, a local id may not
        if axis.startswith("l"):
            items = self.cardinalities.program.launches[domain.launch].group_shape[int(axis.partition(".")[2])]
        values = values_of(domain, name)
        return (1, *(unit for unit in units if unit < values and items % unit == 0))

    def _number(self, domain: Domain, name: str) -> Count:
        values = line_of(domain.points, domain.names.index(name))
        return self.cardinalities.wrap(self.cardinalities.size(values), granularity="value")

    def _guarded(self, domain: Domain) -> bool:
        if domain not in self._guards:
            number = self.cardinalities.wrap(self.cardinalities.size(domain.points))
            box = Count.constant(1)
            for name in domain.names:
                box = box.times(self._number(domain, name))
            self._guards[domain] = bool(number.unexpanded) or number != box
        return self._guards[domain]

    @staticmethod
    def _tested(domain: Domain, name: str) -> bool:
        """Return whether a test depends on an iname: it excludes some values in some cases only."""
        position = domain.names.index(name)
        return not takes_each(domain.points, position, *bounds(domain.points, position))

    @cached_property
    def _guards(self) -> dict[Domain, bool]:
        return {}

    def _deduplicated(self, accesses: Sequence[IssuedAccess]) -> Iterator[IssuedAccess]:
        """Yield the accesses with the share of executions that remains if equal addresses are accessed once."""
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
        """Return the start addresses of the copies of an access; copies behind different tests get distant ones."""
        offsets, distance = np.array([int(access.start(**self.sizes))]), FAR
        for move in access.moves:
            if move.written:
                step, values = (int(count(**self.sizes)) for count in (move.step, move.values))
                offsets = (offsets[:, None] + (step + distance * move.tested) * np.arange(values)).ravel()
                distance *= values if move.tested else 1
        return offsets

    # }}}

    @cached_property
    def _place_values(self) -> Mapping[tuple[int, str], tuple[int, ...]]:
        return hardware_place_values(statement for statements in self.statements.values() for statement in statements)

    def _by_digits(self, access: Access, domain: Domain) -> tuple[Address | None, Mapping[str, Digits]]:
        lows = (bounds(domain.points, k)[0] for k in range(len(domain.names)))
        return address_by_digits(
            access, domain, [0 if low is None else low for low in lows],
            [values_of(domain, name) for name in domain.names], [self._units(domain, name) for name in domain.names],
        )

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

        Data that registers do not hold is loaded again around statements of which the code has several copies.
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
