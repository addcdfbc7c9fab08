"""Makes the table of nests of a program.

A launch is divided into stretches without barriers, these into nests of sequential loops; each nest gets its
statements and their domains.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from perfmodel.counts.counters.cardinality import Cardinalities
from perfmodel.counts.flow.flow import Flow
from perfmodel.counts.flow.graph import Recurrence
from perfmodel.counts.flow.trips import Trips
from perfmodel.counts.nests.nest import Nest, NestAccess, NestChain, address_of
from perfmodel.counts.program.program import (
    SHARED,
    Act,
    Domain,
    Loop,
    Node,
    Place,
    Statement,
    Wait,
    device_kernels,
    has_barrier,
)
from perfmodel.counts.program.serialisation import statements_with_places
from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.rows import OperationCount, total
from perfmodel.lazy import Lazy, cached_property


@dataclass(frozen=True)
class Surroundings:
    """What stands around a place of the schedule.

    Attributes
    ----------
    launch : int
        Position of the launch.
    stretch : int
        Number of the part of the launch between two barriers, in the order of the schedule.
    outer : tuple of str
        Sequential loops around the stretch, which therefore contain barriers.
    inner : tuple of str
        Sequential loops inside the stretch, outermost first; loops that are unrolled are left out.
    loop : Place
        The place of the innermost of these loops; that of the stretch if there is none.
    repeated : tuple of str
        Unrolled loops around one of the inner loops, which the generated code therefore holds once for each value.
    """

    launch: int
    stretch: int
    outer: tuple[str, ...]
    inner: tuple[str, ...]
    loop: Place
    repeated: tuple[str, ...] = ()


def surroundings(schedule: tuple[Node, ...], unrolled: Container[str]) -> Mapping[tuple[int, Place], Surroundings]:
    """Return what stands around each place of each launch, those before a node included."""
    return {
        (launch, place): surroundings_at
        for launch, device in enumerate(device_kernels(schedule))
        for place, surroundings_at in _Division(launch, unrolled).block(device.body, (), ())
    }


@dataclass
class _Division:
    """Numbers the stretches of one launch while its schedule is walked."""

    launch: int
    unrolled: Container[str]
    stretch: int = 0

    def block(
        self, nodes: tuple[Node, ...], around: Place, outer: tuple[str, ...]
    ) -> Iterator[tuple[Place, Surroundings]]:
        """Yield the places of siblings of which one is, or contains, a barrier, or of a whole launch."""
        for k, node in enumerate(nodes):
            place = (*around, 2 * k)
            if isinstance(node, Wait):
                self.stretch += 1
            elif isinstance(node, Loop) and has_barrier(node):
                yield self._at((*around, 2 * k - 1), _Loops(outer, (), (), (), around))
                self.stretch += 1
                yield from self.block(node.body, (*place, node.iname), (*outer, node.iname))
                self.stretch += 1
            else:
                yield from self.free((node,), k, around, _Loops(outer, (), (), (), around))

    def free(
        self, nodes: tuple[Node, ...], first: int, around: Place, loops: _Loops
    ) -> Iterator[tuple[Place, Surroundings]]:
        """Yield the places of siblings without barriers."""
        for k, node in enumerate(nodes, first):
            place = (*around, 2 * k)
            yield self._at((*around, 2 * k - 1), loops)
            yield self._at(place, loops)
            if isinstance(node, Loop):
                below = (*place, node.iname)
                inside = loops.unrolled(node.iname) if node.iname in self.unrolled else loops.run(node.iname, below)
                yield from self.free(node.body, 0, below, inside)

    def _at(self, place: Place, loops: _Loops) -> tuple[Place, Surroundings]:
        return place, Surroundings(
            self.launch, self.stretch, loops.outer, loops.inner, loops.innermost, loops.repeated
        )


@dataclass(frozen=True)
class _Loops:
    """The loops around a place: as in :class:`Surroundings`, and the unrolled ones that are met on the way."""

    outer: tuple[str, ...]
    inner: tuple[str, ...]
    repeated: tuple[str, ...]
    written_out: tuple[str, ...]
    innermost: Place

    def run(self, iname: str, below: Place) -> _Loops:
        """Return the loops inside of a sequential loop."""
        return replace(self, inner=(*self.inner, iname), repeated=self.written_out, innermost=below)

    def unrolled(self, iname: str) -> _Loops:
        """Return the loops inside of an unrolled loop."""
        return replace(self, written_out=(*self.written_out, iname))


SET = isl.dim_type.set
Key = tuple[Surroundings, tuple[str, ...]]  #: what is around a nest, and the axes of its lanes


def statements_by_nest(flow: Flow) -> dict[Key, list[Statement]]:
    """Return the statements of each nest, in the order of the schedule.

    Raises
    ------
    PlacesUnknownError
        The kernel was stored before places were recorded.
    """
    program = flow.cardinalities.program
    places = surroundings(program.schedule, flow.dataflow.unrolled)
    nests: dict[Key, list[Statement]] = defaultdict(list)
    for statement in statements_with_places(program):
        domain = statement.domain
        lanes = tuple(sorted(axis for axis in domain.axes if axis.startswith("l")))
        nests[places[domain.launch, statement.place], lanes].append(statement)
    return dict(sorted(nests.items(), key=lambda item: (item[0][0].launch, item[0][0].stretch)))


def rolled(domain: Domain, around: Surroundings) -> Domain:
    """Return a domain without the inames of loops that the generated code writes out inside of the innermost loop."""
    return without(domain, copied(domain, {*around.outer, *around.inner, *around.repeated}))


def copied(domain: Domain, loops: Container[str]) -> tuple[str, ...]:
    """Return the inames of loops that the generated code writes out."""
    inames = zip(domain.names, domain.axes, strict=True)
    return tuple(name for name, axis in inames if not axis and name not in loops)


def copies(domain: Domain, around: Surroundings) -> dict[str, int]:
    """Return the inames of loops that the generated code writes out, each with its number of values at most."""
    values = {}
    for name in copied(domain, {*around.outer, *around.inner}):
        place = domain.names.index(name)
        low, high = domain.points.dim_min_val(place), domain.points.dim_max_val(place)
        values[name] = high.to_python() - low.to_python() + 1 if low.is_int() and high.is_int() else 1
    return values


def without(domain: Domain, names: Container[str]) -> Domain:
    """Return the instances of a domain without some of its inames."""
    points = domain.points
    for k in reversed(range(len(domain.names))):
        if domain.names[k] in names:
            points = points.project_out(SET, k, 1)
    axes = tuple(axis for axis, name in zip(domain.axes, domain.names, strict=True) if name not in names)
    return replace(domain, points=points.coalesce(), axes=axes)


def union_of(domains: Sequence[Domain]) -> Domain:
    """Return the points in any of some domains of the same inames, or in the one of the most inames."""
    whole = max(domains, key=lambda domain: len(domain.names))
    for domain in domains:
        if domain.names == whole.names and domain is not whole and not domain.points.is_subset(whole.points):
            exact = domain.exact and whole.exact
            whole = replace(whole, points=whole.points.union(domain.points).coalesce(), exact=exact)
    return whole


def nests_of(flow: Flow) -> tuple[Nest, ...]:
    """Return the nests of a kernel, in the order of the schedule.

    Raises
    ------
    PlacesUnknownError
        The kernel was stored before places were recorded.
    """
    return _Nests(flow.cardinalities, flow).table()


@dataclass(frozen=True)
class _Nests(Lazy):
    cardinalities: Cardinalities
    flow: Flow

    def table(self) -> tuple[Nest, ...]:
        return tuple(self._nest(around, lanes, statements) for (around, lanes), statements in self.groups.items())

    @cached_property
    def groups(self) -> dict[Key, list[Statement]]:
        """The statements of each nest."""
        return statements_by_nest(self.flow)

    def _nest(self, around: Surroundings, lanes: tuple[str, ...], statements: list[Statement]) -> Nest:
        domains = list(dict.fromkeys(statement.domain for statement in statements))
        turns = [rolled(domain, around) for domain in domains]
        entered = self._entered(turns, around.inner)
        counts = {domain: self.cardinalities.count(domain) for domain in domains}
        iterations, box = self._union(turns), self._box(turns)
        return Nest(
            launch=self.cardinalities.program.launches[around.launch].name,
            stretch=around.stretch, outer=around.outer, inner=around.inner, lanes=lanes,
            iterations=iterations, box=box, entered=entered,
            trips=self._trips(iterations, entered[-1]) if entered else None,
            executions=self._union(domains),
            operations=_operations(statements, counts),
            accesses=tuple(
                NestAccess(
                    a.space, a.direction, a.array, a.dtype, a.bits, counts[s.domain], address_of(a, s.domain),
                    a.lane_stride, copies(s.domain, around),
                )
                for s in statements for a in s.accesses
            ),
            kept=self._kept(statements, around.stretch, counts),
            chains=tuple(self._chains(around, turns)),
        )

    def _entered(self, turns: Sequence[Domain], inner: tuple[str, ...]) -> tuple[Count, ...]:
        """Return how often each of the inner loops is entered, outermost first."""
        inside = [inner[k:] for k in range(len(inner))]
        return tuple(self._union([without(domain, loops) for domain in turns]) for loops in inside)

    def _union(self, domains: Sequence[Domain]) -> Count:
        """Return the number of points in any of some domains of the same inames, or the largest of the numbers."""
        return self.cardinalities.count(union_of(domains))

    def _trips(self, iterations: Count, entries: Count) -> int | None:
        """Return the iterations for each entry, if they are one whole number at all sizes."""
        entered = float(entries(**self._sizes))
        ratio = float(iterations(**self._sizes)) / entered if entered else 0.0
        return int(ratio) if ratio == int(ratio) and iterations == int(ratio) * entries else None

    def _box(self, domains: Sequence[Domain]) -> Count:
        """Return the work-items of the launch times the values of each loop between its bounds."""
        domain = max(domains, key=lambda domain: len(domain.names))
        box = isl.Set("{ [] }")
        loops = [k for k, axis in enumerate(domain.axes) if not axis]
        for k in loops:
            line = domain.points.project_out(SET, k + 1, len(domain.axes) - k - 1).project_out(SET, 0, k)
            box = box.flat_product(isl.Set.from_basic_set(line.simple_hull()))
        # a domain without hardware axes is repeated by every work-item
        return self.cardinalities.count(replace(domain, points=box, axes=("",) * len(loops), exact=True))

    def _most(self, counts: Sequence[Count]) -> Count:
        """Return the count that is largest at large sizes."""
        return max(counts, key=lambda count: float(count(**self._sizes)))

    @cached_property
    def _sizes(self) -> Mapping[str, int]:
        return Trips(self.cardinalities).sizes

    @cached_property
    def _stretches(self) -> dict[str, set[int]]:
        """The stretches, of all launches, in which each private variable is touched."""
        stretches: dict[str, set[int]] = defaultdict(set)
        for (around, _), statements in self.groups.items():
            for statement in statements:
                for variable, _ in self._touched(statement):
                    stretches[variable].add(around.stretch)
        return stretches

    def _touched(self, statement: Statement) -> Iterator[tuple[str, str]]:
        """Yield the private variables of a statement, each with the direction in which it is touched."""
        step = self.flow.dataflow.by_name.get(statement.instruction)
        for reading in step.readings if step is not None else ():
            if reading.variable in self._private:
                yield reading.variable, "load"
        for writing in step.writings if step is not None else ():
            if writing.space == "private":
                yield writing.variable, "store"

    @cached_property
    def _private(self) -> frozenset[str]:
        steps = self.flow.dataflow.steps
        return frozenset(w.variable for step in steps for w in step.writings if w.space == "private")

    def _kept(self, statements: Sequence[Statement], stretch: int, counts: Mapping[Domain, Count]) -> Count:
        touched: dict[tuple[str, str], list[Count]] = defaultdict(list)
        for statement in statements:
            for variable, direction in set(self._touched(statement)):
                if self._stretches[variable] != {stretch}:
                    touched[variable, direction].append(counts[statement.domain])
        return total(self._most(counts_of_variable) for counts_of_variable in touched.values())

    def _chains(self, around: Surroundings, turns: Sequence[Domain]) -> Iterator[NestChain]:
        if around.inner:
            for recurrence in self.flow.graph.recurrences:
                if recurrence.loop == around.inner[-1]:
                    loops = self._carriers[recurrence.variable]
                    yield NestChain(
                        recurrence.variable, self._operations_of(recurrence, turns), recurrence.chains, loops
                    )

    @cached_property
    def _carriers(self) -> dict[str, tuple[str, ...]]:
        """The loops that carry each variable."""
        carriers: dict[str, set[str]] = defaultdict(set)
        for recurrence in self.flow.graph.recurrences:
            carriers[recurrence.variable].add(recurrence.loop)
        return {variable: tuple(sorted(loops)) for variable, loops in carriers.items()}

    def _operations_of(self, recurrence: Recurrence, turns: Sequence[Domain]) -> tuple[OperationCount, ...]:
        iterations = self._union(turns)
        amounts: dict[Act, int] = defaultdict(int)
        for (act, _), amount in recurrence.acts:
            if act[0] not in SHARED:
                amounts[act] += amount
        return tuple(OperationCount(*act, amount * iterations) for act, amount in amounts.items())


def _operations(statements: Iterable[Statement], counts: Mapping[Domain, Count]) -> tuple[OperationCount, ...]:
    parts: dict[tuple[str, str], list[Count]] = defaultdict(list)
    for statement in statements:
        for operation in statement.operations:
            parts[operation.dtype, operation.kind].append(operation.amount * counts[statement.domain])
    return tuple(OperationCount(*key, total(parts[key])) for key in sorted(parts))
