"""Accesses of sub-groups to memory: how often they are repeated, and the segments that they touch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from perfmodel.quantities.case import Case
from perfmodel.quantities.lane_patterns import bank_passes, segments_touched

if TYPE_CHECKING:
    from perfmodel.counts import Count
    from perfmodel.counts.nests.issues import IssuedAccess

WORD_BITS = 32


def local_passes(case: Case, accesses: Iterable[IssuedAccess]) -> Any:
    """Return accesses to local memory, each as often as it is repeated for lanes whose words share a bank.

    Where the number of ``banks`` is not known, an access is repeated for each 4-byte word of a lane. Where data
    decide the address, it is repeated for each lane.
    """
    total: Any = 0.0
    for one in accesses:
        words = max(one.bits / WORD_BITS, 1.0)
        active = active_lanes(case, one)
        if not case.knows("banks"):
            each: Any = words
        elif one.lanes is None:
            each = active * words
        else:
            each = np.minimum(_over_sizes(case, one.lanes, partial(_passes, case, one)), active * words)
        total = total + case.value(one.count) * each
    return total


def segments(case: Case, accesses: Iterable[IssuedAccess], segment: int, scattered: int | None = None) -> Any:
    """Return the segments of memory that accesses touch, each execution by a sub-group for itself.

    Where data decide the address, each active lane touches one segment, or as much of one as `scattered` bytes are.
    """
    total: Any = 0.0
    for one in accesses:
        active = active_lanes(case, one)
        if one.lanes is None:
            each: Any = active * (scattered or segment) / segment
        else:
            counts = (one.start, *one.lanes, *(count for pair in one.moves for count in pair))
            most = active * (-(-one.bits // 8 // segment) + 1)
            each = np.minimum(_over_sizes(case, counts, partial(_touched, case, one, segment)), most)
        total = total + case.value(one.count) * each
    return total


def active_lanes(case: Case, one: IssuedAccess) -> Any:
    """Return the mean number of lanes that execute an access together."""
    number = case.value(one.count)
    return case.value(one.items) / np.where(number > 0, number, 1)


def _passes(case: Case, one: IssuedAccess, steps: tuple[int, ...]) -> float:
    return bank_passes(steps, one.shape, case.counts.subgroup_size, one.bits // 8, int(case.fact("banks")))


def _touched(case: Case, one: IssuedAccess, segment: int, numbers: tuple[int, ...]) -> float:
    start, *rest = numbers
    lanes = len(one.lanes or ())
    moves = tuple(zip(rest[lanes::2], rest[lanes + 1::2], strict=True))
    return segments_touched(
        tuple(rest[:lanes]), one.shape, case.counts.subgroup_size, one.bits // 8, segment, start % segment, moves
    )


def _over_sizes(case: Case, counts: Sequence[Count], value: Callable[[tuple[int, ...]], float]) -> Any:
    """Return a function of counts at each of the sizes."""
    table = np.broadcast_arrays(*(np.asarray(case.value(count)) for count in counts))
    found = np.empty(table[0].shape)
    for place in np.ndindex(found.shape):
        found[place] = value(tuple(int(column[place]) for column in table))
    return found[()]
