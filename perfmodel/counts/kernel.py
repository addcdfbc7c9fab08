"""KernelCounts: all counts of one kernel, as a frozen value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, reduce
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from perfmodel import errors
from perfmodel.counts import rows
from perfmodel.counts.counters.banks import bank_conflicts
from perfmodel.counts.counters.executions import Cardinalities, GroupWork, active_work_items, group_works
from perfmodel.counts.counters.lines import UNITS, Footprint, Lines
from perfmodel.counts.flow.flow import Flow
from perfmodel.counts.nests.issues import IssuedNest
from perfmodel.counts.nests.nest import Nest, NestedKernel
from perfmodel.counts.program import program
from perfmodel.counts.program.program import DECISIONS, Access, Domain, Node, Program, Statistic
from perfmodel.counts.program.serialisation import read_program, write_program
from perfmodel.counts.quasipoly.arguments import whole
from perfmodel.counts.quasipoly.count import Count, Ratio, given
from perfmodel.counts.rows import AccessCount, BarrierCount, LaunchCount, LaunchShape, OperationCount, total
from perfmodel.counts.traffic.footprints import Cache
from perfmodel.counts.traffic.order import ORDERS
from perfmodel.counts.traffic.traffic import Traffic, TrafficPlan, traffic_plan
from perfmodel.display import DataFrame, columns_text, data_frame, html_table
from perfmodel.documents import Schema, digest_of, one_line, require
from perfmodel.values import FrozenValue, cached_method

if TYPE_CHECKING:
    from perfmodel.facts import DeviceFacts

_SCHEMA = Schema("perfmodel.counts/1", "count the kernel again")
OPTIONAL = ("offsets", "untouched", "statistic_keys")  # parts that a document omits if they are empty
ANY_INDEX = 1 << 62  # a span larger than any array


@dataclass(frozen=True, eq=False)
class KernelCounts(FrozenValue):
    """Symbolic counts of a kernel's operations, accesses, barriers and launches."""

    name: str
    parameters: tuple[str, ...]  #: The size parameters of counts and assumptions, sorted.
    assumptions: str  #: The sizes for which the counts hold, in isl's notation.
    subgroup_size: int  #: The number of work-items in a sub-group.
    launch: LaunchShape  #: The largest launch of the sequence.
    launch_table: tuple[LaunchCount, ...]
    operation_table: tuple[OperationCount, ...]
    access_table: tuple[AccessCount, ...]
    barrier_table: tuple[BarrierCount, ...]
    source: Program | Mapping[str, Any]  #: The counted program, as a value or as JSON (:attr:`program` is the value).
    budget: float = 1.0  #: The limit of the work for a formula, as given to :func:`perfmodel.count`.
    offsets: tuple[str, ...] = ()  #: Arguments that only give the offset of an array (default 0). They are not sizes.
    untouched: tuple[str, ...] = ()  #: Array arguments that are not accessed.
    #: Types of the size parameters whose arguments are not ``int32``.
    types: Mapping[str, str] = field(default_factory=dict)
    #: Keys of ``statistics`` that the counts use, or that would make the counts more exact.
    statistic_keys: tuple[str, ...] = ()

    @cached_property
    def program(self) -> Program:
        """The program with the counted domains, accesses and barriers."""
        if isinstance(self.source, Program):
            return self.source
        with rows.reading_counts():
            return read_program(self.source)

    @property
    def size_arguments(self) -> tuple[str, ...]:
        """The sorted size arguments of the kernel: :attr:`parameters`, and sizes that only give extents of arrays."""
        source = self.source
        return source.parameters if isinstance(source, Program) else tuple((source or {}).get("parameters", ()))

    @property
    def schedule(self) -> tuple[Node, ...]:
        """The schedule as a tree of ``DeviceKernel``, ``Loop``, ``Run`` and ``Wait`` nodes."""
        return self.program.schedule

    @property
    def access_maps(self) -> tuple[tuple[Domain, Access], ...]:
        """All accesses, each with its domain."""
        statements = self.program.statements
        return tuple((statement.domain, access) for statement in statements for access in statement.accesses)

    @cached_property
    def flow(self) -> Flow:
        """The dataflow of a work-item."""
        return Flow(self.program.dataflow, self._cardinalities)

    @cached_property
    def nests(self) -> tuple[Nest, ...]:
        """The loop nests. A nest has statements in one barrier interval, in the same loops and on the same lanes."""
        return NestedKernel(self.flow).nests

    @cached_property
    def compiled(self) -> KernelCounts:
        """The kernel with the operations that remain after compilation (:mod:`perfmodel.counts.nests.folded`)."""
        table = NestedKernel(self.flow).compiled_table() if _records_operands(self.source) else None
        if table is None:
            return self
        decisions = (row for row in self.operation_table if row.kind in DECISIONS)
        return replace(self, operation_table=tuple(sorted((*table, *decisions), key=lambda row: (row.dtype, row.kind))))

    @cached_property
    def gathered(self) -> tuple[str, ...]:
        """The sorted names of arrays with data-dependent indices for which ``statistics`` has no span."""
        if not any(row.indirect for row in self.access_table):  # the most frequent case by far
            return ()
        return tuple(sorted({access.array for _, access in self.access_maps if _is_of_unknown_span(access)}))

    @cached_property
    def unknown_tests(self) -> tuple[str, ...]:
        """The tests of data that count as always true, because ``statistics`` has no probability of them."""
        if not self.statistic_keys:  # JSON takes long to read
            return ()
        domains = (each.domain for each in (*self.program.statements, *self.program.decisions))
        return tuple(dict.fromkeys(test for domain in domains for test in domain.unknown_tests))

    @cached_property
    def own_functions(self) -> tuple[str, ...]:
        """The functions that the user defines in C. Their work is not counted."""
        kinds = {row.kind for row in self.operation_table}
        return tuple(sorted(kinds - program.ARITHMETIC - program.BUILT_IN - {*DECISIONS}))

    @property
    def most_local(self) -> KernelCounts:
        """The kernel with the best locality: indices into each of :attr:`gathered` have a span of 1."""
        return self._spanning(1)

    @property
    def least_local(self) -> KernelCounts:
        """The kernel with the worst locality: indices into each of :attr:`gathered` are random."""
        return self._spanning(ANY_INDEX)

    @cached_method
    def _spanning(self, indices: int) -> KernelCounts:
        if not self.gathered:
            return self
        span = program.IndexSpan(Fraction(indices), (0,))
        statements = tuple(replace(statement, accesses=tuple(
            replace(access, span=span) if _is_of_unknown_span(access) else access for access in statement.accesses
        )) for statement in self.program.statements)  # fmt: skip
        copy = replace(self, source=replace(self.program, statements=statements))
        vars(copy)["flow"] = replace(copy.flow, same_schedule=self.flow)  # a walk takes seconds for a large kernel
        return copy

    def outside(self, sizes: Mapping[str, Any]) -> tuple[tuple[str, float, float], ...]:
        """Return the statistics above their largest possible value at some sizes, as (key, value, limit)."""
        if not isinstance(self.source, Program) and "statistics" not in (self.source or {}):  # JSON takes long to read
            return ()
        found = []
        for statistic in self.program.statistics:
            most = float(np.min(self._largest(statistic).evaluate(sizes)))
            if float(statistic.value) > most:
                found.append((statistic.key, float(statistic.value), most))
        return tuple(found)

    @cached_method
    def _largest(self, statistic: Statistic) -> Count:
        numbers = [self._cardinalities.wrap(self._cardinalities.size(points)) for points in statistic.most]
        return reduce(Count.times, numbers)

    @cached_property
    def group_works(self) -> tuple[GroupWork | None, ...]:
        """The work of each launch's groups, or None if all groups do the same work or there is no formula."""
        return tuple(group_works(self._cardinalities))

    @cached_property
    def executions(self) -> tuple[Count, Count]:
        """The number of times that work-items, and sub-groups, execute an operation or a non-private access."""
        amounts: Counter[Domain] = Counter()
        for statement in self.program.statements:
            if statement.domain.trips is None:
                amounts[statement.domain] += sum(each.amount for each in statement.operations)
                amounts[statement.domain] += sum(access.space != "private" for access in statement.accesses)

        def executed(level: str) -> Count:
            count = self._cardinalities.count
            return total((times * count(domain, level) for domain, times in amounts.items() if times), level)

        return executed("workitem"), executed("subgroup")

    @cached_property
    def issues(self) -> tuple[IssuedNest, ...]:
        """The instructions that sub-groups issue in each nest: operations, accesses, loop iterations."""
        return tuple(map(IssuedNest, self.nests))

    @cached_property
    def decisions(self) -> Count:
        """The comparisons and selects by sub-groups, in all nests. Each is an instruction."""
        count, statements = self._cardinalities.count, self.program.decisions
        made = (each.amount * count(s.domain, "subgroup") for s in statements for each in s.operations
                if each.kind not in program.UNLISTED)  # fmt: skip
        return total(made, "subgroup")

    @cached_property
    def _cardinalities(self) -> Cardinalities:
        return Cardinalities(self.program, self.subgroup_size, self.budget)

    @cached_method
    def _footprint(self, array: str) -> Footprint:
        return Footprint(self._sites(array, None), self._cardinalities)

    def check_launch(self, facts: DeviceFacts) -> None:
        """Raise a KernelError if a work-group does not fit on a device. Only known facts of the device count."""
        needs = {
            "max_work_group_size": (prod(self.launch.group_shape), "work-items"),
            "local_memory_bytes": (self.launch.local_bytes, "bytes of local memory"),
        }
        for key, (needed, what) in needs.items():
            if key in facts and needed > facts.value(key):
                raise errors.KernelError(
                    f"a work-group of '{self.name}' needs {needed} {what}, and '{facts.name}' has {facts.value(key)}",
                    "make the work-groups smaller",
                )

    def operations(self, dtype: str | None = None, kind: str | None = None) -> Count:
        """Return the number of operations of a type and kind. By default all count, also comparisons and selects."""
        return total(row.count for row in self.operation_table if rows.matches(row, {"dtype": dtype, "kind": kind}))

    @cached_method
    def accesses(
        self, space: str | None = None, direction: str | None = None, array: str | None = None,
        dtype: str | None = None, bits: int | None = None, granularity: str = "workitem",
    ) -> Count:
        """Return the number of matching accesses by work-items, sub-groups or work-groups. By default all match."""
        _check_choice("granularity", granularity, rows.GRANULARITIES)
        if array is not None and array not in (*self._arrays(), *self.untouched):
            raise _unknown_array(array, self._arrays())
        wanted = {"space": space, "direction": direction, "array": array, "dtype": dtype, "bits": bits}
        if granularity == "workitem":
            return total(row.count for row in self.access_table if rows.matches(row, wanted))
        domains = Counter(domain for domain, access in self.access_maps if rows.matches(access, wanted))
        counts = (times * self._cardinalities.count(domain, granularity) for domain, times in domains.items())
        return total(counts, granularity)

    def footprint(self, array: str, direction: str | None = "load") -> Count:
        """Return the number of distinct cells of an array that loads or stores touch. None selects both directions."""
        for row in self.access_table:
            if row.array == array and direction in (row.direction, None) and row.footprint is not None:
                found = self.cells_together(row)[0] if direction is None else row.footprint
                if found is not None:
                    return found
        raise _unknown_array(array, self._arrays())

    def utilization(self, array: str, direction: str | None = "load") -> Ratio:
        """Return the utilisation: the touched cells, divided by these cells and the gaps along the unit-stride axis.

        The array's largest lane stride determines the gaps. A call of the result with sizes returns a Fraction.
        """
        cells = self.footprint(array, direction)
        matching = [row for row in self.access_table if rows.matches(row, {"array": array, "direction": direction})]
        filled = [row.filled if direction else self.cells_together(row)[1] for row in matching]
        return Ratio(cells, tuple(count for count in filled if count is not None) or (cells,))

    def cells_together(self, row: AccessCount) -> tuple[Count | None, Count | None]:
        """Return ``footprint`` and ``filled`` of a row of :attr:`access_table` for loads and stores together."""
        if row.footprint is None or len({twin.direction for twin in self.access_table if twin.array == row.array}) < 2:
            return row.footprint, row.filled
        footprint = self._footprint(row.array)
        return footprint.count, None if row.filled is None else footprint.filled_at(row.stride)

    def lines(
        self, array: str, line_bytes: int = 64, per: str = "workgroup", direction: str | None = None, **sizes: int
    ) -> Count:
        """Return the distinct cache lines of an array that are touched, summed over units.

        Parameters
        ----------
        line_bytes : int
            The size of a line.
        per : str
            The unit. ``"instance"`` is each execution of an access by a sub-group, so the lines are its transactions.
            For ``"subgroup"``, ``"workgroup"`` and ``"launch"``, all lines count that the unit touches in a launch.
        direction : str, optional
            ``"load"`` or ``"store"``. By default both count together.
        **sizes : int
            Values of the size parameters. With sizes, lines are counted as in memory. Without sizes, each row begins on
            a line unless strides are numbers. If the assumptions do not imply this, the count is an upper bound.
        """
        require(isinstance(line_bytes, (int, np.integer)) and line_bytes > 0, "lines: line_bytes", line_bytes,
                "an integer above 0")  # fmt: skip
        _check_choice("per", per, UNITS)
        signed = self._cardinalities.signed
        values = {name: whole(name, value, self.parameters, name in signed) for name, value in sizes.items()}
        return Lines(self._cardinalities, self._sites(array, direction), line_bytes, values).count(per)

    @cached_method
    def bank_conflicts(self, array: str, banks: int = 32, direction: str | None = None) -> Count:
        """Return the most distinct 4-byte words in one bank, summed over sub-group accesses to a local array."""
        whole_banks = isinstance(banks, (int, np.integer)) and banks > 0
        require(whole_banks, "bank_conflicts: banks", banks, "an integer above 0")
        return bank_conflicts(self._cardinalities, self._sites(array, direction), banks)

    def traffic(
        self, array: str | None = None, capacity: int = 32768, line_bytes: int = 64, sets: int = 0,
        order: str = "serial",
    ) -> Traffic:
        """Return a model of the lines that a cache fetches and writes back, as a function of the sizes.

        The model knows loops over groups, loops over work-items and the kernel's own loops. For each reference it finds
        the outermost loop L that keeps the reference's lines in the cache from one iteration to the next:

            lines = (lines that the references touch in L as a whole) * (executions of L)

        This is the layer condition of Stengel, Treibig, Hager and Wellein (2015), section 4, for one cache that all
        arrays share. The cache is empty at the start of a launch and replaces the least recently used line. Guards and
        varying loop bounds enter as mean extents. The function of the sizes returns
        :class:`~perfmodel.counts.traffic.traffic.MovedLines`.

        Parameters
        ----------
        array : str, optional
            The array. By default all arrays count together.
        capacity, line_bytes : int
            The sizes of the cache and of a line [B].
        sets : int
            The sets of the cache. Addresses with a distance of ``sets*line_bytes`` share a set. 0 is one set for all.
        order : str
            If ``"serial"``, the device runs the work-items of a group one after another. The loop over work-items is
            outside of all loops, or inside each loop if there are barriers. If ``"lockstep"``, all work-items along l.0
            run each instruction together. If ``"vectors"``, vectors of as many work-items as a sub-group run together,
            and the vectors along l.0 run one after another.
        """
        _check_choice("order", order, ORDERS)
        integers = all(isinstance(number, int) for number in (capacity, line_bytes, sets))
        if not integers or not 0 < line_bytes <= capacity or sets < 0 or (sets and capacity // line_bytes % sets):
            problem = f"a cache of {capacity} B with lines of {line_bytes} B and {sets} sets is not possible"
            advice = "give at least one line, and lines that are a multiple of the sets, or sets=0 for one set"
            raise errors.ArgumentError(problem, advice)
        plan = self._traffic_plan(order)
        if array is not None and array not in plan.arrays:
            raise _unknown_array(array, plan.arrays)
        return Traffic(plan, Cache(capacity // line_bytes, line_bytes, sets), array)

    @cached_method
    def _traffic_plan(self, order: str) -> TrafficPlan:
        return traffic_plan(self._cardinalities, order, self.subgroup_size, self.parameters)

    def idle_lanes(self) -> Count:
        """Return the number of lanes that have no work-item, or one that executes no operation and no access."""
        slots = (self.subgroup_size * self.sub_groups()).labelled("workitem")
        active = active_work_items(self._cardinalities)
        if active.exact:
            return slots + -1 * active
        return slots.labelled("workitem", exact=False, reasons=active.reasons)

    def depth(self) -> tuple[OperationCount, ...]:
        """Return the operations on the longest dependence chain of a work-item. Parallel inames count once."""
        chain = self.flow.depth.rows
        return tuple(OperationCount(row.where, row.kind, row.count) for row in chain if row.is_operation)

    def _sites(self, array: str, direction: str | None) -> list[tuple[Domain, Access]]:
        wanted = {"array": array, "direction": direction}
        sites = [(domain, access) for domain, access in self.access_maps if rows.matches(access, wanted)]
        if not sites:
            raise _unknown_array(array, self._arrays())
        return sites

    def barriers(self, scope: str = "local") -> Count:
        """Return the number of executed barriers. Each barrier counts once for every work-item, even if idle."""
        return total(row.count for row in self.barrier_table if row.scope == scope)

    def launches(self) -> Count:
        """Return the number of launches of device kernels."""
        return total((row.launches for row in self.launch_table), "launch")

    def work_groups(self) -> Count:
        """Return the number of work-groups that are started."""
        return total((row.work_groups for row in self.launch_table), "workgroup")

    def work_items(self) -> Count:
        """Return the number of work-items that are started. Idle work-items count too."""
        return self._in_groups(1, "workitem")

    def sub_groups(self) -> Count:
        """Return the number of sub-groups that are started. The last sub-group of a group may be partly filled."""
        return self._in_groups(self.subgroup_size, "subgroup")

    def _in_groups(self, size: int, granularity: str) -> Count:
        parts = (-(-prod(row.group_shape) // size) * row.work_groups for row in self.launch_table)
        return total((number.labelled(granularity) for number in parts), granularity)

    def _arrays(self) -> tuple[str, ...]:
        return tuple(sorted({row.array for row in self.access_table}))

    def __repr__(self) -> str:
        kinds = f"{len(self.operation_table)} kinds of operations, {len(self.access_table)} of accesses"
        return one_line(f"<KernelCounts {self._signature}: {kinds}, sub-groups of {self.subgroup_size}>")

    def __str__(self) -> str:
        title, note = self._title_and_note
        return "\n".join([title, columns_text(rows.text_rows(self), left=3), note])

    def _repr_html_(self) -> str:
        title, note = self._title_and_note
        return html_table(rows.text_rows(self), title, [note], left=3)

    @property
    def _title_and_note(self) -> tuple[str, str]:
        groups = "x".join(map(str, self.launch.group_shape)) or "1"
        note = f"{self.subgroup_size} work-items in a sub-group; assumed: {self.assumptions}."
        return f"{self._signature}, work-groups of {groups}", note

    @property
    def _signature(self) -> str:
        return f"{self.name}({', '.join(self.parameters)})"

    def to_frame(self, sizes: Mapping[str, int] | None = None, /, **more_sizes: int) -> DataFrame:
        """Return a pandas table with a row for each count. With all sizes, the table has a column ``value``."""
        at = {**(sizes or {}), **more_sizes}
        return data_frame(rows.records(self, at), (*rows.COLUMNS, "value") if at else rows.COLUMNS)

    def to_json(self) -> dict[str, Any]:
        """Return a dictionary for JSON, with the schema ``perfmodel.counts/1``."""
        source = self.source
        tables = {name: list(map(rows.write_row, getattr(self, name))) for name in rows.TABLES}
        return {
            "schema": _SCHEMA.text, "name": self.name, "parameters": list(self.parameters),
            "assumptions": self.assumptions, "subgroup_size": self.subgroup_size, "launch": rows.write_row(self.launch),
            **tables, "source": write_program(source) if isinstance(source, Program) else dict(source),
            **({} if self.budget == 1 else {"budget": self.budget}),
            **({"types": dict(self.types)} if self.types else {}),
            **{name: list(names) for name in OPTIONAL if (names := getattr(self, name))},
        }  # fmt: skip

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> KernelCounts:
        """Read what :meth:`to_json` wrote. Another schema, or a missing or mistyped part, raises a DocumentError."""
        _SCHEMA.check(document)
        with rows.reading_counts():
            return cls(
                name=given(document, "name", str), parameters=tuple(given(document, "parameters", list, str)),
                assumptions=given(document, "assumptions", str), subgroup_size=rows.lanes_of(document["subgroup_size"]),
                launch=rows.read_row(LaunchShape, document["launch"]), source=given(document, "source", dict),
                budget=document.get("budget", 1.0), types=rows.size_types(document.get("types", {})),
                **{name: tuple(document.get(name, ())) for name in OPTIONAL},
                **{name: tuple(rows.read_row(kind, row) for row in document[name])
                   for name, kind in rows.TABLES.items()},
            )

    @cached_property
    def hash(self) -> str:
        """Return a SHA-256 of the JSON, equal for equal generated code. ``PYTHONHASHSEED`` may change that code."""
        return digest_of(self.to_json())


def _check_choice(argument: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise errors.ArgumentError(f"{argument} is {value!r}", f"give {errors.listed(allowed, ' or ')}")


def _unknown_array(array: str, allowed: tuple[str, ...]) -> errors.UnknownNameError:
    problem = f"the kernel does not access an array '{array}' in this way"
    return errors.UnknownNameError(problem, f"choose one of: {errors.listed(allowed)}")


def _is_of_unknown_span(access: Access) -> bool:
    moves = access.moves is not None and not access.drifts
    return access.cells is None and not (access.walks or moves or access.span) and access.space != "private"


def _records_operands(source: Program | Mapping[str, Any]) -> bool:
    if isinstance(source, Mapping):  # JSON, which takes long to read
        return any("computed" in statement for statement in source.get("statements", ()))
    return isinstance(source, Program) and any(statement.computed for statement in source.statements)
