"""The nests of a program, with counts by work-items.

A :class:`Nest` has the statements in the same barrier interval, in the same loops and on the same lanes. Barriers
matter because a device that runs work-items one after the other loops over them in each barrier interval.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import prod

import islpy as isl

from perfmodel.counts.counters.executions import Cardinalities
from perfmodel.counts.flow.flow import Flow
from perfmodel.counts.flow.trips import Trips
from perfmodel.counts.nests.folded import Changes, Values
from perfmodel.counts.nests.nest import SET, Nest, NestAccess, NestChain, moving_address_of
from perfmodel.counts.program import program
from perfmodel.counts.program.program import Domain, Node, NodePath, Statement
from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.rows import OperationCount, total
from perfmodel.errors import CountError


@dataclass(frozen=True)
class Surroundings:
    """The loops and barriers around a schedule position; loops are sequential, by their inames, outermost first."""

    launch: int  # its position
    interval: int  # number of the barrier interval in the launch
    outer: tuple[str, ...]  # loops around the interval, which contain barriers
    inner: tuple[str, ...]  # loops inside the interval, without unrolled ones
    loop: NodePath  # the position of the innermost of these loops, or of the interval
    repeated: tuple[str, ...] = ()  # unrolled loops around an inner loop: the code has a copy of it for each value
    unrolled: tuple[str, ...] = field(default=(), compare=False)  # all unrolled loops around the position


def surroundings(schedule: tuple[Node, ...], unrolled: Container[str]) -> Mapping[tuple[int, NodePath], Surroundings]:
    """Return the surroundings of each schedule position of each launch, positions before a node included."""
    return {
        (launch, position): around
        for launch, device in enumerate(program.device_kernels(schedule))
        for position, around in _Intervals(launch, unrolled).block(device.body, (), ())
    }


@dataclass
class _Intervals:
    """Numbers the barrier intervals of one launch in the order of its schedule."""

    launch: int
    unrolled: Container[str]
    interval: int = 0

    def block(
        self, nodes: tuple[Node, ...], parent: NodePath, outer: tuple[str, ...]
    ) -> Iterator[tuple[NodePath, Surroundings]]:
        """Yield the positions of siblings with a barrier among or below them, or of a whole launch."""
        for k, node in enumerate(nodes):
            around = Surroundings(self.launch, self.interval, outer, (), parent)
            if isinstance(node, program.Wait):
                self.interval += 1
            elif isinstance(node, program.Loop) and program.has_barrier(node):
                yield (*parent, 2 * k - 1), around
                self.interval += 1
                yield from self.block(node.body, (*parent, 2 * k, node.iname), (*outer, node.iname))
                self.interval += 1
            else:
                yield from self.without_barriers((node,), k, parent, around)

    def without_barriers(
        self, nodes: tuple[Node, ...], first: int, parent: NodePath, around: Surroundings
    ) -> Iterator[tuple[NodePath, Surroundings]]:
        for k, node in enumerate(nodes, first):
            yield (*parent, 2 * k - 1), around
            yield (*parent, 2 * k), around
            if isinstance(node, program.Loop):
                below = (*parent, 2 * k, node.iname)
                if node.iname in self.unrolled:
                    inside = replace(around, unrolled=(*around.unrolled, node.iname))
                else:
                    inside = replace(around, inner=(*around.inner, node.iname), repeated=around.unrolled, loop=below)
                yield from self.without_barriers(node.body, 0, below, inside)


def rolled(statements: Sequence[Statement], around: Surroundings) -> list[Domain]:
    """Return the domains of statements without the inames of loops that the code unrolls inside the innermost loop."""
    loops = {*around.outer, *around.inner, *around.repeated}
    return [without(domain, written_out(domain, loops)) for domain in domains_of(statements)]


def domains_of(statements: Sequence[Statement]) -> list[Domain]:
    """Return the different domains of statements."""
    return list(dict.fromkeys(statement.domain for statement in statements))


def written_out(domain: Domain, loops: Container[str]) -> tuple[str, ...]:
    """Return the inames of loops that the generated code unrolls."""
    inames = zip(domain.names, domain.axes, strict=True)
    return tuple(name for name, axis in inames if not axis and name not in loops)


def copies_of(domain: Domain, loops: Container[str]) -> dict[str, int]:
    """Return the inames of unrolled loops, with their numbers of values."""
    return {name: values_of(domain, name) for name in written_out(domain, loops)}


def values_of(domain: Domain, name: str) -> int:
    """Return how many values an iname takes, 1 if nothing bounds them."""
    low, high = bounds(domain.points, domain.names.index(name))
    return 1 if low is None or high is None else high - low + 1


def bounds(points: isl.Set, position: int) -> tuple[int | None, int | None]:
    """Return the least and the greatest value of a dimension of a set; None for a bound that does not exist."""
    low, high = points.dim_min_val(position), points.dim_max_val(position)
    return (low.to_python() if low.is_int() else None), (high.to_python() if high.is_int() else None)


def without(domain: Domain, names: Container[str]) -> Domain:
    """Return the instances of a domain without some of its inames."""
    points = domain.points
    for k in reversed(range(len(domain.names))):
        if domain.names[k] in names:
            points = points.project_out(SET, k, 1)
    axes = tuple(axis for axis, name in zip(domain.axes, domain.names, strict=True) if name not in names)
    means = tuple((name, mean) for name, mean in domain.means if name not in names)
    trips = prod((mean for _, mean in means), start=Fraction(1)) if means else None
    trips = trips if domain.means else domain.trips
    return replace(domain, points=points.coalesce(), axes=axes, trips=trips, means=means)


def union_of(domains: Sequence[Domain]) -> Domain:
    """Return the union of the domains with the most inames, with the largest probability of these domains."""
    whole = max(domains, key=lambda domain: (len(domain.names), domain.factor))
    for domain in domains:
        if domain.names == whole.names and domain is not whole and not domain.points.is_subset(whole.points):
            exact = domain.exact and whole.exact
            whole = replace(whole, points=whole.points.union(domain.points).coalesce(), exact=exact)
    return whole


def line_of(points: isl.Set, position: int) -> isl.Set:
    """Return the values of one dimension of a set."""
    return points.project_out(SET, position + 1, points.dim(SET) - position - 1).project_out(SET, 0, position)


#: By type and kind: how many operations are made at each point of a domain without some of its inames.
Executions = defaultdict[tuple[str, str], Counter[tuple[Domain, frozenset[str]]]]


def generated(statements: Iterable[Statement]) -> Executions:
    """Return the operations of the generated code."""
    executions = Executions(Counter)
    for statement in statements:
        for operation in statement.operations:
            executions[operation.dtype, operation.kind][statement.domain, frozenset()] += operation.amount
    return executions


def compiled(
    statements: Iterable[Statement], around: Surroundings, loops: Sequence[str], changes: Changes
) -> Executions:
    """Return the operations of a nest that remain after compilation, which unrolls all inner loops but ``loops``."""
    executions = Executions(Counter)
    for operation in Values(changes).left(statements):
        copies = written_out(operation.domain, {*around.outer, *around.repeated, *loops})
        unneeded = changes.unneeded(operation, loops, copies)
        for kind, amount in operation.amounts:
            executions[operation.dtype, kind][operation.domain, unneeded] += amount
    return executions


def counted(
    executions: Executions, cardinalities: Cardinalities, granularity: str = "workitem"
) -> tuple[OperationCount, ...]:
    """Return operations by type and kind."""
    def count(domain: Domain, unneeded: frozenset[str]) -> Count:
        return cardinalities.count(without(domain, unneeded) if unneeded else domain, granularity)

    return tuple(
        OperationCount(*kind, total((amount * count(*where) for where, amount in parts.items()), granularity))
        for kind, parts in sorted(executions.items())
    )


def compiled_table(flow: Flow) -> tuple[OperationCount, ...] | None:
    """Return the remaining operations of all nests; None if all remain."""
    nests, executions = NestTable(flow), Executions(Counter)
    for (around, _), statements in nests.statements.items():
        for kind, parts in compiled(statements, around, around.inner, nests.changes).items():
            executions[kind].update(parts)
    if executions == generated(statement for statements in nests.statements.values() for statement in statements):
        return None
    return counted(executions, flow.cardinalities)


class NestTable:
    """The statements of each nest of a kernel, for tables of nests by work-items and by sub-groups."""

    def __init__(self, flow: Flow) -> None:
        self.flow, self.cardinalities, self.program = flow, flow.cardinalities, flow.cardinalities.program
        self.changes = Changes(self.program)
        around = surroundings(self.program.schedule, flow.dataflow.unrolled)
        nests: dict[tuple[Surroundings, tuple[str, ...]], list[Statement]] = defaultdict(list)
        for statement in self.program.statements:
            domain = statement.domain
            lanes = tuple(sorted(axis for axis in domain.axes if axis.startswith("l")))
            nests[around[domain.launch, statement.place], lanes].append(statement)
        #: the statements of each nest by its surroundings and the axes of its lanes, in the order of the schedule
        self.statements = dict(sorted(nests.items(), key=lambda item: (item[0][0].launch, item[0][0].interval)))

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """Large sizes, at which counts and addresses are compared."""
        return Trips(self.cardinalities).sizes


def nests_of(flow: Flow) -> tuple[Nest, ...]:
    """Return the nests of a kernel, in the order of the schedule."""
    nests = _Nests(flow)
    return tuple(nests.nest(around, statements) for (around, _), statements in nests.statements.items())


class _Nests(NestTable):
    def nest(self, around: Surroundings, statements: list[Statement]) -> Nest:
        count, turns = self.cardinalities.count, rolled(statements, around)
        together = union_of(turns)
        iterations = count(together)
        inside = [around.inner[k:] for k in range(len(around.inner))]
        entered = tuple(count(union_of([without(domain, loops) for domain in turns])) for loops in inside)
        by_data = any(around.inner[-1] in dict(domain.means) for domain in turns) if around.inner else True
        return Nest(
            launch=self.program.launches[around.launch].name,
            interval=around.interval, outer=around.outer, inner=around.inner,
            iterations=iterations, box=self._box(together), entered=entered,
            trips=None if by_data else self._trips(iterations, entered[-1]),
            executions=count(union_of(domains_of(statements))),
            operations=counted(generated(statements), self.cardinalities),
            compiled=counted(compiled(statements, around, around.inner, self.changes), self.cardinalities),
            accesses=tuple(self._access(a, s.domain, around) for s in statements for a in s.accesses),
            kept=self._kept(statements, around.interval), chains=tuple(self._chains(around, iterations)),
        )

    def _access(self, access: program.Access, domain: Domain, around: Surroundings) -> NestAccess:
        return NestAccess(
            access.space, access.direction, access.array, access.bits, self.cardinalities.count(domain),
            moving_address_of(access, domain), access.lane_stride, copies_of(domain, {*around.outer, *around.inner}),
        )  # fmt: skip

    def _trips(self, iterations: Count, entries: Count) -> int | None:
        """Return the iterations for each entry, if they are one integer at all sizes."""
        entered = float(entries(**self.sizes))
        ratio = float(iterations(**self.sizes)) / entered if entered else 0.0
        with suppress(CountError):  # no formulas within the budget
            if ratio == int(ratio) and iterations == int(ratio) * entries:
                return int(ratio)
        return None

    def _box(self, domain: Domain) -> Count:
        """Return the work-items of the launch times the values of each loop between its bounds."""
        box = isl.Set("{ [] }")
        loops = [k for k, axis in enumerate(domain.axes) if not axis]
        for k in loops:
            box = box.flat_product(isl.Set.from_basic_set(line_of(domain.points, k).simple_hull()))
        # a domain without hardware axes is repeated by every work-item
        return self.cardinalities.count(replace(domain, points=box, axes=("",) * len(loops), exact=True))

    @cached_property
    def _intervals(self) -> dict[str, set[int]]:
        """The barrier intervals, of all launches, in which each private variable is read or written."""
        intervals: dict[str, set[int]] = defaultdict(set)
        for (around, _), statements in self.statements.items():
            for statement in statements:
                for variable, _ in self._touched(statement):
                    intervals[variable].add(around.interval)
        return intervals

    @cached_property
    def _private(self) -> frozenset[str]:
        steps = self.flow.dataflow.steps
        return frozenset(w.variable for step in steps for w in step.writes if w.space == "private")

    def _touched(self, statement: Statement) -> Iterator[tuple[str, str]]:
        """Yield the private variables that a statement loads and stores."""
        step = self.flow.dataflow.by_name.get(statement.instruction)
        if step is not None:
            yield from ((each.variable, "load") for each in step.reads if each.variable in self._private)
            yield from ((each.variable, "store") for each in step.writes if each.space == "private")

    def _kept(self, statements: Sequence[Statement], interval: int) -> Count:
        touched: dict[tuple[str, str], list[Count]] = defaultdict(list)
        for statement in statements:
            for variable, direction in dict.fromkeys(self._touched(statement)):
                if self._intervals[variable] != {interval}:
                    touched[variable, direction].append(self.cardinalities.count(statement.domain))
        # for each variable, the count that is largest at large sizes
        return total(max(counts, key=lambda count: float(count(**self.sizes))) for counts in touched.values())

    def _chains(self, around: Surroundings, iterations: Count) -> Iterator[NestChain]:
        recurrences = self.flow.recurrences if around.inner else ()
        for recurrence in recurrences:
            if recurrence.loop == around.inner[-1]:
                amounts = Counter[program.OpKind]()
                for (kind, _), amount in recurrence.terms:
                    amounts[kind] += amount
                loads = sum(amounts[space, "load"] for space in program.SHARED)
                operations = tuple(
                    OperationCount(*kind, amount * iterations) for kind, amount in amounts.items()
                    if kind[0] not in program.SHARED
                )  # fmt: skip
                loops = sorted({other.loop for other in recurrences if other.variable == recurrence.variable})
                yield NestChain(operations, loads, recurrence.chains, tuple(loops))
