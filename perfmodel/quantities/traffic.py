"""Bytes that a kernel moves, and lines of global memory that caches of a device fetch, whose lanes run in lockstep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perfmodel.quantities.case import Case

if TYPE_CHECKING:
    from perfmodel.counts import AccessCount

TRANSFER_FACTS = ("global_transaction_bytes", "l2_line_bytes", "cache_line_bytes")
"""Facts that give the size of a transfer; the first that is known counts."""


def transfer_bytes(case: Case) -> float:
    """Return the size L of a transfer with global memory [B]: a transaction, else a line of a cache."""
    return float(case.fact(next(filter(case.knows, TRANSFER_FACTS), TRANSFER_FACTS[0])))


def global_bytes(case: Case) -> Any:
    r"""Return the bytes that must move between global memory and the chip [B].

    For each array and direction it is the footprint with its gaps filled, as far as whole transfers
    of L bytes move the gaps (:func:`transfer_bytes`): :math:`\min(|F_{filled}| \, b, |F| \, L)` for cells of b
    bytes. Data that a kernel accesses again is taken to be still on the chip: the on-chip memory Z
    of Kim et al. (2012), section 2.3, has no limit here. An array whose cells depend on data counts
    b bytes for each access.
    """
    line = transfer_bytes(case)
    arrays: dict[tuple[str, str], list[AccessCount]] = {}
    for row in case.counts.access_table:
        if row.space == "global":
            arrays.setdefault((row.array, row.direction), []).append(row)
    return sum((_array_bytes(case, rows, line) for rows in arrays.values()), 0.0)


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
    return np.minimum(spanned * size, touched * line)


def local_bytes(case: Case) -> Any:
    """Return the bytes that move between local memory and registers [B].

    A cell that all lanes of a sub-group access at once moves once for all of them: on a CPU it is
    one load of a scalar, on a GPU a broadcast. The result is a lower bound on both.
    """
    total: Any = 0.0
    for row in case.counts.access_table:
        if row.space == "local":
            shared = (not row.indirect) & (case.value(row.stride) == 0)
            total = total + case.value(row.count) * row.bits / 8 / np.where(shared, case.counts.subgroup_size, 1)
    return total


EVERYTHING = 2**50
"""Bytes of a cache into which all data fits."""


def last_cache(case: Case, least: int) -> int | None:
    """Return the bytes of the cache before memory, at least `least`; None where it is not known."""
    size = case.known("l3_bytes", case.known("l2_bytes", case.known("cache_bytes")))
    return None if size is None else max(int(size), least)


def fetched_lines(case: Case, capacity: Any, line: int, ways: int = 0) -> Any:
    """Return the lines that caches of some bytes fetch for loads of global arrays, of the sizes' shape.

    With `ways` a cache has sets of so many lines; by default any line may be anywhere.
    """
    return _lines(case, capacity, line, "loads", ways)


def touched_lines(case: Case, line: int) -> Any:
    """Return the lines of global arrays that launches touch, of the sizes' shape."""
    return _lines(case, EVERYTHING, line, "fetched")


def _lines(case: Case, capacity: Any, line: int, which: str, ways: int = 0) -> Any:
    arrays = sorted({row.array for row in case.counts.access_table if row.space == "global"})
    sizes = {name: np.asarray(size) for name, size in case.parameters.items()}
    shape = np.broadcast_shapes(*(size.shape for size in sizes.values()))
    wanted, total = np.broadcast_to(capacity, shape), np.zeros(shape)
    for size in np.unique(wanted):
        sets = int(size) // line // ways if ways else 0
        for array in arrays:
            model = case.counts.traffic(array, sets * ways * line or int(size), line, sets, "lockstep")
            total = total + np.where(wanted == size, getattr(model.evaluate(sizes), which), 0.0)
    return total[()]
