"""Makes the table of nests of a program."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from perfmodel.counts.counters.cardinality import Cardinalities
from perfmodel.counts.flow.flow import Flow
from perfmodel.counts.flow.graph import Recurrence
from perfmodel.counts.flow.trips import Trips
from perfmodel.counts.nests.address import address_of
from perfmodel.counts.nests.groups import SET, Key, copies, rolled, statements_by_nest, union_of, without
from perfmodel.counts.nests.nest import Nest, NestAccess, NestChain
from perfmodel.counts.nests.stretches import Surroundings
from perfmodel.counts.program.program import Domain, Statement
from perfmodel.counts.program.steps import SHARED, Act
from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.rows import OperationCount, total
from perfmodel.lazy import Lazy, cached_property


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
        domain = max(domains, key=lambda one: len(one.names))
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
        found: dict[str, set[int]] = defaultdict(set)
        for (around, _), statements in self.groups.items():
            for statement in statements:
                for variable, _ in self._touched(statement):
                    found[variable].add(around.stretch)
        return found

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
        return total(self._most(found) for found in touched.values())

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
        found: dict[str, set[str]] = defaultdict(set)
        for recurrence in self.flow.graph.recurrences:
            found[recurrence.variable].add(recurrence.loop)
        return {variable: tuple(sorted(loops)) for variable, loops in found.items()}

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
