"""What a kernel moves: bytes, lines that caches fetch, and the transactions and passes of sub-groups' accesses.

Lines are counted for lanes that run in lockstep. Transactions are those that a sub-group, or a row of neighbouring
work-items, needs for an access: its lanes touch segments of global memory and banks of local memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import lru_cache
from math import gcd
from typing import Any

import numpy as np
import numpy.typing as npt

from perfmodel.counts import AccessCount, KernelCounts
from perfmodel.counts.traffic.footprints import Cache
from perfmodel.counts.traffic.traffic import MovedLines, TrafficAt
from perfmodel.facts import DeviceFacts
from perfmodel.quantities.case import Case

TRANSFER_FACTS = ("global_transaction_bytes", "l2_line_bytes", "cache_line_bytes")
"""Facts that give the size of a transfer; the first that is known counts."""
LAST_LEVEL = ("last_level_bytes", "l3_told_bytes", "cache_bytes", "l3_bytes")
"""Facts that give the last level's capacity; the first that is known counts.

What the system tells comes after the measured one: on a virtual machine it is that of the whole host. What a pointer
chase measures comes last: a round through its lines takes so long that others who share the cache drive them out.
"""


def transfer_bytes(case: Case) -> float:
    """Return the size L of a transfer with global memory [B]: a transaction, else a line of a cache."""
    return float(case.fact(next(filter(case.knows, TRANSFER_FACTS), TRANSFER_FACTS[0])))


def global_bytes(case: Case) -> Any:
    r"""Return the bytes that must move between global memory and the chip [B].

    For each array and direction it is the footprint with its gaps filled, as far as whole transfers of L bytes move the
    gaps (:func:`transfer_bytes`): :math:`\min(|F_{filled}| \, b, |F| \, L)` for cells of b bytes. Data that a kernel
    accesses again is taken to be still on the chip: the on-chip memory Z of Kim et al. (2012), section 2.3, has no
    limit here, unless the fact ``on_chip_bytes`` gives it. Then they are the lines that a cache of Z bytes holds for
    loads, and those that it writes back (:func:`moved_lines`). An array whose cells depend on data counts b bytes for
    each access, if Z has no limit.
    """
    line = transfer_bytes(case)
    if case.knows("on_chip_bytes"):
        moved = moved_lines(case, case.fact("on_chip_bytes"))
        return (moved.loads + moved.stores) * line
    return sum((_array_bytes(case, rows, line) for rows in _by_array(case)), 0.0)


def least_bytes(case: Case) -> Any:
    r"""Return a lower bound of the bytes that a kernel moves between global memory and the chip [B].

    As :func:`global_bytes`, but of lanes s cells apart each s cells move :math:`\min(s b, L)` bytes at least, for what
    they access may lie in one transfer. An array with cells that depend on data counts nothing: it may be one cell.
    """
    line = transfer_bytes(case)
    return sum((_least_of_array(case, rows, line) for rows in _by_array(case)), 0.0)


def _by_array(case: Case) -> Iterable[list[AccessCount]]:
    """Return the accesses to global memory of each array in each direction."""
    arrays: dict[tuple[str, str], list[AccessCount]] = {}
    for row in case.counts.access_table:
        if row.space == "global":
            arrays.setdefault((row.array, row.direction), []).append(row)
    return arrays.values()


def _least_of_array(case: Case, rows: list[AccessCount], line: float) -> Any:
    cells = next((row.footprint for row in rows if row.footprint is not None), None)
    if cells is None or any(row.indirect for row in rows):
        return 0.0
    size = rows[0].bits / 8
    line = max(line, size)
    least = touched = case.value(cells) * size
    for row in rows:
        if row.filled is not None:
            apart = np.maximum(np.abs(case.value(row.stride)), 1)
            least = np.maximum(least, case.value(row.filled) / apart * np.minimum(apart * size, line))
    return np.minimum(least, touched * line / size)


def _array_bytes(case: Case, rows: list[AccessCount], line: float) -> Any:
    """Return the bytes of one array in one direction."""
    size = rows[0].bits / 8
    cells = next((row.footprint for row in rows if row.footprint is not None), None)
    if cells is None:
        return sum(case.value(row.count) for row in rows) * size
    touched = spanned = case.value(cells)
    for row in rows:
        if row.filled is not None:
            spanned = np.maximum(spanned, case.value(row.filled))
    return np.minimum(spanned * size, touched * max(line, size))


def moved_lines(case: Case, capacity: Any) -> MovedLines:
    """Return the lines of global arrays between a cache of some bytes and what is behind it, over all launches.

    Lines are as long as a transfer (:func:`transfer_bytes`). Work-items run one after another where ``lane_order`` is
    ``serial``, else those of a sub-group together (:meth:`perfmodel.counts.KernelCounts.traffic`). The capacity is a
    number, or an array of the sizes' shape.
    """
    line = int(transfer_bytes(case))
    arrays, places = _traffic_at(case.counts, case.parameters, line, _order(case))
    shape = np.broadcast_shapes(*map(np.shape, case.parameters.values()))
    caches = [_cache(int(octets), line) for octets in np.broadcast_to(capacity, shape).ravel()]
    if not places:  # nothing is accessed, at whatever size
        return MovedLines(*(np.zeros(shape) for _ in fields(MovedLines)))
    moved = [[at.lines(cache, array) for array in arrays] for at, cache in zip(places, caches, strict=True)]
    return MovedLines(*(_of_arrays(moved, part.name, shape) for part in fields(MovedLines)))


def fetched_lines(case: Case, *capacities: Any) -> tuple[Any, ...]:
    """Return the lines of global arrays that a cache of each capacity [B] fetches, as :func:`moved_lines` has them.

    Those of the latest sizes are kept: a device is asked more than once about a kernel, facts in doubt included.
    """
    if any(isinstance(value, np.ndarray | list | tuple) for value in (*case.parameters.values(), *capacities)):
        return tuple(moved_lines(case, capacity).fetched for capacity in capacities)
    sizes = tuple(sorted(case.parameters.items()))
    return _fetched_at(case.counts, sizes, int(transfer_bytes(case)), _order(case), tuple(map(int, capacities)))


@lru_cache(maxsize=8)
def _fetched_at(
    counts: KernelCounts, sizes: tuple[tuple[str, int], ...], line: int, order: str, capacities: tuple[int, ...]
) -> tuple[float, ...]:
    arrays, places = _traffic_at(counts, dict(sizes), line, order)
    caches = [_cache(capacity, line) for capacity in capacities]
    return tuple(float(sum(at.lines(cache, array).fetched for at in places for array in arrays)) for cache in caches)


def _order(case: Case) -> str:
    return "serial" if case.known("lane_order") == "serial" else "vectors"


def _traffic_at(
    counts: KernelCounts, sizes: Mapping[str, Any], line: int, order: str
) -> tuple[list[str], list[TrafficAt]]:
    """Return the global arrays, and the traffic at each of the sizes."""
    arrays = sorted({row.array for row in counts.access_table if row.space == "global"})
    return arrays, counts.traffic(capacity=line, line_bytes=line, order=order).plan.at_arrays(sizes, line)


def _cache(octets: int, line: int) -> Cache:
    return Cache(max(octets // line, 1), line, 0)


def _of_arrays(moved: list[list[MovedLines]], part: str, shape: tuple[int, ...]) -> Any:
    totals = np.array([sum(getattr(lines, part) for lines in of_arrays) for of_arrays in moved], dtype=np.float64)
    return totals.reshape(shape) if shape else float(totals[0])


def local_bytes(case: Case) -> Any:
    """Return the bytes that move between local memory and registers [B].

    A cell that all lanes of a sub-group access at once moves once for all of them: on a CPU it is one load of a scalar,
    on a GPU a broadcast. The result is a lower bound on both.
    """
    total: Any = 0.0
    for row in case.counts.access_table:
        if row.space == "local":
            shared = (not row.indirect) & (case.value(row.stride) == 0)
            total = total + case.value(row.count) * row.bits / 8 / np.where(shared, case.counts.subgroup_size, 1)
    return total


def least_local_bytes(case: Case) -> Any:
    """Return a lower bound of the bytes that move between local memory and registers [B].

    As :func:`local_bytes`, but none without a barrier between work-items: each then loads only what it stored itself,
    which a compiler keeps in a register.
    """
    return local_bytes(case) * (np.asarray(case.value(case.counts.barriers("local"))) > 0)


def last_cache(case: Case, least: int) -> int | None:
    """Return the bytes of the cache before memory, at least `least`; None where it is not known."""
    size = case.known("l3_bytes", case.known("l2_bytes", case.known("cache_bytes")))
    return None if size is None else max(int(size), least)


def cached_bytes(facts: DeviceFacts | None) -> float:
    """Return what all caches of a device can hold of an array from one run to the next [B]; 0 where none is known.

    It is the larger of the last level (:data:`LAST_LEVEL`) and of all second levels together: on a CPU each core has
    its own.
    """
    if facts is None:
        return 0.0
    last = next((float(facts.value(key)) for key in LAST_LEVEL if key in facts), 0.0)
    cores = facts.known("compute_units", 1) if facts.known("device_type") == "cpu" else 1
    return max(last, float(facts.known("l2_bytes", 0)) * float(cores))


# {{{ segments and banks that the lanes of a sub-group touch together

Ints = npt.NDArray[np.int64]
WORD = 4  # bytes of a bank's word


@lru_cache(maxsize=65536)
def segments_touched(
    steps: tuple[int, ...], shape: tuple[int, ...], subgroup: int, size: int, segment: int, start: int,
    moves: tuple[tuple[int, int], ...] = (),
) -> float:
    """Return how many segments of memory one access by a sub-group touches, the mean over sub-groups and executions.

    The address moves by ``steps`` [B] along l.0, l.1, ..., which have the work-items of ``shape`` in a group. It is
    ``start`` [B] on the first lane where all loops and groups are at their first value; ``moves`` has of each loop and
    group axis the bytes by which it moves the address, and the number of its values. Segments are aligned.

    Examples
    --------
    Lanes of 4 bytes side by side, from the begin of a segment, and from any word on: 31 places of 32 need two.

    >>> segments_touched((4,), (32,), 32, 4, 128, 0), segments_touched((4,), (32,), 32, 4, 128, 0, ((4, 96),))
    (1.0, 1.96875)

    Two rows of 16 lanes, which are 1000 cells apart, and a column:

    >>> segments_touched((4, 4000), (16, 2), 32, 4, 128, 0), segments_touched((4000,), (32,), 32, 4, 128, 0)
    (2.0, 32.0)
    """
    begins = np.zeros(segment)  # how often the first lane begins at each place of a segment
    begins[start % segment] = 1
    for step, values in moves:
        turns = segment // gcd(step, segment)
        moved = [(values // turns + (turn < values % turns)) * np.roll(begins, turn * step) for turn in range(turns)]
        begins = np.sum(moved, axis=0)
    places = np.flatnonzero(begins)
    first = _addresses(steps, shape, subgroup)[:, None, :] + places[None, :, None]
    parts = [*range(0, size, segment), size - 1]
    touched = np.concatenate([(first + part) // segment for part in parts], axis=-1)
    touched.sort(axis=-1)
    distinct = 1 + (np.diff(touched, axis=-1) != 0).sum(axis=-1)
    return float(np.average(distinct.mean(axis=0), weights=begins[places]))


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
    return float(np.mean([np.bincount(np.unique(touched) % banks).max() for touched in words]))


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


# }}}


def row_transactions(case: Case) -> Any:
    r"""Return M, the transactions of all accesses when neighbouring work-items along l.0 access together.

    A row of r work-items whose cells are s bytes apart takes s/C transactions of C bytes for each work-item, at least
    1/r and at most 1; an access that depends on data takes 1 (Ma et al. 2014, footnote 6). r is the first axis of the
    work-group, at most a sub-group.
    """
    amounts, apart, sizes = global_accesses(case)
    row_of_lanes = min(case.counts.subgroup_size, (*case.counts.launch.group_shape, 1)[0])
    return sum(amounts * np.clip(apart * sizes / transfer_bytes(case), 1 / row_of_lanes, 1.0), 0.0)


def global_accesses(case: Case) -> tuple[Any, Any, Any]:
    """Return the executions of each access to global memory, its lane stride in accesses, and its bytes.

    Executions and strides are of shape (n_accesses, and the sizes' shape). The stride is infinite where the access
    depends on data.
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
