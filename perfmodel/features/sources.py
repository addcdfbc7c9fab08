"""The counts that the features of a kernel are made of, found once for each kernel.

:class:`FeatureSources` lists the distinct :class:`~perfmodel.counts.Count` values and to which
feature each of them is added. Only the accesses whose stride class depends on the sizes are left to
be classified at each evaluation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfmodel.counts.quasipoly.distinct import DistinctCounts, JointCounts
from perfmodel.errors import ParameterError
from perfmodel.features.names import operation_feature
from perfmodel.features.stride import CLASS_NAMES, class_code

if TYPE_CHECKING:
    from perfmodel.counts import AccessCount, Count, KernelCounts


@dataclass(frozen=True)
class UnclassifiedAccess:
    """A global access whose stride class depends on the sizes."""

    prefix: str  # its feature's name up to the class, as ``global_load_32_``
    count: int  # this and the next three: positions in :attr:`FeatureSources.counts`
    stride: int
    footprint: int
    filled: int


@dataclass(frozen=True)
class FeatureSources:
    """The counts of a kernel and the features that they are added to."""

    counts: JointCounts  # distinct; each is evaluated once
    sums: tuple[tuple[str, tuple[int, ...]], ...]  # a feature, and the positions of its counts
    unclassified: tuple[UnclassifiedAccess, ...]  # accesses to classify at each size; they are in no sum


def find_sources(counts: KernelCounts) -> FeatureSources:
    """Return the counts that the features of a counted kernel are made of."""
    position = DistinctCounts()
    sums: dict[str, list[int]] = {}
    for name, count in _settled(counts):
        sums.setdefault(name, []).append(position(count))
    unclassified = tuple(
        _unclassified(row, position)
        for row in counts.access_table
        if row.space == "global" and _settled_class(row) is None
    )
    return FeatureSources(
        position.joint(),
        tuple((name, tuple(places)) for name, places in sums.items()),
        unclassified,
    )


def _settled(counts: KernelCounts) -> Iterable[tuple[str, Count]]:
    for operation in counts.operation_table:
        yield operation_feature(operation.dtype, operation.kind), operation.count
    for row in counts.access_table:
        if row.space == "local":
            yield f"local_{row.direction}_{row.bits}", row.count
        elif row.space == "global":
            settled = _settled_class(row)
            if settled is not None:
                yield f"global_{row.direction}_{row.bits}_{settled}", row.count
    yield "barrier_local", counts.barriers(scope="local")
    yield "work_groups", counts.work_groups()
    yield "launches", counts.launches()


def _settled_class(row: AccessCount) -> str | None:
    if row.indirect:
        return "indirect"
    try:
        stride = row.stride()
    except ParameterError:  # a function of the sizes
        return None
    return CLASS_NAMES[class_code(stride, 1, 1)] if stride <= 1 else None


def _unclassified(row: AccessCount, position: DistinctCounts) -> UnclassifiedAccess:
    # Without a footprint the utilisation is unknown and taken to be full: both counts are equal.
    footprint, filled = row.footprint, row.filled
    if footprint is None or filled is None:
        footprint = filled = row.count
    return UnclassifiedAccess(
        f"global_{row.direction}_{row.bits}_",
        position(row.count),
        position(row.stride),
        position(footprint),
        position(filled),
    )
