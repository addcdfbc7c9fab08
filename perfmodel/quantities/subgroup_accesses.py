"""Accesses of sub-groups to memory: what lanes touch together, how often accesses are repeated, and their transactions.

Lanes touch segments of global memory and banks of local memory. Transactions are those that a sub-group, or a row of
neighbouring work-items, needs for an access.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from math import gcd
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perfmodel.quantities.case import Case
from perfmodel.quantities.traffic import transfer_bytes

if TYPE_CHECKING:
    from perfmodel.counts import Count
    from perfmodel.counts.nests.issues import IssuedAccess

Ints = npt.NDArray[np.int64]
WORD = 4  # bytes of a bank's word


@lru_cache(maxsize=65536)
def segments_touched(
    steps: tuple[int, ...], shape: tuple[int, ...], subgroup: int, size: int, segment: int, start: int,
    moves: tuple[tuple[int, int], ...] = (),
) -> float:
    """Return how many segments of memory one access by a sub-group touches, the mean over sub-groups and executions.

    Parameters
    ----------
    steps : tuple of int
        Bytes by which the address moves along l.0, l.1, ....
    shape : tuple of int
        Work-items of a group along l.0, l.1, ..., of which l.0 is the fastest in a sub-group.
    subgroup : int
        Work-items of a sub-group.
    size : int
        Bytes of one access.
    segment : int
        Bytes of a segment; segments are aligned.
    start : int
        Address of the first lane where all loops and groups are at their first value [B].
    moves : tuple of (int, int)
        Of each loop and group axis the bytes by which it moves the address, and the number of its values.

    Examples
    --------
    Lanes of 4 bytes side by side, from the begin of a segment, and from any word on: 31 places of 32 need two.

    >>> segments_touched((4,), (32,), 32, 4, 128, 0), segments_touched((4,), (32,), 32, 4, 128, 0, ((4, 100),))
    (1.0, 1.96875)

    Two rows of 16 lanes, which are 1000 cells apart, and a column:

    >>> segments_touched((4, 4000), (16, 2), 32, 4, 128, 0), segments_touched((4000,), (32,), 32, 4, 128, 0)
    (2.0, 32.0)
    """
    places = np.array(sorted(_places(start, moves, segment)))
    first = _addresses(steps, shape, subgroup)[:, None, :] + places[None, :, None]
    both = np.concatenate([first // segment, (first + size - 1) // segment], axis=-1)
    both.sort(axis=-1)
    distinct = 1 + (np.diff(both, axis=-1) != 0).sum(axis=-1)
    return float(distinct.mean())


@lru_cache(maxsize=65536)
def bank_passes(steps: tuple[int, ...], shape: tuple[int, ...], subgroup: int, size: int, banks: int) -> float:
    """Return how often one access to local memory is repeated, the mean over sub-groups.

    It is the most distinct words of 4 bytes that its lanes touch in one bank; a word that several lanes read is one.
    For the other parameters see :func:`segments_touched`.

    Examples
    --------
    >>> [bank_passes((4 * stride,), (32,), 32, 4, 32) for stride in (0, 1, 2, 32, 33)]
    [1.0, 1.0, 2.0, 32.0, 1.0]
    """
    words = _addresses(steps, shape, subgroup)[:, :, None] // WORD + np.arange(max(size // WORD, 1))
    touched = (np.unique(one) for one in words)
    return float(np.mean([np.bincount(one % banks).max() for one in touched]))


def _places(start: int, moves: tuple[tuple[int, int], ...], segment: int) -> set[int]:
    """Return the places in a segment from which the first lane begins."""
    found = {start % segment}
    for step, values in moves:
        turns = min(values, segment // gcd(step, segment))
        found = {(place + turn * step) % segment for place in found for turn in range(turns)}
    return found


def _addresses(steps: tuple[int, ...], shape: tuple[int, ...], subgroup: int) -> Ints:
    """Return the addresses of the lanes of each sub-group, whose free places repeat a lane; shape (n, subgroup)."""
    number = int(np.prod(shape))
    items = np.arange(-(-number // subgroup) * subgroup).reshape(-1, subgroup)
    items = np.minimum(items, number - 1)
    address = np.zeros(items.shape, dtype=np.int64)
    for step, extent in zip(steps, shape, strict=True):
        address += step * (items % extent)
        items = items // extent
    return address


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


def row_transactions(case: Case) -> Any:
    r"""Return M, the transactions of all accesses when neighbouring work-items along l.0 access together.

    A row of r work-items whose cells are s bytes apart takes s/C transactions of C bytes for each
    work-item, at least 1/r and at most 1; an access that depends on data takes 1 (Ma et al. 2014,
    footnote 6). r is the first axis of the work-group, at most a sub-group.
    """
    chunk, total = transfer_bytes(case), 0.0
    row_of_lanes = min(case.counts.subgroup_size, (*case.counts.launch.group_shape, 1)[0])
    for row in case.counts.access_table:
        if row.space == "global":
            apart = chunk if row.indirect else np.abs(case.value(row.stride)) * row.bits / 8
            total = total + case.value(row.count) * np.clip(apart / chunk, 1 / row_of_lanes, 1.0)
    return total


def global_accesses(case: Case) -> tuple[Any, Any, Any]:
    """Return the executions of each access to global memory, its lane stride in accesses, and its bytes.

    Executions and strides are of shape (n_accesses, and the sizes' shape). The stride is infinite
    where the access depends on data.
    """
    rows = [row for row in case.counts.access_table if row.space == "global"]
    amounts = np.array([case.value(row.count) for row in rows] or [case.total("work_groups") * 0.0])
    apart = [np.inf + 0 * amount if row.indirect else np.abs(case.value(row.stride)) + 0 * amount
             for row, amount in zip(rows, amounts, strict=False)]  # fmt: skip
    size = np.array([row.bits / 8 for row in rows] or [4.0]).reshape(-1, *(1,) * (amounts.ndim - 1))
    return amounts, np.array(apart or amounts), size


def subgroup_transactions(case: Case, apart: Any, sizes: Any) -> Any:
    r"""Return the transactions of one access by a sub-group of S lanes.

    :math:`\lceil b S s / C \rceil` for accesses of b bytes with lane stride s and transactions of C bytes, at least
    1 and at most S (Wang and Lou 2017, section 3.2). `apart` and `sizes` are s and b of :func:`global_accesses`.
    """
    lanes = case.counts.subgroup_size
    return np.clip(np.ceil(sizes * lanes * apart / transfer_bytes(case)), 1, lanes)
