"""Bytes that a kernel moves."""

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
