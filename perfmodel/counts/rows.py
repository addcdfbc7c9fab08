"""The rows of a kernel's tables of counts: values, selection, JSON, and text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import islpy as isl

from perfmodel.counts.quasipoly.arguments import INTEGERS
from perfmodel.counts.quasipoly.count import Count
from perfmodel.documents import MOST_LANES, shortened
from perfmodel.errors import DocumentError

GRANULARITIES = ("workitem", "subgroup", "workgroup")
DEFERRED = ("footprint", "filled")  # of an access row: counted at their first use
Row = TypeVar("Row")


@dataclass(frozen=True)
class OperationCount:
    """Real operations of one type and kind, executed by all work-items of the launch sequence."""

    dtype: str  # as ``float32``
    kind: str  # as ``add``
    count: Count


@dataclass(frozen=True)
class AccessCount:
    """Accesses to one array in one direction with one lane stride.

    ``stride`` is the distance between neighbouring lanes' addresses [access size]. The stride is 0 for ``indirect``
    accesses, whose address depends on data. ``footprint`` is the number of distinct cells in this direction. ``filled``
    includes the gaps that this stride leaves between these cells. If the stride is below 2, or the cells are unknown,
    ``filled`` is None. ``footprint`` and ``filled`` are counted at their first use.
    """

    space: str
    direction: str
    array: str
    dtype: str
    bits: int
    indirect: bool
    stride: Count
    count: Count
    footprint: Count | None
    filled: Count | None

    @classmethod
    def deferred(cls, cells: Callable[[], tuple[Count | None, Count | None]], **known: Any) -> AccessCount:
        """Return a row whose ``footprint`` and ``filled`` are counted by ``cells`` at their first use."""
        row = object.__new__(cls)
        vars(row).update(known, _cells=cells)
        return row

    if not TYPE_CHECKING:  # a type checker would accept any name

        def __getattr__(self, name: str) -> Count | None:
            if name not in DEFERRED or "_cells" not in vars(self):
                raise AttributeError(f"an AccessCount has no '{name}'")
            vars(self).update(zip(DEFERRED, vars(self)["_cells"](), strict=True))
            return vars(self)[name]

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields for a copy or another process. All fields are counted first."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True)
class BarrierCount:
    """Barriers of one scope (``local`` or ``global``), counted for each work-item that executes them."""

    scope: str
    count: Count


@dataclass(frozen=True)
class LaunchCount:
    """One device kernel: its work-group shape, launches and work-groups."""

    name: str
    group_shape: tuple[int, ...]  # work-items along l.0, l.1, ....
    launches: Count
    work_groups: Count  # of all launches


@dataclass(frozen=True)
class LaunchShape:
    """The resources of a launch."""

    group_shape: tuple[int, ...]  # work-items along l.0, l.1, ....
    local_bytes: int  # of the local arrays of a work-group
    private_bytes: int  # of the private arrays of a work-item


def matches(row: object, wanted: Mapping[str, object]) -> bool:
    """Return whether a row or an access has the wanted attributes. None means any value."""
    return all(value is None or value == getattr(row, name) for name, value in wanted.items())


def total(counts: Iterable[Count], granularity: str = "workitem") -> Count:
    """Return the sum of counts. An empty sum has the given granularity."""
    number: Count | None = None
    for _, group in groupby(counts, key=id):  # equal counts of one domain: isl scales faster than it adds
        same = list(group)
        if number is None or same[0].polynomial.n_piece() == 1:
            same = [len(same) * same[0]]
        for count in same:
            number = count if number is None else number + count
    return Count.constant(0, granularity) if number is None else number


#: Each table's rows, in the order of the attributes of a ``KernelCounts``.
TABLES: Mapping[str, type[Any]] = MappingProxyType({
    "launch_table": LaunchCount, "operation_table": OperationCount, "access_table": AccessCount,
    "barrier_table": BarrierCount,
})


def write_row(row: Any) -> dict[str, Any]:
    values = {field.name: getattr(row, field.name) for field in fields(row)}
    return {
        name: value.to_json() if isinstance(value, Count) else list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
    }


def read_row(kind: type[Row], data: Mapping[str, Any]) -> Row:
    """Read a row that :func:`write_row` wrote. A missing, unknown or mistyped part is a TypeError."""
    row = kind(**{
        name: Count.from_json(value) if isinstance(value, Mapping)
        else tuple(value) if isinstance(value, list) else value
        for name, value in data.items()
    })
    for field in fields(row):  # type: ignore[arg-type]  # each kind is a dataclass
        if not _OF_TYPE[str(field.type)](getattr(row, field.name)):
            raise TypeError(f"{field.name} is {shortened(data[field.name])}, not of type {field.type}")
    return row


def _whole(value: object) -> bool:
    return type(value) is int and value >= 0


#: For each type of a row's field, by its text: a test whether a value is of this type.
_OF_TYPE: Mapping[str, Callable[[Any], bool]] = MappingProxyType({
    "str": lambda value: isinstance(value, str), "bool": lambda value: isinstance(value, bool), "int": _whole,
    "tuple[int, ...]": lambda value: isinstance(value, tuple) and all(map(_whole, value)),
    "Count": lambda value: isinstance(value, Count),
    "Count | None": lambda value: value is None or isinstance(value, Count),
})  # fmt: skip


@contextmanager
def reading_counts() -> Iterator[None]:
    """Turn the errors of reading a document of counts into a DocumentError."""
    try:
        yield
    except KeyError as error:
        raise DocumentError(f"lacks {shortened(error.args[0])}") from error
    except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, RecursionError, isl.Error) as error:
        if isinstance(error, DocumentError):
            raise
        problem = shortened(" ".join(str(error).split()), 200, quoted=False)
        raise DocumentError(f"has a part that is not a count ({problem})") from error


def size_types(types: Any) -> dict[str, str]:
    """Return the types of arguments by name. Raise a DocumentError if one is not an integer type."""
    if not isinstance(types, dict) or not all(isinstance(kind, str) and kind in INTEGERS for kind in types.values()):
        raise DocumentError(f"has types = {shortened(types)}; each argument must have one of {', '.join(INTEGERS)}")
    return types


def lanes_of(size: Any) -> int:
    """Return the size of sub-groups. Raise a DocumentError if it is invalid."""
    if type(size) is not int or not 1 <= size <= MOST_LANES:
        raise DocumentError(f"has subgroup_size = {shortened(size)}; it must be an integer from 1 to {MOST_LANES}")
    return size


COLUMNS = ("what", "dtype", "kind", "space", "direction", "array", "bits", "stride", "count", "exact", "granularity")
"""Columns of :func:`records`; with sizes there is a column ``value``."""
LONGEST = 90  # characters of a formula in a notebook


def _shown(counts: Any) -> Iterator[tuple[dict[str, Any], Count]]:
    for launch in counts.launch_table:
        yield {"what": "launches", "kind": launch.name}, launch.launches
        yield {"what": "work-groups", "kind": launch.name}, launch.work_groups
    for operation in counts.operation_table:
        yield {"what": "operation", "dtype": operation.dtype, "kind": operation.kind}, operation.count
    for row in counts.access_table:
        yield {
            "what": "access", "dtype": row.dtype, "space": row.space, "direction": row.direction, "array": row.array,
            "bits": row.bits, "stride": "indirect" if row.indirect else str(row.stride),
        }, row.count  # fmt: skip
    yield from (({"what": "barrier", "space": barrier.scope}, barrier.count) for barrier in counts.barrier_table)


def records(counts: Any, sizes: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    """Yield rows of :data:`COLUMNS`. If sizes are given, the rows have the ``value`` of each count."""
    for known, count in _shown(counts):
        row = {**dict.fromkeys(COLUMNS, ""), "bits": None, **known, "count": str(count), "exact": count.exact}
        row["granularity"] = count.granularity
        yield {**row, "value": count(**sizes)} if sizes else row


def text_rows(counts: Any) -> list[tuple[str, ...]]:
    """Return a heading and a row of text for each count."""
    return [("what", "details", "executions"), *(
        (known["what"], _words(known), shortened(str(count), LONGEST, quoted=False)) for known, count in _shown(counts)
    )]


def _words(known: Mapping[str, Any]) -> str:
    if known["what"] != "access":
        return " ".join(str(known[name]) for name in ("dtype", "kind", "space") if name in known)
    stride = "indirect" if known["stride"] == "indirect" else f"stride {known['stride']}"
    return f"{known['space']} {known['direction']} of {known['array']}, {known['bits']} bits, {stride}"
