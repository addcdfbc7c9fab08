"""KernelCounts: all counts of one kernel, as a frozen value; and ``count``, which makes it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from perfmodel.counts.counters.activity import active_work_items
from perfmodel.counts.counters.banks import bank_conflicts
from perfmodel.counts.counters.cardinality import Cardinalities
from perfmodel.counts.counters.lines import UNITS, Lines
from perfmodel.counts.flow.flow import Flow
from perfmodel.counts.program.program import Access, Domain, Program
from perfmodel.counts.program.record import read_program, write_program
from perfmodel.counts.program.tree import Node
from perfmodel.counts.quasipoly.arguments import whole
from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.rows import (
    GRANULARITIES,
    AccessCount,
    BarrierCount,
    LaunchCount,
    LaunchShape,
    OperationCount,
    Utilization,
)
from perfmodel.errors import (
    CountsSchemaError,
    FlowUnknownError,
    UnknownArrayError,
    UnknownGranularityError,
)

SCHEMA = "perfmodel.counts/1"


@dataclass(frozen=True, eq=False)
class KernelCounts:
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
        What was counted, perhaps still as JSON; :attr:`program` is the value.
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

    # {{{ what was counted

    @cached_property
    def program(self) -> Program:
        """Domains, accesses and barriers: what every count was made from."""
        return self.source if isinstance(self.source, Program) else read_program(self.source)

    @property
    def schedule(self) -> tuple[Node, ...]:
        """The schedule as a tree of ``Device``, ``Loop``, ``Run`` and ``Wait`` nodes."""
        return self.program.schedule

    @property
    def access_maps(self) -> tuple[tuple[Domain, Access], ...]:
        """Each access with the domain at whose points it is executed."""
        return tuple(
            (statement.domain, access)
            for statement in self.program.statements for access in statement.accesses
        )

    @cached_property
    def flow(self) -> Flow | None:
        """The dataflow of a work-item; None in counts stored before it was recorded."""
        dataflow = self.program.dataflow
        return None if dataflow is None else Flow(dataflow, self._cardinalities)

    @cached_property
    def _cardinalities(self) -> Cardinalities:
        return Cardinalities(self.program, self.subgroup_size)

    # }}}

    # {{{ questions

    def operations(self, dtype: str | None = None, kind: str | None = None) -> Count:
        """Return the operations of a type and kind; an argument left out sums over it."""
        return _sum(
            row.count for row in self.operation_table
            if dtype in (None, row.dtype) and kind in (None, row.kind)
        )

    def accesses(
        self,
        space: str | None = None,
        direction: str | None = None,
        array: str | None = None,
        dtype: str | None = None,
        bits: int | None = None,
        granularity: str = "workitem",
    ) -> Count:
        """Return the accesses that match; an argument left out sums over it.

        Raises
        ------
        UnknownArrayError
            ``array`` is given and the kernel never touches it.
        ValueError
            The granularity is not ``workitem``, ``subgroup`` or ``workgroup``.
        """
        if granularity not in GRANULARITIES:
            raise UnknownGranularityError(granularity, GRANULARITIES)
        if array is not None:
            self._check_array(array)

        def asked(row: AccessCount | Access) -> bool:
            return (
                space in (None, row.space)
                and direction in (None, row.direction)
                and array in (None, row.array)
                and dtype in (None, row.dtype)
                and bits in (None, row.bits)
            )

        if granularity == "workitem":
            return _sum(row.count for row in self.access_table if asked(row))
        return _sum(
            (
                self._cardinalities.count(domain, granularity)
                for domain, access in self.access_maps
                if asked(access)
            ),
            granularity,
        )

    def footprint(self, array: str, direction: str = "load") -> Count:
        """Return the number of distinct cells of an array that are touched in a direction."""
        for row in self.access_table:
            if (row.array, row.direction) == (array, direction) and row.footprint is not None:
                return row.footprint
        raise UnknownArrayError(array, self._arrays())

    def utilization(self, array: str, direction: str = "load") -> Utilization:
        """Return the share of cells used among those that lie between the used ones.

        That is |F| / |F with its gaps along the unit-stride axis filled|, for the largest lane
        stride with which the array is accessed; 1 where no stride exceeds 1. Called with sizes
        it gives a Fraction; its two counts are attributes.
        """
        cells = self.footprint(array, direction)
        filled = [
            row.filled for row in self.access_table
            if (row.array, row.direction) == (array, direction) and row.filled is not None
        ]
        return Utilization(cells, tuple(filled) or (cells,))

    def lines(
        self, array: str, line_bytes: int = 64, per: str = "workgroup",
        direction: str | None = None, **sizes: int,
    ) -> Count:
        """Return the distinct cache lines of an array that are touched.

        Parameters
        ----------
        line_bytes : int
            Size of a line.
        per : str
            ``"instance"`` (each execution of each access by each sub-group: its transactions),
            ``"subgroup"``, ``"workgroup"`` or ``"launch"`` (everything that the unit touches in
            a launch); the lines of the units are summed.
        direction : str, optional
            ``"load"`` or ``"store"``; both together if left out.
        **sizes : int
            Fixed values of the size parameters. The count is then that of the array as it lies
            in memory; without them every row begins on a line, and where the assumptions don't
            say so the count is an upper bound.
        """
        if per not in UNITS:
            raise UnknownGranularityError(per, UNITS)
        values = {name: whole(name, value, self.parameters) for name, value in sizes.items()}
        found = self._sites(array, direction)
        return Lines(self._cardinalities, found, line_bytes, values).count(per)

    def bank_conflicts(
        self, array: str, banks: int = 32, direction: str | None = None
    ) -> Count:
        """Return the serialised sub-group accesses to an array in local memory.

        For each access by a sub-group it is the maximum over banks of the distinct 4-byte words
        in that bank; divided by the accesses at sub-group granularity it is the factor beta of
        the SPT model.
        """
        return bank_conflicts(self._cardinalities, self._sites(array, direction), banks)

    def idle_lanes(self) -> Count:
        """Return the lanes of the launch that do nothing.

        These are the lanes of partly filled sub-groups that hold no work-item, and the
        work-items that execute no operation and no access.
        """
        slots = _sum(
            _per_group(
                r, -(-_items(r.group_shape) // self.subgroup_size) * self.subgroup_size,
                "workitem",
            )
            for r in self.launch_table
        )
        active = active_work_items(self._cardinalities)
        if active.exact:
            return slots + -1 * active
        return Count(slots.polynomial, slots.assumptions, False, "workitem")

    def depth(self) -> tuple[OperationCount, ...]:
        """Return the operations on the longest chain of dependences of a work-item.

        Sequential trips multiply, parallel inames enter once; each count is of granularity
        ``"chain"``. :attr:`flow` knows the chain's accesses and barriers too.

        Raises
        ------
        FlowUnknownError
            The counts were stored before dataflow was recorded.
        """
        if self.flow is None:
            raise FlowUnknownError(self.name)
        rows = [row for row in self.flow.depth.rows if row.is_operation]
        return tuple(OperationCount(row.where, row.kind, row.count) for row in rows)

    def _sites(self, array: str, direction: str | None) -> list[tuple[Domain, Access]]:
        found = [
            (domain, access) for domain, access in self.access_maps
            if access.array == array and direction in (None, access.direction)
        ]
        if not found:
            raise UnknownArrayError(array, self._arrays())
        return found

    def barriers(self, scope: str = "local") -> Count:
        """Return barriers met: those of a work-item times the work-items, idle ones included."""
        return _sum(row.count for row in self.barrier_table if row.scope == scope)

    def launches(self) -> Count:
        """Return the device kernels that the host starts."""
        return _sum((row.launches for row in self.launch_table), "launch")

    def work_groups(self) -> Count:
        """Return the work-groups started."""
        return _sum((row.work_groups for row in self.launch_table), "workgroup")

    def work_items(self) -> Count:
        """Return the work-items started, those included that a guard leaves idle."""
        return _sum(_per_group(r, _items(r.group_shape), "workitem") for r in self.launch_table)

    def sub_groups(self) -> Count:
        """Return the sub-groups started; the last one of a group may be partly filled."""
        return _sum((
            _per_group(r, -(-_items(r.group_shape) // self.subgroup_size), "subgroup")
            for r in self.launch_table
        ), "subgroup")

    def _arrays(self) -> tuple[str, ...]:
        return tuple(sorted({row.array for row in self.access_table}))

    def _check_array(self, array: str) -> None:
        if array not in self._arrays():
            raise UnknownArrayError(array, self._arrays())

    # }}}

    # {{{ writing and reading

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-able dictionary of schema ``perfmodel.counts/1``."""
        document: dict[str, Any] = {"schema": SCHEMA}
        for field in fields(self):
            document[field.name] = _to_json(getattr(self, field.name))
        source = self.source
        document["source"] = write_program(source) if isinstance(source, Program) else source
        return document

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> KernelCounts:
        """Read what :meth:`to_json` wrote."""
        if document.get("schema") != SCHEMA:
            raise CountsSchemaError(document.get("schema"), SCHEMA)
        shape = document["launch"]
        return cls(
            document["name"], tuple(document["parameters"]), document["assumptions"],
            document["subgroup_size"],
            LaunchShape(
                tuple(shape["group_shape"]), shape["local_bytes"], shape["private_bytes"]
            ),
            tuple(_row(LaunchCount, row) for row in document["launch_table"]),
            tuple(_row(OperationCount, row) for row in document["operation_table"]),
            tuple(_row(AccessCount, row) for row in document["access_table"]),
            tuple(_row(BarrierCount, row) for row in document["barrier_table"]),
            document["source"],
        )

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the canonical JSON: equal for equal counts on any machine."""
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    # }}}


def _items(shape: tuple[int, ...]) -> int:
    product = 1
    for extent in shape:
        product *= extent
    return product


def _per_group(row: LaunchCount, amount: int, granularity: str) -> Count:
    scaled = amount * row.work_groups
    return Count(scaled.polynomial, scaled.assumptions, scaled.exact, granularity)


def _sum(counts: Any, granularity: str = "workitem") -> Count:
    total: Count | None = None
    for count in counts:
        total = count if total is None else total + count
    return Count.constant(0, granularity) if total is None else total


def _to_json(value: Any) -> Any:
    if isinstance(value, Count):
        return value.to_json()
    if isinstance(value, tuple):
        return [_to_json(item) for item in value]
    if isinstance(value, LaunchShape):
        return _to_json_row(value)
    if hasattr(value, "__dataclass_fields__"):
        return _to_json_row(value)
    return value


def _to_json_row(row: Any) -> dict[str, Any]:
    return {field.name: _to_json(getattr(row, field.name)) for field in fields(row)}


def _row(cls: type[Any], data: Mapping[str, Any]) -> Any:
    values = {}
    for name, value in data.items():
        if isinstance(value, Mapping):
            value = Count.from_json(value)
        elif isinstance(value, list):
            value = tuple(value)
        values[name] = value
    return cls(**values)
