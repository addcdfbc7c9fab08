"""The counts of a kernel as rows for people: of a table in a notebook, and of a pandas table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.rows import AccessCount, BarrierCount, LaunchCount, OperationCount
from perfmodel.documents import shortened

COLUMNS = ("what", "dtype", "kind", "space", "direction", "array", "bits", "stride", "count", "exact", "granularity")
"""Columns of :func:`records`; with sizes there is also ``value``."""
HEADER = ("what", "of what", "executions")
LONGEST = 90  # characters of a formula in a notebook
Table = Iterable[tuple[dict[str, Any], Count]]


def launch_rows(rows: Iterable[LaunchCount]) -> Iterator[tuple[dict[str, Any], Count]]:
    """Yield launches and work-groups of each device kernel, each with what it counts."""
    for row in rows:
        yield {"what": "launches", "kind": row.name}, row.launches
        yield {"what": "work-groups", "kind": row.name}, row.work_groups


def operation_rows(rows: Iterable[OperationCount]) -> Iterator[tuple[dict[str, Any], Count]]:
    """Yield operations, each with its type and kind."""
    for row in rows:
        yield {"what": "operation", "dtype": row.dtype, "kind": row.kind}, row.count


def access_rows(rows: Iterable[AccessCount]) -> Iterator[tuple[dict[str, Any], Count]]:
    """Yield accesses, each with its array and the distance between neighbouring lanes."""
    for row in rows:
        yield {
            "what": "access", "dtype": row.dtype, "space": row.space, "direction": row.direction, "array": row.array,
            "bits": row.bits, "stride": "indirect" if row.indirect else str(row.stride),
        }, row.count  # fmt: skip


def barrier_rows(rows: Iterable[BarrierCount]) -> Iterator[tuple[dict[str, Any], Count]]:
    """Yield barriers, each with its scope."""
    for row in rows:
        yield {"what": "barrier", "space": row.scope}, row.count


def records(table: Table, sizes: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    """Yield rows of :data:`COLUMNS`; where sizes are given, with the ``value`` of each count at them."""
    for known, count in table:
        row = {**dict.fromkeys(COLUMNS, ""), "bits": None, **known, "count": str(count), "exact": count.exact}
        row["granularity"] = count.granularity
        yield {**row, "value": count(**sizes)} if sizes else row


def html_rows(table: Table) -> list[tuple[str, ...]]:
    """Return the heading and a row of text for each count."""
    rows = [(known["what"], _words(known), shortened(str(count), LONGEST, quoted=False)) for known, count in table]
    return [HEADER, *rows]


def _words(known: Mapping[str, Any]) -> str:
    if known["what"] != "access":
        return " ".join(str(known[name]) for name in ("dtype", "kind", "space") if name in known)
    stride = "indirect" if known["stride"] == "indirect" else f"stride {known['stride']}"
    return f"{known['space']} {known['direction']} of {known['array']}, {known['bits']} bits, {stride}"
