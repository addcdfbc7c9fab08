"""Traffic: the lines that a cache must fetch, as a value that is called with sizes.

The picture is a cache between a launch, whose loops run in the order of the device, and the memory::

    launch   loads and stores of a[i, j], out[i] in the order of its loops
    cache    512 lines of 64 bytes; lines stay until too many others are touched
    memory   delivers the lines that are fetched, and takes those that were stored to

What is the same at all sizes is prepared once (:func:`traffic_plan`): the tree of loops and its references. At sizes
follow footprints, what is touched between uses of a line, and what is fetched (:mod:`~perfmodel.counts.traffic.reuse`).
A copy of 1024 float32 fetches 64 lines for the loads and 64 for the stores, whatever the cache.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from perfmodel.counts.counters.cardinality import Cardinalities
from perfmodel.counts.program.program import Access
from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.quasipoly.distinct import NamedCounts
from perfmodel.counts.traffic.footprints import Cache, Footprints
from perfmodel.counts.traffic.references import LaunchReferences, references_of
from perfmodel.counts.traffic.reuse import Fetch, LayerConditions, ReuseDistances
from perfmodel.threads import alone

Number = float | NDArray[np.float64]


@dataclass(frozen=True)
class MovedLines:
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
class TrafficPlan:
    """What is prepared once for a kernel and an order: the references of each launch, with counts for all sizes."""

    launches: NamedCounts
    exact: bool

    @property
    def arrays(self) -> tuple[str, ...]:
        """The arrays in memory, sorted."""
        launches: tuple[LaunchReferences[Count], ...] = self.launches.tree
        return tuple(sorted({array for launch in launches for array in launch.tree.arrays}))


@dataclass(frozen=True)
class Traffic:
    """The lines that a cache of some size must fetch: a model, not an exact count.

    Attributes
    ----------
    plan : TrafficPlan
        The kernel's loops and references, in the order of the device.
    cache : Cache
        The cache.
    array : str or None
        Of which array; None for all.
    exact : bool
        False where some addresses or executions are only bounded: data decide, or an index is not affine. Each
        execution with such an address is then taken to need a line of its own, at most those of its array.
    """

    plan: TrafficPlan
    cache: Cache
    array: str | None

    @property
    def exact(self) -> bool:
        """Whether all addresses and executions are known."""
        return self.plan.exact

    def __call__(self, **sizes: int) -> MovedLines:
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
        return TrafficAt(self.plan.launches.at(sizes), self.cache.line_bytes)

    def evaluate(self, sizes: Mapping[str, ArrayLike]) -> MovedLines:
        """Return the lines at arrays of sizes, broadcast together; each number is an array of their shape."""
        shape = np.broadcast_shapes(*(np.shape(value) for value in sizes.values()))
        launches, line, names = self.plan.launches, self.cache.line_bytes, [field.name for field in fields(MovedLines)]
        columns = [np.broadcast_to(count.evaluate(sizes), shape).ravel().tolist() for count in launches.counts]
        points = zip(*columns, strict=True) if columns else ()
        rows = [TrafficAt(launches.with_values(point), line).lines(self.cache, self.array) for point in points]
        if not rows:
            return MovedLines(*(np.zeros(shape) for _ in names))
        return MovedLines(*(np.array([getattr(row, name) for row in rows]).reshape(shape) for name in names))


class TrafficAt:
    """The loops of a kernel at one size: what caches of any size have in common.

    Parameters
    ----------
    launches : sequence of LaunchReferences
        The kernel's loops and references, with numbers.
    line : int
        Bytes of a line.
    """

    def __init__(self, launches: Sequence[LaunchReferences[float]], line: int) -> None:
        self.launches = [ReuseDistances(Footprints(launch, line)) for launch in launches]

    def lines(self, cache: Cache, array: str | None = None) -> MovedLines:
        """Return the lines of a cache, of an array or of all."""
        streams = jumps = loads = stores = stored_jumps = 0.0
        for distances in self.launches:
            footprints = distances.footprints
            for fetch in LayerConditions(distances, cache).fetches(array):
                touched = footprints.array_lines(fetch.references, fetch.depth)
                lines = fetch.times * touched.lines
                jump_shares = footprints.jump_shares
                jumping = fetch.times * sum([box.lines * jump_shares[box.reference] for box in touched.boxes])
                streams, jumps = streams + lines - jumping, jumps + jumping
                loaded, stored = _loaded_and_stored(footprints, fetch, lines)
                loads, stores = loads + loaded, stores + stored
                stored_jumps += stored * jumping / lines if lines else 0.0
        return MovedLines(streams + jumps, loads, stores, streams, jumps, stored_jumps)


def _loaded_and_stored(footprints: Footprints, fetch: Fetch, lines: float) -> tuple[float, float]:
    """Return how many of the lines of a fetch are loaded from, and how many are stored to."""
    directions = {store for k in fetch.references for store in footprints.references[k].stores}
    if len(directions) == 1:
        return (0.0, lines) if True in directions else (lines, 0.0)
    loaded, stored = (
        fetch.times * footprints.array_lines(fetch.references, fetch.depth, store).lines for store in (False, True)
    )
    return loaded, stored


def traffic_plan(cardinalities: Cardinalities, order: str) -> TrafficPlan:
    """Prepare the traffic of a program, whose dataflow is known, for an order of the work-items.

    Raises
    ------
    PlacesUnknownError
        The program was stored before places were recorded.
    """
    program = cardinalities.program
    unrolled = () if program.dataflow is None else program.dataflow.unrolled
    spans = _spans(cardinalities)
    launches = [
        references_of(cardinalities, launch, unrolled, order, spans) for launch in range(len(program.launches))
    ]
    return TrafficPlan(NamedCounts(tuple(launch for launch, _ in launches)), all(exact for _, exact in launches))


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
