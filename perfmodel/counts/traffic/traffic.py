"""Traffic: the lines that a cache must fetch, as a value that is called with sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from perfmodel.counts.counters.cardinality import Cardinalities
from perfmodel.counts.program.program import Access
from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.quasipoly.distinct import DistinctCounts, JointCounts
from perfmodel.counts.traffic.between import Between
from perfmodel.counts.traffic.footprints import Cache, Footprints
from perfmodel.counts.traffic.layers import Layers
from perfmodel.counts.traffic.plan import LaunchPlan, plan_of
from perfmodel.counts.traffic.references import references_of
from perfmodel.threads import alone

Number = float | NDArray[np.float64]


@dataclass(frozen=True)
class Lines:
    """Lines between a cache and what is behind it, over all launches.

    Attributes
    ----------
    fetched : float or array
        Lines that come into the cache, for loads and for stores: ``streams + jumps``.
    loads, stores : float or array
        Times that a line is in the cache and is loaded from, or stored to. The latter are written back.
        A line that is both loaded and stored to while it is in the cache is in both, and is fetched once.
    streams, jumps : float or array
        Lines fetched that are next to the line that the same reference fetched before, and those that are not: the
        first of each run of lines.
    stored_jumps : float or array
        Of the stores, those of lines that are not next to the one before.
    """

    fetched: Number
    loads: Number
    stores: Number
    streams: Number
    jumps: Number
    stored_jumps: Number


@dataclass(frozen=True)
class Plan:
    """What is prepared once for a kernel and an order: each launch, and the counts whose values they need."""

    launches: tuple[LaunchPlan, ...]
    counts: JointCounts
    exact: bool

    @property
    def arrays(self) -> tuple[str, ...]:
        """The arrays in memory, sorted."""
        return tuple(sorted({one.array for launch in self.launches for one in launch.references}))


@dataclass(frozen=True)
class Traffic:
    """The lines that a cache of some size must fetch: a model, not an exact count.

    Attributes
    ----------
    plan : Plan
        The kernel's loops and references, in the order of the device.
    cache : Cache
        The cache.
    array : str or None
        Of which array; None for all.
    exact : bool
        False where some addresses or executions are only bounded: data decide, or an index is not affine. Each
        execution with such an address is then taken to need a line of its own, at most those of its array.
    """

    plan: Plan
    cache: Cache
    array: str | None

    @property
    def exact(self) -> bool:
        """Whether all addresses and executions are known."""
        return self.plan.exact

    def __call__(self, **sizes: int) -> Lines:
        """Return the lines at one size.

        Raises
        ------
        ParameterError, AssumptionError
            As for a :class:`~perfmodel.counts.quasipoly.count.Count`.
        """
        return self.at(sizes).lines(self.cache, self.array)

    @alone
    def at(self, sizes: Mapping[str, int]) -> TrafficAt:
        """Return what gives the lines of all caches with lines of this length at one size; errors as of a call."""
        return TrafficAt(self.plan, self.plan.counts.at(sizes), self.cache.line_bytes)

    def evaluate(self, sizes: Mapping[str, ArrayLike]) -> Lines:
        """Return the lines at arrays of sizes, broadcast together; each number is an array of their shape."""
        shape = np.broadcast_shapes(*(np.shape(value) for value in sizes.values()))
        columns = [np.broadcast_to(count.evaluate(sizes), shape).ravel().tolist() for count in self.plan.counts]
        points = zip(*columns, strict=True) if columns else ()
        line, names = self.cache.line_bytes, [field.name for field in fields(Lines)]
        rows = [TrafficAt(self.plan, point, line).lines(self.cache, self.array) for point in points]
        if not rows:
            return Lines(*(np.zeros(shape) for _ in names))
        return Lines(*(np.array([getattr(row, name) for row in rows]).reshape(shape) for name in names))


class TrafficAt:
    """The loops of a kernel at one size: what caches of any size have in common.

    Parameters
    ----------
    plan : Plan
        The kernel's loops and references.
    values : sequence of number
        The values of its counts.
    line : int
        Bytes of a line.
    """

    def __init__(self, plan: Plan, values: Sequence[float | Fraction], line: int) -> None:
        plain = [float(value) for value in values]
        self.launches = [Between(Footprints(launch, plain, line)) for launch in plan.launches]

    def lines(self, cache: Cache, array: str | None = None) -> Lines:
        """Return the lines of a cache, of an array or of all."""
        streams = jumps = loads = stores = stored_jumps = 0.0
        for between in self.launches:
            footprints, references = between.footprints, between.plan.references
            for some, depth, times in Layers(between, cache).fetches(array):
                patches = footprints.patches(some, depth)
                lines = times * patches.lines
                jumping = times * sum(patch.lines * footprints.jumps[k] for k, patch in patches.boxes)
                streams, jumps = streams + lines - jumping, jumps + jumping
                stored = {store for k in some for store in references[k].stores}
                loaded, written = (
                    0.0 if store not in stored
                    else times * footprints.lines(some, depth, store) if len(stored) > 1 else lines
                    for store in (False, True)
                )
                loads, stores = loads + loaded, stores + written
                stored_jumps += written * jumping / lines if lines else 0.0
        return Lines(streams + jumps, loads, stores, streams, jumps, stored_jumps)


def plan_of_program(cardinalities: Cardinalities, order: str) -> Plan:
    """Prepare the traffic of a program, whose dataflow is known, for an order of the work-items.

    Raises
    ------
    PlacesUnknownError
        The program was stored before places were recorded.
    """
    program = cardinalities.program
    unrolled = () if program.dataflow is None else program.dataflow.unrolled
    position, spans = DistinctCounts(), _spans(cardinalities)
    references = [references_of(cardinalities, k, unrolled, order) for k in range(len(program.launches))]
    plans = tuple(plan_of(some, spans, position) for some in references)
    return Plan(plans, position.joint(), all(one.exact for some in references for one in some))


def _spans(cardinalities: Cardinalities) -> dict[str, Count | None]:
    """Return the bytes of each array, from its first cell to its last; None where its shape is not known."""
    accesses = [access for statement in cardinalities.program.statements for access in statement.accesses]
    return {access.array: _span(cardinalities, access) for access in accesses if access.space != "private"}


def _span(cardinalities: Cardinalities, access: Access) -> Count | None:
    if access.shape is None:
        return None
    number = Count.constant(1, "byte")
    for stride, extent in zip(access.strides, access.shape, strict=True):
        longest = cardinalities.wrap(cardinalities.size(extent), granularity="byte") + Count.constant(-1, "byte")
        number = number + Count(stride, granularity="byte").times(longest)
    return Fraction(access.bits, 8) * number
