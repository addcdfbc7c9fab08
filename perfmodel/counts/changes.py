"""What differs between two counts of one kernel, as after a change of the counters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from perfmodel.counts.kernel import TABLES, KernelCounts
from perfmodel.counts.quasipoly.count import Count
from perfmodel.errors import IncomparableCountsError

NOTHING = "none"


@dataclass(frozen=True)
class Change:
    """One value of a table that is another function of the sizes now.

    Attributes
    ----------
    table : str
        As ``"access_table"``.
    row : str
        What the row counts, as ``"global load a float32 32"``.
    value : str
        As ``"count"`` or ``"footprint"``.
    old, new : str
        The counts as text; ``"none"`` where there is none.
    """

    table: str
    row: str
    value: str
    old: str
    new: str


def changes(old: KernelCounts, new: KernelCounts) -> tuple[Change, ...]:
    """Return the values in the tables of two counts that differ as functions of the sizes.

    Examples
    --------
    >>> import loopy as lp
    >>> from perfmodel.counts import count
    >>> def scaled(text):
    ...     return count(lp.make_kernel("{ [i]: 0 <= i < n }", text, [lp.GlobalArg("a", "float32", "n"), ...],
    ...                                 lang_version=(2018, 2), assumptions="n >= 1"))
    >>> change, *_ = changes(scaled("a[i] = 2"), scaled("a[i] = 2 {if=i > 0}"))
    >>> change
    Change(table='access_table', row='global store a float32 32 lane stride 0', value='count', old='n', new='n - 1')
    """
    return tuple(change for table in TABLES for change in _changes_in(table, old, new))


def parts(old: KernelCounts, new: KernelCounts) -> tuple[str, ...]:
    """Return the parts of the JSON of two counts that differ, as ``"source.dataflow"``: why their hashes do."""
    return tuple(_parts(old.to_json(), new.to_json(), ""))


def _parts(old: dict[str, Any], new: dict[str, Any], before: str) -> Iterator[str]:
    for name in dict.fromkeys((*old, *new)):
        left, right = old.get(name), new.get(name)
        if name == "source" and left and right:
            yield from _parts(left, right, "source.")
        elif left != right:
            yield before + name


def _changes_in(table: str, old: KernelCounts, new: KernelCounts) -> Iterator[Change]:
    left, right = (dict(_values(getattr(counts, table))) for counts in (old, new))
    for row, value in dict.fromkeys((*left, *right)):
        was, now = left.get((row, value)), right.get((row, value))
        if not _equal(was, now):
            yield Change(table, row, value, *_texts(was, now))


def _values(table: tuple[Any, ...]) -> Iterator[tuple[tuple[str, str], Count]]:
    for row in table:
        found = {field.name: getattr(row, field.name) for field in fields(row)}
        stride, indirect = found.pop("stride", None), found.pop("indirect", False)  # rows are told apart by them too
        named = [str(one) for one in found.values() if not isinstance(one, Count | None)]
        how = ["indirect"] if indirect else [] if stride is None else [f"lane stride {stride}"]
        for name, one in found.items():
            if isinstance(one, Count):
                yield (" ".join((*named, *how)), name), one


def _equal(was: Count | None, now: Count | None) -> bool:
    try:
        return was == now
    except IncomparableCountsError:  # no formulas; a difference of the texts is all that is known
        return False


def _texts(was: Count | None, now: Count | None) -> tuple[str, str]:
    """Return both as text, with the granularity where the formulas are alike."""
    old, new = (NOTHING if one is None else str(one) for one in (was, now))
    return (old, new) if old != new else (repr(was), repr(now))
