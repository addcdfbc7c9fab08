"""The nests of a kernel, with counts by work-items.

A :class:`Nest` has the statements in the same barrier interval, in the same loops and on the same lanes. Barriers
matter because a device may run work-items one after another. Such a device loops over work-items in each barrier
interval.

A nest is counted as Loopy's code has it. Compilers change it, and two values show how. A CPU's compiler makes vectors
of work-items or of iterations (:class:`~perfmodel.quantities.bottleneck.compiled.CompiledNest`). A GPU's compiler
unrolls loops, and sub-groups issue the rest (:class:`~perfmodel.counts.nests.issues.IssuedNest`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import islpy as isl

from perfmodel.counts.counters.executions import Cardinalities
from perfmodel.counts.flow.flow import Flow, Recurrence
from perfmodel.counts.flow.trips import Trips
from perfmodel.counts.nests.addresses import Address, moving_address_of
from perfmodel.counts.nests.digits import place_values
from perfmodel.counts.nests.folded import Changes, Values
from perfmodel.counts.nests.loops import (
    Intervals,
    LoopTable,
    bounds,
    copies_of,
    line_of,
    only_in,
    takes_each,
    union_of,
    without,
    written_out,
)
from perfmodel.counts.program import program
from perfmodel.counts.program.program import Domain, LaneStride, Statement
from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.rows import OperationCount, total
from perfmodel.errors import CountError
from perfmodel.values import FrozenValue, cached_method

FIRST_LANES = "l.0"  # the local axis whose work-items are lanes next to each other
#: By type and kind: how many operations are made at each point of a domain without some of its inames.
Executions = defaultdict[tuple[str, str], Counter[tuple[Domain, frozenset[str]]]]
BRANCHES = ("select", "switch")  # kinds of decisions that are behind a branch if they are behind a test
CHEAP = frozenset({"add", "mul", "minmax", "shift", "bitwise", "fabs"})  # kinds of operations
NestKey = tuple[LoopTable, tuple[str, ...]]  # loops, and the axes of the lanes


def counted(
    executions: Executions, cardinalities: Cardinalities, granularity: str = "workitem"
) -> tuple[OperationCount, ...]:
    def count(domain: Domain, unneeded: frozenset[str]) -> Count:
        return cardinalities.count(without(domain, unneeded) if unneeded else domain, granularity)

    return tuple(
        OperationCount(*kind, total((amount * count(*where) for where, amount in parts.items()), granularity))
        for kind, parts in sorted(executions.items())
    )


@dataclass(frozen=True, eq=False)
class NestAccess:
    """The accesses to an array by one expression of a nest."""

    space: str  # this and the next as in AccessCount
    direction: str
    array: str
    bits: int
    count: Count  # executions by work-items
    address: Address | None  # its address; None if the index depends on data or is not affine
    lanes: tuple[LaneStride, ...]  # distances between neighbouring lanes; empty if data decide
    copies: Mapping[str, int]  # the inames of loops that the generated code unrolls, each with its number of values
    unmasked: Count  # executions if no test depended on data
    guarded: bool  # whether a test decides which neighbouring lanes execute it
    widened: bool  # as in Access
    is_complex: bool

    def step(self, loop: str) -> Count | None:
        """Return the bytes between two iterations of a loop. 0 means that the access stays. None means unknown."""
        if self.address is None or (self.address.drifts and loop not in self.address.steps):
            return None
        return self.address.step(loop)


@dataclass(frozen=True, eq=False)
class Nest(FrozenValue):
    """Statements in the same barrier interval, in the same sequential loops and on the same lanes.

    The counts are by work-items, not by sub-groups. Each count is computed at its first use.
    """

    kernel: NestedKernel
    loops: LoopTable
    statements: tuple[Statement, ...]
    decisions: tuple[Statement, ...]  # comparisons, selects, atomic updates, and divisions in indices

    @cached_property
    def domains(self) -> tuple[Domain, ...]:
        return tuple(dict.fromkeys(statement.domain for statement in self.statements))

    def within(self, loops: Container[str]) -> list[Domain]:
        """Return the domains without the sequential loops other than ``loops``."""
        return [only_in(domain, loops) for domain in self.domains]

    def turns(self, loops: Container[str], granularity: str = "workitem") -> Count:
        """Return the number of (work-item, iteration) pairs of ``loops`` that execute a statement of the nest."""
        return self.kernel.cardinalities.count(union_of(self.within(loops)), granularity)

    @cached_property
    def iterations(self) -> Count:
        """The turns of all loops, summed over the copies that an unrolled loop around the inner loops makes."""
        return self.turns((*self.loops.names, *self.loops.repeated))

    @cached_property
    def box(self) -> Count:
        """The value of :attr:`iterations` if each work-item made all iterations of the box around the loops.

        The box is the product of the ranges of the loops. If a guard or a varying bound leaves out iterations, the box
        is larger than :attr:`iterations`.
        """
        domain, box = union_of(self.within((*self.loops.names, *self.loops.repeated))), isl.Set("{ [] }")
        domain = without(domain, {*domain.tied})  # the code has no loop over an iname that a work-item determines
        loops = [k for k, axis in enumerate(domain.axes) if not axis]
        for k in loops:
            box = box.flat_product(isl.Set.from_basic_set(line_of(domain.points, k).simple_hull()))
        # a domain without hardware axes is repeated by every work-item
        return self.kernel.cardinalities.count(replace(domain, points=box, axes=("",) * len(loops), exact=True))

    @cached_property
    def entered(self) -> tuple[Count, ...]:
        """The entries of each inner loop. An entry is a (work-item, iteration) pair of the loops around it."""
        loops, outer = self.loops, len(self.loops.outer)
        return tuple(self.turns((*loops.names[:k], *loops.repeated)) for k in range(outer, len(loops.names)))

    @property
    def entries(self) -> Count:
        """The entries of the innermost loop. Without an inner loop, these are :attr:`iterations`."""
        return self.entered[-1] if self.entered else self.iterations

    @cached_property
    def trips(self) -> int | None:
        """The iterations of the innermost loop per entry, or None unless all sizes and lanes have one number."""
        inner = self.loops.inner[-1:]
        if not inner or any(inner[0] in dict(domain.means) for domain in self.domains):
            return None
        entered = float(self.entries(**self.kernel.sizes))
        ratio = float(self.iterations(**self.kernel.sizes)) / entered if entered else 0.0
        with suppress(CountError):  # no formulas within the budget
            if ratio == int(ratio) and self.iterations == int(ratio) * self.entries:
                return int(ratio)
        return None

    @cached_property
    def guarded_axes(self) -> frozenset[str]:
        """The local axes along which a test or a varying bound may leave out work-items of a group.

        A compiler does not know the sizes. It keeps the test ``i < n`` of groups of 64 unless the assumptions make n a
        multiple of 64, also if n is a multiple at run time.
        """
        return frozenset().union(*map(self._guarded_axes, self.domains))

    @cached_method
    def _guarded_axes(self, domain: Domain) -> frozenset[str]:
        shape = self.kernel.program.launches[domain.launch].group_shape
        local = [(k, axis) for k, axis in enumerate(domain.axes) if axis.startswith("l")]
        return frozenset(axis for k, axis in local if not takes_each(domain.points, k, 0, shape[int(axis[2:])] - 1))

    @cached_property
    def guarded_cells(self) -> bool:
        """Whether a test or a varying bound may leave out private cells that copies of an unrolled loop compute."""
        private = (access.address for access in self.accesses if access.space == "private")
        moving = {name for address in private if address is not None for name in address.steps}
        inames = ((domain.points, domain.names.index(name)) for domain in self.domains
                  for name in written_out(domain, self.loops.names) if name in moving)  # fmt: skip
        return any(not takes_each(points, position, *bounds(points, position)) for points, position in inames)

    @cached_method
    def _without_chance(self, domain: Domain) -> Domain:
        """Return a domain as if each test that depends on data were true."""
        return domain if domain.chance == 1 else replace(domain, chance=Fraction(1))

    @cached_property
    def operations(self) -> tuple[OperationCount, ...]:
        """The operations that remain after compilation (:mod:`perfmodel.counts.nests.folded`)."""
        return counted(self.remaining(self.loops.inner), self.kernel.cardinalities)

    @cached_property
    def unmasked_operations(self) -> tuple[OperationCount, ...]:
        """The :attr:`operations` if no test depended on data. A vector computes all lanes, and masks what it stores."""
        return counted(self.remaining(self.loops.inner, unmasked=True), self.kernel.cardinalities)

    def decided(self, unmasked: bool) -> tuple[OperationCount, ...]:
        """Return the number of :attr:`decisions`; if ``unmasked``, as if no test depended on data."""
        executions = Executions(Counter)
        for statement in self.decisions:
            domain = self._without_chance(statement.domain) if unmasked else statement.domain
            for each in statement.operations:
                executions[each.dtype, each.kind][domain, frozenset()] += each.amount
        return counted(executions, self.kernel.cardinalities)

    @cached_property
    def unexpected(self) -> Count:
        """The branches that go the rarer way, of those that tests of data decide by their probabilities.

        The two arms of a select are one branch. An arm that has only :data:`CHEAP` operations, and loads only what is
        loaded without a test, is computed without one. A compiler makes a branch around a select in an arm.
        """
        places = [(owner.domain, _place(access)) for owner, access in self.owned_accesses]
        always = {place for domain, place in places if domain.chance == 1}
        domains = [domain for domain, place in places if place is not None and place not in always]
        domains += [each.domain for each in self.statements if not CHEAP.issuperset(o.kind for o in each.operations)]
        domains += [each.domain for each in self.decisions if any(o.kind in BRANCHES for o in each.operations)]
        branches = {}
        for domain in dict.fromkeys(domains):
            rarer = min(domain.chance, 1 - domain.chance)
            if rarer > 0:
                branches[self._without_chance(domain).points, rarer] = self._without_chance(domain)
        return total(rarer * self.kernel.cardinalities.count(domain) for (_, rarer), domain in branches.items())

    def remaining(self, loops: Sequence[str], unmasked: bool = False) -> Executions:
        """Return what remains after compilation, ``unmasked`` or not. All inner loops except ``loops`` are unrolled."""
        executions, changes = Executions(Counter), self.kernel.changes
        for operation in Values(changes).left(self.statements):
            copies = written_out(operation.domain, {*self.loops.outer, *self.loops.repeated, *loops})
            unneeded = changes.unneeded(operation, loops, copies)
            domain = self._without_chance(operation.domain) if unmasked else operation.domain
            for kind, amount in operation.amounts:
                executions[operation.dtype, kind][domain, unneeded] += amount
        return executions

    @cached_property
    def accesses(self) -> tuple[NestAccess, ...]:
        """The accesses, one for each expression."""
        return tuple(self._access(access, s.domain) for s in self.statements for access in s.accesses)

    @property
    def owned_accesses(self) -> Iterator[tuple[Statement, NestAccess]]:
        """The accesses, each with its statement."""
        owners = (statement for statement in self.statements for _ in statement.accesses)
        return zip(owners, self.accesses, strict=True)

    def _access(self, access: program.Access, domain: Domain) -> NestAccess:
        return NestAccess(
            access.space, access.direction, access.array, access.bits, self.kernel.cardinalities.count(domain),
            moving_address_of(access, domain), access.lane_stride, copies_of(domain, self.loops.names),
            self.kernel.cardinalities.count(self._without_chance(domain)),
            FIRST_LANES in self._guarded_axes(domain) or domain.chance != 1 or not domain.exact,
            access.widened, access.dtype.startswith("complex"),
        )  # fmt: skip

    @cached_property
    def kept(self) -> Count:
        """The loads and stores of private values that are live across a barrier.

        A device that runs work-items one after another keeps such values in memory.
        """
        touched: dict[tuple[str, str], list[Count]] = defaultdict(list)
        for statement in self.statements:
            for variable, direction in dict.fromkeys(self.kernel.touched.get(statement.instruction, ())):
                if self.kernel.intervals[variable] != {self.loops.interval}:
                    touched[variable, direction].append(self.kernel.cardinalities.count(statement.domain))
        # for each variable, the count that is largest at large sizes
        return total(max(counts, key=lambda count: float(count(**self.kernel.sizes))) for counts in touched.values())

    @cached_property
    def carried(self) -> tuple[Recurrence, ...]:
        """The variables that the innermost loop carries from one iteration to the next."""
        return tuple(each for each in self.kernel.flow.recurrences if each.loop in self.loops.inner[-1:])


def _place(access: NestAccess) -> object:
    """Return a value that is equal for loads from one address; None for private arrays."""
    if access.space not in program.SHARED:
        return None
    return access if access.address is None else (access.direction, access.array, access.address.text)


class NestedKernel:
    """The nests of a kernel, and the data that all nests share."""

    def __init__(self, flow: Flow) -> None:
        self.flow, self.cardinalities, self.program = flow, flow.cardinalities, flow.cardinalities.program
        self.changes = Changes(self.program)
        launches = enumerate(program.device_kernels(self.program.schedule))
        intervals = [Intervals(launch, device.body, flow.dataflow.unrolled) for launch, device in launches]
        nests, decided = defaultdict[NestKey, list[Statement]](list), defaultdict[NestKey, list[Statement]](list)
        for table, statements in ((nests, self.program.statements), (decided, self.program.decisions)):
            for statement in statements:
                domain = statement.domain
                lanes = tuple(sorted(axis for axis in domain.axes if axis.startswith("l")))
                table[intervals[domain.launch].loops(statement.place), lanes].append(statement)
        #: the statements of each nest by its loops and the axes of its lanes, in the order of the schedule
        self.statements = dict(sorted(nests.items(), key=lambda item: (item[0][0].launch, item[0][0].interval)))
        self.decided = decided  # the decisions in the same nests

    @property
    def nests(self) -> tuple[Nest, ...]:
        return tuple(Nest(self, key[0], tuple(each), tuple(self.decided[key])) for key, each in self.statements.items())

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """Large sizes. Counts and addresses are compared at these sizes."""
        return Trips(self.cardinalities).sizes

    @cached_property
    def place_values(self) -> Mapping[tuple[int, str], tuple[int, ...]]:
        """The place values above 1 of the digits of inames, by launch and by hardware axis or iname."""
        return place_values(self.program, factors=True)

    @cached_property
    def touched(self) -> Mapping[str, tuple[tuple[str, str], ...]]:
        """The private variables that each instruction loads and stores."""
        steps = self.flow.dataflow.steps
        private = {each.variable for step in steps for each in step.writes if each.space == "private"}
        return {step.name: (
            *((each.variable, "load") for each in step.reads if each.variable in private),
            *((each.variable, "store") for each in step.writes if each.space == "private"),
        ) for step in steps}  # fmt: skip

    @cached_property
    def intervals(self) -> Mapping[str, set[int]]:
        """The barrier intervals of all launches in which each private variable is read or written."""
        intervals: dict[str, set[int]] = defaultdict(set)
        for (loops, _), statements in self.statements.items():
            for statement in statements:
                for variable, _ in self.touched.get(statement.instruction, ()):
                    intervals[variable].add(loops.interval)
        return intervals

    def compiled_table(self) -> tuple[OperationCount, ...] | None:
        """Return the remaining operations of all nests, or None if all operations remain."""
        executions, generated = Executions(Counter), Executions(Counter)
        for nest in self.nests:
            for kind, parts in nest.remaining(nest.loops.inner).items():
                executions[kind].update(parts)
            for statement in nest.statements:
                for each in statement.operations:
                    generated[each.dtype, each.kind][statement.domain, frozenset()] += each.amount
        return None if executions == generated else counted(executions, self.cardinalities)
