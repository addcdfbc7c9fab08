"""From counts to feature values: what can be settled once for a kernel is settled once.

A *plan* lists the distinct :class:`~perfmodel.counts.Count` values that a kernel's features need
and which feature each of them goes to. Only accesses whose stride class depends on the sizes are
left for each evaluation.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfmodel.errors import ParameterError
from perfmodel.features.names import operation_feature
from perfmodel.features.stride import CLASS_NAMES, class_code

if TYPE_CHECKING:
    from perfmodel.counts import AccessCount, Count, KernelCounts


@dataclass(frozen=True)
class OpenAccess:
    """A global access whose stride class is known only at given sizes.

    Parameters
    ----------
    prefix
        Its feature's name up to the class, as in ``global_load_32_``.
    count, stride, footprint, filled
        Positions in :attr:`Plan.quantities`.
    """

    prefix: str
    count: int
    stride: int
    footprint: int
    filled: int


@dataclass(frozen=True)
class Plan:
    """What to evaluate for a kernel's features.

    Parameters
    ----------
    parameters
        Size parameters of the kernel, sorted.
    quantities
        Distinct counts; each is evaluated once.
    sums
        For each feature whose name is settled, the positions of the quantities it sums.
    open_accesses
        Accesses to classify at each size.
    """

    parameters: tuple[str, ...]
    quantities: tuple[Count, ...]
    sums: tuple[tuple[str, tuple[int, ...]], ...]
    open_accesses: tuple[OpenAccess, ...]


class _Positions:
    """Distinct counts in the order in which they were first asked for."""

    def __init__(self) -> None:
        self.quantities: list[Count] = []
        self._places: dict[str, int] = {}

    def __call__(self, count: Count) -> int:
        # as text: comparing counts as functions takes isl longer than evaluating one twice
        key = json.dumps(count.to_json(), sort_keys=True)
        place = self._places.setdefault(key, len(self.quantities))
        if place == len(self.quantities):
            self.quantities.append(count)
        return place


def build_plan(counts: KernelCounts) -> Plan:
    """Return the plan of a counted kernel."""
    position = _Positions()
    sums: dict[str, list[int]] = {}
    open_accesses = []
    for name, count in _settled(counts):
        sums.setdefault(name, []).append(position(count))
    for row in counts.access_table:
        if row.space == "global" and _settled_class(row) is None:
            open_accesses.append(_open_access(row, position))
    return Plan(
        counts.parameters,
        tuple(position.quantities),
        tuple((name, tuple(places)) for name, places in sums.items()),
        tuple(open_accesses),
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


def _open_access(row: AccessCount, position: _Positions) -> OpenAccess:
    # Without a footprint the utilisation is unknown; the row itself then stands for both, which
    # is the class of full use.
    footprint, filled = row.footprint, row.filled
    if footprint is None or filled is None:
        footprint = filled = row.count
    return OpenAccess(
        f"global_{row.direction}_{row.bits}_",
        position(row.count),
        position(row.stride),
        position(footprint),
        position(filled),
    )

