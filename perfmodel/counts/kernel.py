"""KernelCounts: all counts of one kernel, as a frozen value."""

from __future__ import annotations

import hashlib
import json
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
from perfmodel.counts.counters.cells import Footprint
from perfmodel.counts.counters.executions import Cardinalities, active_work_items
from perfmodel.counts.counters.groups import GroupWork, group_works
from perfmodel.counts.counters.lines import UNITS, Lines
from perfmodel.counts.flow.flow import Flow
from perfmodel.counts.nests.issues import issues_of
from perfmodel.counts.nests.nest import Issue, Nest
from perfmodel.counts.nests.nests import compiled_table, nests_of
from perfmodel.counts.program.program import DECISIONS, Access, Domain, IndexSpan, Node, Program, Statistic
from perfmodel.counts.program.serialisation import read_program, write_program
from perfmodel.counts.quasipoly.arguments import whole
from perfmodel.counts.quasipoly.count import Count, given
from perfmodel.counts.rows import AccessCount, BarrierCount, LaunchCount, LaunchShape, OperationCount, total
from perfmodel.counts.traffic.footprints import Cache
from perfmodel.counts.traffic.order import ORDERS
from perfmodel.counts.traffic.traffic import Traffic, TrafficPlan, traffic_plan
from perfmodel.display import columns_text, data_frame, html_table
from perfmodel.documents import one_line, require
from perfmodel.values import FrozenValue

if TYPE_CHECKING:
    from pandas import DataFrame

    from perfmodel.facts import DeviceFacts

SCHEMA = "perfmodel.counts/1"
ANY_INDEX = 1 << 62  # neighbouring indices: more than any array has


@dataclass(frozen=True, eq=False)
class KernelCounts(FrozenValue):
    """What a kernel executes, counted symbolically.

    Attributes
    ----------
    name : str
        The kernel's name.
    parameters : tuple of str
        The size parameters that counts or assumptions depend on, sorted.
    assumptions : str
        Where the counts hold, in isl's notation.
    subgroup_size : int
        Work-items in a sub-group.
    launch : LaunchShape
        The largest launch of the sequence.
    launch_table, operation_table, access_table, barrier_table : tuple
        The counts themselves.
    source : Program or mapping
        What was counted, as a value or still as JSON; :attr:`program` is the value.
    budget : float
        How much work the formula of a count may take, as given to :func:`perfmodel.count`.
    offsets : tuple of str
        The arguments that only hold an array's offset. They are no sizes, and are 0 where no value is given.
    untouched : tuple of str
        The array arguments that are not accessed.
    types : mapping of str to str
        Types of the kernel's arguments that size parameters are, where they are not ``int32``, which Loopy takes by
        default.
    statistic_keys : tuple of str
        The keys of ``statistics`` that the counts use, and of those that would make them more exact.
    """

    name: str
    parameters: tuple[str, ...]
    assumptions: str
    subgroup_size: int
    launch: LaunchShape
    launch_table: tuple[LaunchCount, ...]
    operation_table: tuple[OperationCount, ...]
    access_table: tuple[AccessCount, ...]
    barrier_table: tuple[BarrierCount, ...]
    source: Program | Mapping[str, Any]
    budget: float = 1.0
    offsets: tuple[str, ...] = ()
    untouched: tuple[str, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    statistic_keys: tuple[str, ...] = ()

    # {{{ what was counted

    @cached_property
    def program(self) -> Program:
        """The domains, accesses and barriers that were counted."""
        if isinstance(self.source, Program):
            return self.source
        with rows.reading_counts():
            return read_program(self.source)

    @property
    def size_arguments(self) -> tuple[str, ...]:
        """The kernel's sizes, sorted: :attr:`parameters`, and those on which only the extents of arrays depend."""
        source = self.source
        return source.parameters if isinstance(source, Program) else tuple((source or {}).get("parameters", ()))

    @property
    def schedule(self) -> tuple[Node, ...]:
        """The schedule as a tree of ``DeviceKernel``, ``Loop``, ``Run`` and ``Wait`` nodes."""
        return self.program.schedule

    @property
    def access_maps(self) -> tuple[tuple[Domain, Access], ...]:
        """Each access with the domain at whose points it is executed."""
        statements = self.program.statements
        return tuple((statement.domain, access) for statement in statements for access in statement.accesses)

    @cached_property
    def flow(self) -> Flow:
        """The dataflow of a work-item."""
        return Flow(self.program.dataflow, self._cardinalities)

    @cached_property
    def nests(self) -> tuple[Nest, ...]:
        """What is executed between the same barriers, in the same loops and on the same lanes, nest by nest."""
        return nests_of(self.flow)

    @cached_property
    def compiled(self) -> KernelCounts:
        """The same kernel with the operations that a compiler leaves (:mod:`perfmodel.counts.nests.folded`).

        It is this value where the compiler leaves all, or where the counts do not record operands.
        """
        table = compiled_table(self.flow) if _records_operands(self.source) else None
        if table is None:
            return self
        decisions = (row for row in self.operation_table if row.kind in DECISIONS)
        return replace(self, operation_table=tuple(sorted((*table, *decisions), key=lambda row: (row.dtype, row.kind))))

    @cached_property
    def gathered(self) -> tuple[str, ...]:
        """The arrays that data index, sorted, where ``statistics`` do not say how local the indices are."""
        if not any(row.indirect for row in self.access_table):  # by far the most frequent case
            return ()
        return tuple(sorted({access.array for _, access in self.access_maps if _is_of_unknown_span(access)}))

    @cached_property
    def most_local(self) -> KernelCounts:
        """The same kernel where the indices into each of :attr:`gathered` are those of a stream: a span of 1."""
        return self.spanning(1)

    @cached_property
    def least_local(self) -> KernelCounts:
        """The same kernel where the indices into each of :attr:`gathered` are known to be any of the array."""
        return self.spanning(ANY_INDEX)

    def spanning(self, indices: int) -> KernelCounts:
        """Return the same kernel where the indices into each of :attr:`gathered` have this span."""
        if not self.gathered:
            return self
        statements = tuple(
            replace(statement, accesses=tuple(_with_span(access, indices) for access in statement.accesses))
            for statement in self.program.statements
        )
        copy = replace(self, source=replace(self.program, statements=statements))
        vars(copy)["flow"] = replace(copy.flow, alike=self.flow)  # a walk takes seconds for a large kernel
        return copy

    def outside(self, sizes: Mapping[str, Any]) -> tuple[tuple[str, float, float], ...]:
        """Return each statistic that is too large at some of the sizes: its key, its value, and the most it can be."""
        if not isinstance(self.source, Program) and "statistics" not in (self.source or {}):  # JSON takes long to read
            return ()
        found = []
        for statistic in self.program.statistics:
            most = float(np.min(self._answered(statistic).evaluate(sizes)))
            if float(statistic.value) > most:
                found.append((statistic.key, float(statistic.value), most))
        return tuple(found)

    def _answered(self, statistic: Statistic) -> Count:
        """Return the most that a statistic can be."""
        key = ("statistic", statistic.key)
        if key not in self._answers:
            numbers = [self._cardinalities.wrap(self._cardinalities.size(points)) for points in statistic.most]
            self._answers[key] = reduce(Count.times, numbers)
        return self._answers[key]

    @cached_property
    def group_works(self) -> tuple[GroupWork | None, ...]:
        """How much each work-group executes, launch by launch; None where all do the same, or no formula tells it."""
        return tuple(group_works(self._cardinalities))

    @cached_property
    def executions(self) -> tuple[Count, Count]:
        """How often operations and accesses to shared memory are executed: by work-items, and by sub-groups.

        One that several lanes of a sub-group execute together counts once for the sub-group. What data-bound loops
        execute is in neither: how far the trips of lanes differ is not known.
        """
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
    def issues(self) -> tuple[Issue, ...]:
        """What sub-groups issue nest by nest: operations, accesses and turns of loops, once for all lanes together."""
        return issues_of(self.flow)

    @cached_property
    def _cardinalities(self) -> Cardinalities:
        return Cardinalities(self.program, self.subgroup_size, self.budget)

    def check_launch(self, facts: DeviceFacts) -> None:
        """Raise a KernelError where a work-group does not fit on a device, as far as its facts are known."""
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

    # }}}

    # {{{ questions

    def operations(self, dtype: str | None = None, kind: str | None = None) -> Count:
        """Return the operations of a type and kind; an argument left out sums over it, comparisons and selects too."""
        wanted = {"dtype": dtype, "kind": kind}
        return total(row.count for row in self.operation_table if rows.matches(row, wanted))

    def accesses(
        self, space: str | None = None, direction: str | None = None, array: str | None = None,
        dtype: str | None = None, bits: int | None = None, granularity: str = "workitem",
    ) -> Count:
        """Return the accesses that match; an argument left out sums over it.

        Raises
        ------
        UnknownNameError
            ``array`` is given, and the kernel has no such array.
        ValueError
            The granularity is not ``workitem``, ``subgroup`` or ``workgroup``.
        """
        _check_choice("granularity", granularity, rows.GRANULARITIES)
        if array is not None and array not in (*self._arrays(), *self.untouched):
            raise _unknown_array(array, self._arrays())
        wanted = {"space": space, "direction": direction, "array": array, "dtype": dtype, "bits": bits}
        if granularity == "workitem":
            return total(row.count for row in self.access_table if rows.matches(row, wanted))
        key = ("accesses", granularity, *wanted.values())
        if key not in self._answers:
            domains = Counter(domain for domain, access in self.access_maps if rows.matches(access, wanted))
            counts = (times * self._cardinalities.count(domain, granularity) for domain, times in domains.items())
            self._answers[key] = total(counts, granularity)
        return self._answers[key]

    def footprint(self, array: str, direction: str | None = "load") -> Count:
        """Return the number of distinct cells of an array that are touched in a direction; with None in both together.

        With None it is the size of F_v in Algorithm 2 of Stevens and Klöckner.
        """
        for row in self.access_table:
            if row.array == array and direction in (row.direction, None) and row.footprint is not None:
                found = self.cells_together(row)[0] if direction is None else row.footprint
                if found is not None:
                    return found
        raise _unknown_array(array, self._arrays())

    def utilization(self, array: str, direction: str | None = "load") -> rows.Utilization:
        """Return the share of cells used among those that lie between the used ones.

        That is the number of cells over the number of cells with the gaps along the unit-stride axis filled,
        for the largest lane stride with which the array is accessed; 1 where no stride exceeds 1. Called with
        sizes it gives a Fraction; its two counts are attributes. The cells are those of a direction, with None those
        of loads and stores together.
        """
        cells = self.footprint(array, direction)
        matching = [row for row in self.access_table if rows.matches(row, {"array": array, "direction": direction})]
        filled = [row.filled if direction else self.cells_together(row)[1] for row in matching]
        return rows.Utilization(cells, tuple(count for count in filled if count is not None) or (cells,))

    def cells_together(self, row: AccessCount) -> tuple[Count | None, Count | None]:
        """Return ``footprint`` and ``filled`` of a row of :attr:`access_table` for loads and stores together.

        They are the row's own where its array is only loaded or only stored.
        """
        if row.footprint is None or len({twin.direction for twin in self.access_table if twin.array == row.array}) < 2:
            return row.footprint, row.filled
        if row.array not in self._footprints:
            self._footprints[row.array] = Footprint(self._sites(row.array, None), self._cardinalities)
        footprint = self._footprints[row.array]
        return footprint.count, None if row.filled is None else footprint.filled_at(row.stride)

    @cached_property
    def _footprints(self) -> dict[str, Footprint]:
        """The cells of arrays that are loaded and stored, by their names."""
        return {}

    def lines(
        self, array: str, line_bytes: int = 64, per: str = "workgroup", direction: str | None = None, **sizes: int
    ) -> Count:
        """Return the distinct cache lines of an array that are touched.

        Parameters
        ----------
        line_bytes : int
            Size of a line.
        per : str
            ``"instance"`` (each execution of each access by each sub-group: its transactions), ``"subgroup"``,
            ``"workgroup"`` or ``"launch"`` (everything that the unit touches in a launch); the lines of the units are
            summed.
        direction : str, optional
            ``"load"`` or ``"store"``; both together if left out.
        **sizes : int
            Fixed values of the size parameters. The count is then that of the array as it lies in memory, as it is
            without them where strides are numbers. Else every row begins on a line, and where the assumptions don't
            say so the count is an upper bound.
        """
        require(isinstance(line_bytes, (int, np.integer)) and line_bytes > 0, "lines: line_bytes", line_bytes,
                "an integer above 0")  # fmt: skip
        _check_choice("per", per, UNITS)
        values = {name: whole(name, value, self.parameters) for name, value in sizes.items()}
        return Lines(self._cardinalities, self._sites(array, direction), line_bytes, values).count(per)

    def bank_conflicts(self, array: str, banks: int = 32, direction: str | None = None) -> Count:
        """Return the serialised sub-group accesses to an array in local memory.

        For each access by a sub-group it is the maximum over banks of the distinct 4-byte words in that bank; divided
        by the accesses at sub-group granularity it is the factor beta of the SPT model.
        """
        whole_banks = isinstance(banks, (int, np.integer)) and banks > 0
        require(whole_banks, "bank_conflicts: banks", banks, "an integer above 0")
        key = ("bank conflicts", array, int(banks), direction)
        if key not in self._answers:
            self._answers[key] = bank_conflicts(self._cardinalities, self._sites(array, direction), banks)
        return self._answers[key]

    @cached_property
    def _answers(self) -> dict[tuple[object, ...], Count]:
        """Counts that were asked for; predictions at other sizes ask again."""
        return {}

    def traffic(
        self, array: str | None = None, capacity: int = 32768, line_bytes: int = 64, sets: int = 0,
        order: str = "serial",
    ) -> Traffic:
        """Return a model of the lines that a cache must fetch, and of those that it writes back.

        The loops around an access are put in the order in which the device runs them: groups, work-items and the
        kernel's own loops. For each reference the model finds the outermost loop L between whose iterations its
        lines stay in the cache, because what is touched between two uses of a line fits:

            lines = (lines that the references touch in L as a whole) * (executions of L)

        References to one array whose addresses move alike are one box. All arrays are in the cache together.

        Parameters
        ----------
        array : str, optional
            Of which array; of all together if left out.
        capacity : int
            Size of the cache [B].
        line_bytes : int
            Size of a line [B].
        sets : int
            Sets of the cache; addresses ``sets*line_bytes`` apart fall into one. 0 means one set for all lines.
        order : str
            ``"serial"``: the device runs the work-items of a group one after another, between barriers. Where the
            kernel has barriers it does so inside each of the kernel's loops, else around them all. ``"lockstep"``:
            each instruction is run by all work-items along l.0 together. ``"vectors"``: by those of a sub-group's
            size, and the vectors along l.0 one after another.

        Returns
        -------
        Traffic
            A value that is called with sizes, and gives :class:`~perfmodel.counts.traffic.traffic.MovedLines`.

        Raises
        ------
        ArgumentError, UnknownNameError
            There is no such cache, order or array in memory.

        Notes
        -----
        Assumed are: one cache, empty when a launch begins, that replaces the line least recently used and fetches a
        line that is stored to; groups that follow one another, g.0 fastest; private arrays in registers; local
        arrays in the same memory as global ones; arrays that begin on pages. Guards and varying loop bounds enter
        as mean extents. Two boxes that do not move alike meet in a set by chance.

        The rule is the layer condition of Stengel, Treibig, Hager and Wellein (2015), section 4, as in kerncraft,
        for any order of loops, several nests and sets.

        Examples
        --------
        The columns of a matrix of 64 rows are read. A line is fetched for each of its 16 cells, unless the cache
        holds a line of each row until the next column is read:

        >>> import loopy as lp, numpy as np
        >>> from perfmodel.counts import count
        >>> unit = lp.make_kernel("{ [i, j]: 0 <= i, j < n }", "out[j, i] = a[i, j]", lang_version=(2018, 2))
        >>> unit = lp.add_dtypes(lp.prioritize_loops(unit, "j, i"), {"a": np.float32})
        >>> counts = count(unit)
        >>> [counts.traffic("a", capacity)(n=64).fetched for capacity in (2048, 8192)]
        [4096.0, 256.0]
        """
        _check_choice("order", order, ORDERS)
        integers = all(isinstance(number, int) for number in (capacity, line_bytes, sets))
        if not integers or not 0 < line_bytes <= capacity or sets < 0 or (sets and capacity // line_bytes % sets):
            raise errors.ArgumentError(
                f"a cache of {capacity} B with lines of {line_bytes} B and {sets} sets is not possible",
                "give at least one line, and lines that are a multiple of the sets, or sets=0 for one set",
            )
        if order not in self._traffic_plans:
            plan = traffic_plan(self._cardinalities, order, self.subgroup_size, self.parameters)
            self._traffic_plans[order] = plan
        plan = self._traffic_plans[order]
        if array is not None and array not in plan.arrays:
            raise _unknown_array(array, plan.arrays)
        return Traffic(plan, Cache(capacity // line_bytes, line_bytes, sets), array)

    @cached_property
    def _traffic_plans(self) -> dict[str, TrafficPlan]:
        return {}

    def idle_lanes(self) -> Count:
        """Return the lanes of the launch that do nothing.

        These are the lanes of partly filled sub-groups that hold no work-item, and the work-items that execute no
        operation and no access.
        """
        slots = (self.subgroup_size * self.sub_groups()).labelled("workitem")
        active = active_work_items(self._cardinalities)
        if active.exact:
            return slots + -1 * active
        return slots.labelled("workitem", exact=False, reasons=active.reasons)

    def depth(self) -> tuple[OperationCount, ...]:
        """Return the operations on the longest chain of dependences of a work-item.

        Sequential trips multiply, parallel inames enter once; each count is of granularity ``"chain"``. :attr:`flow`
        gives the accesses and barriers of the chain too.
        """
        chain = self.flow.depth.rows
        return tuple(OperationCount(row.where, row.kind, row.count) for row in chain if row.is_operation)

    def _sites(self, array: str, direction: str | None) -> list[tuple[Domain, Access]]:
        wanted = {"array": array, "direction": direction}
        sites = [(domain, access) for domain, access in self.access_maps if rows.matches(access, wanted)]
        if not sites:
            raise _unknown_array(array, self._arrays())
        return sites

    def barriers(self, scope: str = "local") -> Count:
        """Return the barriers executed: those of a work-item times the work-items, idle ones included."""
        return total(row.count for row in self.barrier_table if row.scope == scope)

    def launches(self) -> Count:
        """Return the device kernels that the host starts."""
        return total((row.launches for row in self.launch_table), "launch")

    def work_groups(self) -> Count:
        """Return the work-groups started."""
        return total((row.work_groups for row in self.launch_table), "workgroup")

    def work_items(self) -> Count:
        """Return the work-items started, those included that a guard leaves idle."""
        return total(row.work_items() for row in self.launch_table)

    def sub_groups(self) -> Count:
        """Return the sub-groups started; the last one of a group may be partly filled."""
        return total((row.sub_groups(self.subgroup_size) for row in self.launch_table), "subgroup")

    def _arrays(self) -> tuple[str, ...]:
        return tuple(sorted({row.array for row in self.access_table}))

    # }}}

    # {{{ showing

    def __repr__(self) -> str:
        kinds = len(self.operation_table), len(self.access_table)
        return one_line(
            f"<KernelCounts {self._signature}: {kinds[0]} kinds of operations, {kinds[1]} of accesses, sub-groups of "
            f"{self.subgroup_size}>"
        )

    def __str__(self) -> str:
        """Return the counts as a table."""
        return "\n".join([self._title, columns_text(rows.text_rows(self._rows), left=3), self._note])

    def _repr_html_(self) -> str:
        """Return the counts as a table for a notebook."""
        return html_table(rows.text_rows(self._rows), self._title, [self._note], left=3)

    @property
    def _title(self) -> str:
        return f"{self._signature}, work-groups of {'x'.join(map(str, self.launch.group_shape)) or '1'}"

    @property
    def _note(self) -> str:
        return f"{self.subgroup_size} work-items in a sub-group; assumed: {self.assumptions}."

    def to_frame(self, sizes: Mapping[str, int] | None = None, /, **more_sizes: int) -> DataFrame:
        """Return a row for each count as a pandas table: what is counted, its formula, and its value at given sizes.

        Parameters
        ----------
        sizes, **more_sizes
            Every size parameter, or none; with sizes there is a column ``value``.

        Raises
        ------
        MissingExtraError
            pandas is not installed.
        SizeError, AssumptionError
            As of calling a :class:`~perfmodel.counts.Count`.
        """
        at = {**(sizes or {}), **more_sizes}
        return data_frame(rows.records(self._rows, at), (*rows.COLUMNS, "value") if at else rows.COLUMNS)

    @property
    def _signature(self) -> str:
        return f"{self.name}({', '.join(self.parameters)})"

    @property
    def _rows(self) -> rows.Shown:
        return rows.shown(self.launch_table, self.operation_table, self.access_table, self.barrier_table)

    # }}}

    # {{{ writing and reading

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-able dictionary of schema ``perfmodel.counts/1``."""
        source = self.source
        tables = {name: list(map(rows.write_row, getattr(self, name))) for name in rows.TABLES}
        return {
            "schema": SCHEMA, "name": self.name, "parameters": list(self.parameters),
            "assumptions": self.assumptions, "subgroup_size": self.subgroup_size,
            "launch": rows.write_row(self.launch), **tables,
            "source": write_program(source) if isinstance(source, Program) else dict(source),
            **({} if self.budget == 1 else {"budget": self.budget}),
            **({"offsets": list(self.offsets)} if self.offsets else {}),
            **({"untouched": list(self.untouched)} if self.untouched else {}),
            **({"types": dict(self.types)} if self.types else {}),
            **({"statistic_keys": list(self.statistic_keys)} if self.statistic_keys else {}),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> KernelCounts:
        """Read what :meth:`to_json` wrote.

        Raises
        ------
        DocumentError
            If the document has another schema.
        DocumentError
            If it lacks a part, or a part is not what it should be.
        """
        if document.get("schema") != SCHEMA:
            raise errors.DocumentError(
                f"has schema {document.get('schema')!r}; this version reads {SCHEMA!r}", "count the kernel again"
            )
        with rows.reading_counts():
            return cls(
                name=given(document, "name", str), parameters=tuple(given(document, "parameters", list, str)),
                assumptions=given(document, "assumptions", str), subgroup_size=rows.lanes_of(document["subgroup_size"]),
                launch=rows.read_row(LaunchShape, document["launch"]), source=given(document, "source", dict),
                budget=document.get("budget", 1.0), offsets=tuple(document.get("offsets", ())),
                untouched=tuple(document.get("untouched", ())), types=rows.size_types(document.get("types", {})),
                statistic_keys=tuple(document.get("statistic_keys", ())),
                **{name: tuple(rows.read_row(kind, row) for row in document[name])
                   for name, kind in rows.TABLES.items()},
            )

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the canonical JSON: equal for the same generated code on any machine.

        Loopy itself generates different code for different values of ``PYTHONHASHSEED`` where it keeps several
        unrolled loops' results in registers: the order of the private array's axes and the order of these loops vary.
        The hash follows the code then; :func:`perfmodel.counts.counting.changes` finds the values equal.
        """
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    # }}}


def _check_choice(argument: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise errors.ArgumentError(f"{argument} is {value!r}", f"give {errors.listed(allowed, ' or ')}")


def _unknown_array(array: str, allowed: tuple[str, ...]) -> errors.UnknownNameError:
    problem = f"the kernel does not access an array '{array}' in this way"
    return errors.UnknownNameError(problem, f"choose one of: {errors.listed(allowed)}")


def _is_of_unknown_span(access: Access) -> bool:
    moves = access.moves is not None and not access.drifts
    return access.cells is None and not (access.walks or moves or access.span) and access.space != "private"


def _with_span(access: Access, indices: int) -> Access:
    return replace(access, span=IndexSpan(Fraction(indices), (0,))) if _is_of_unknown_span(access) else access


def _records_operands(source: Program | Mapping[str, Any]) -> bool:
    if isinstance(source, Mapping):  # JSON, which takes long to read
        return any("computed" in statement for statement in source.get("statements", ()))
    return isinstance(source, Program) and any(statement.computed for statement in source.statements)
