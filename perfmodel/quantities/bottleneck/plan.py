"""What is found once for a kernel: its nests, with the counts that are evaluated at each size."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from perfmodel.counts.nests.nest import Nest, NestAccess
from perfmodel.counts.quasipoly.count import Count
from perfmodel.errors import FlowUnknownError

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts
    from perfmodel.counts.rows import OperationCount

WRITTEN_OUT = 16
"""Most trips of a loop of a constant number of trips that a compiler writes out."""


@dataclass
class Table:
    """Counts without duplicates; each is known by its position."""

    counts: list[Count] = field(default_factory=list)
    known: dict[str, int] = field(default_factory=dict)

    def place(self, count: Count) -> int:
        """Return the position of a count."""
        place = self.known.setdefault(json.dumps(count.to_json(), sort_keys=True), len(self.counts))
        if place == len(self.counts):
            self.counts.append(count)
        return place


@dataclass(frozen=True)
class AccessPlan:
    """An access of a nest; ``count`` and the entries of ``apart`` are positions of counts.

    ``apart`` are the distances between neighbouring lanes in accesses, empty where data decide. ``invariant`` is
    whether the innermost loop does not move it.
    """

    load: bool
    bits: int
    count: int
    apart: tuple[int, ...]
    invariant: bool


@dataclass(frozen=True)
class ChainPlan:
    """A chain of a nest.

    Its operations by kind, the cells that run side by side, and whether a loop around the innermost carries it too.
    """

    operations: Mapping[str, int]
    cells: int
    goes_on: bool


@dataclass(frozen=True)
class NestPlan:
    """A nest; numbers are positions of counts. See :class:`~perfmodel.counts.nests.nest.Nest`."""

    loops: int
    written_out: bool
    iterations: int
    box: int
    entries: int
    kept: int
    operations: tuple[tuple[int, str, int], ...]  # bits of the type, kind, count
    accesses: tuple[AccessPlan, ...]
    chains: tuple[ChainPlan, ...]


@dataclass(frozen=True)
class LaunchPlan:
    """A launch: its groups, the streams of addresses it follows in global memory, and its nests."""

    shape: tuple[int, ...]
    launches: int
    groups: int
    barriers: bool
    loops: bool
    streams: int
    nests: tuple[NestPlan, ...]

    @property
    def items(self) -> int:
        """Work-items of a group."""
        return prod(self.shape)


@dataclass(frozen=True)
class KernelPlan:
    """A kernel: its launches, all counts, and the operations on the longest chain of a work-item, by kind."""

    launches: tuple[LaunchPlan, ...]
    depth: Mapping[str, int]
    barriers: int
    counts: tuple[Count, ...]


_plans: WeakKeyDictionary[KernelCounts, KernelPlan] = WeakKeyDictionary()


def plan_of(counts: KernelCounts) -> KernelPlan:
    """Return the plan of a kernel; it is kept as long as the kernel's counts.

    Raises
    ------
    FlowUnknownError, PlacesUnknownError
        The counts were stored before dataflow, or the places of instructions, were recorded.
    """
    found = _plans.get(counts)
    if found is None:
        found = _plans[counts] = _plan(counts)
    return found


def _plan(counts: KernelCounts) -> KernelPlan:
    if counts.flow is None:
        raise FlowUnknownError(counts.name)
    table = Table()
    nests: dict[str, list[Nest]] = defaultdict(list)
    for nest in counts.nests:
        nests[nest.launch].append(nest)
    launches = []
    for row in counts.launch_table:
        own = nests.get(row.name, [])
        launches.append(LaunchPlan(
            row.group_shape, table.place(row.launches), table.place(row.work_groups),
            len({nest.stretch for nest in own}) > 1 or any(nest.outer for nest in own),
            any(nest.inner for nest in own), _streams(own), tuple(_nest(nest, table) for nest in own),
        ))  # fmt: skip
    depth: dict[str, Count] = {}
    for chain in counts.flow.depth.rows:
        if chain.is_operation:
            depth[chain.kind] = depth[chain.kind] + chain.count if chain.kind in depth else chain.count
    places = {kind: table.place(count) for kind, count in depth.items()}
    barriers = table.place(counts.barriers(scope="local"))
    return KernelPlan(tuple(launches), places, barriers, tuple(table.counts))


def _nest(nest: Nest, table: Table) -> NestPlan:
    inner = nest.inner[-1] if nest.inner else ""
    around = set(nest.inner[:-1])
    return NestPlan(
        loops=len(nest.inner),
        written_out=nest.trips is not None and nest.trips <= WRITTEN_OUT,
        iterations=table.place(nest.iterations), box=table.place(nest.box), entries=table.place(nest.entries),
        kept=table.place(nest.kept),
        operations=tuple((_bits(one.dtype), one.kind, table.place(one.count)) for one in _floating(nest.operations)),
        accesses=tuple(_access(one, inner, table) for one in nest.accesses if one.space != "private"),
        chains=tuple(
            ChainPlan(_by_kind(chain.operations, table), chain.chains, bool(around.intersection(chain.loops)))
            for chain in nest.chains if any(True for _ in _floating(chain.operations))
        ),
    )  # fmt: skip


def _access(access: NestAccess, inner: str, table: Table) -> AccessPlan:
    step = access.step(inner) if inner else None
    apart = () if access.address is None else tuple(table.place(Count(one.distance)) for one in access.lanes)
    return AccessPlan(
        access.direction == "load", access.bits, table.place(access.count), apart,
        step is not None and step == Count.constant(0, "byte"),
    )  # fmt: skip


def _floating(operations: Iterable[OperationCount]) -> Iterable[OperationCount]:
    return (one for one in operations if one.dtype.startswith(("float", "complex")))


def _by_kind(operations: Iterable[OperationCount], table: Table) -> Mapping[str, int]:
    return {one.kind: table.place(one.count) for one in _floating(operations)}


def _bits(dtype: str) -> int:
    return 64 if dtype in ("float64", "complex128") else 32


def _streams(nests: Iterable[Nest]) -> int:
    """Return how many streams of global addresses there are: starts of one array a constant apart are one."""
    return len({
        (access.array, "" if access.address is None else access.address.base)
        for nest in nests for access in nest.accesses if access.space == "global"
    })  # fmt: skip
