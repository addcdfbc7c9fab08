"""The formulas of a kernel, and those that differ between two versions of it.

Formulas are compared as functions of the sizes: ``n + n`` equals ``2*n``. Names of inames and instructions, the order
of instructions, and names of temporaries do not enter.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from perfmodel.counts import Count, KernelCounts
from perfmodel.counts.rows import reading_counts, total
from perfmodel.display import bytes_text
from perfmodel.documents import shortened
from perfmodel.errors import CountError, DocumentError
from perfmodel.values import FrozenValue, grouped

LONGEST = 160  # characters of a formula that are shown
TITLE = "# counts of "
NUMBERED = " #"  # before the number of a kernel in a recording that has the name of another
INDIRECT = "indirect"
SHAPES = ("group size", "local memory", "private memory")
GRANULARITIES = {
    "launches": "launch", "work-groups": "workgroup", "cells loaded": "cell", "cells stored": "cell", "layout": "cell",
}  # fmt: skip
CELLS = {"load": "cells loaded", "store": "cells stored"}
SUBJECTS = {  # what a formula counts, in words, in the order of changes
    "launches": "launches", "work-groups": "work-groups", "barriers": "barriers, summed over work-items",
    "operations": "{dtype} {name}", "load": "loads of {name}", "store": "stores to {name}",
    "cells loaded": "distinct cells of {name} that are loaded",
    "cells stored": "distinct cells of {name} that are stored",
    "layout": "distance of neighbours along axis {axis} of {name}",
}  # fmt: skip
EQUAL = ("kind", "dtype", "stride", "count")  # what equal formulas have in common; names of arrays may differ
LEAST = 0.5  # least similarity of kernels with different names that are a pair [1]


@dataclass(frozen=True, eq=False)
class Formula:
    """A count of a kernel: its subject, what distinguishes it from others, and the function of the sizes.

    `name` is an array or a kind of operation. `stride` is the lane stride of an access in cells, or None for an address
    that depends on data. The layout of an array has a formula for each axis, and `stride` is the number of the axis.
    """

    subject: str  # by :data:`SUBJECTS`
    count: Count
    name: str = ""
    space: str = ""
    dtype: str = ""
    stride: Count | None = None

    @property
    def line(self) -> str:
        """The formula as a line of a text file."""
        has_stride = self.subject in (*CELLS, "layout")
        stride = "" if not has_stride else INDIRECT if self.stride is None else str(self.stride.polynomial)
        return " | ".join([self.subject, self.name, self.space, self.dtype, stride, _written(self.count)])

    @property
    def kind(self) -> tuple[str, ...]:
        """What two formulas of one kind have in common: the subject, the address space, and the kind of operation."""
        return self.subject, self.space, "" if self.space else self.name

    @property
    def key(self) -> tuple[str, str]:
        """The array, with its address space, or the kind of operation."""
        return self.space, self.name


def same(first: Any, second: Any) -> bool:
    """Whether two values are equal. Counts without a formula are equal if their sums are written so."""
    try:
        return bool(first == second)
    except CountError:
        return False


def _written(count: Count) -> str:
    if count.unexpanded:
        return json.dumps(count.to_json())
    return f"{'' if count.exact else '<= '}{count.polynomial}"


@dataclass(frozen=True)
class Change:
    """A difference between two versions of a kernel, in text: "loads of u: n^2 -> 5*n^2"; long formulas are cut."""

    what: str
    old: str
    new: str

    def __str__(self) -> str:
        old, new = (shortened(text, LONGEST, quoted=False) for text in (self.old, self.new))
        return f"{self.what}: {old} -> {new}" if old != new else f"{self.what}: {self.old} -> {self.new}"


@dataclass(frozen=True, eq=False)
class Formulas(FrozenValue):
    """All formulas of a kernel, with the shape of its launches and the sizes for which they hold."""

    kernel: str
    sizes: tuple[str, ...]
    assumptions: str
    shapes: Mapping[str, str]  # by :data:`SHAPES`
    rows: tuple[Formula, ...] = field(repr=False)

    @classmethod
    def of(cls, counts: KernelCounts) -> Formulas:
        """Return the formulas of a counted kernel."""
        groups = ", ".join("x".join(map(str, launch.group_shape)) or "1" for launch in counts.launch_table)
        memory = bytes_text(counts.launch.local_bytes), bytes_text(counts.launch.private_bytes)
        shapes = dict(zip(SHAPES, (groups, *memory), strict=True))
        return cls(counts.name, counts.size_arguments, counts.assumptions, shapes, tuple(_rows(counts)))

    @cached_property
    def text(self) -> str:
        """The formulas as a text file, in an order that does not depend on the code's."""
        head = [f"{TITLE}{self.kernel}", f"sizes: {', '.join(self.sizes)}", f"assumed: {self.assumptions}"]
        shapes = [f"{name}: {value}" for name, value in self.shapes.items()]
        return "\n".join([*head, *shapes, *sorted(row.line for row in self.rows)]) + "\n"

    @classmethod
    def from_text(cls, text: str) -> Formulas:
        """Read what :attr:`text` gives. A damaged text raises a DocumentError."""
        lines = text.splitlines()
        if not lines or not lines[0].startswith(TITLE):
            raise DocumentError("does not begin with the name of the counted kernel")
        with reading_counts():
            parts = {name: value for name, _, value in (f"{line} ".partition(": ") for line in lines[1:6])}
            parts = {name: value.strip() for name, value in parts.items()}
            sizes, assumed = tuple(filter(None, parts["sizes"].split(", "))), parts["assumed"]
            rows = tuple(_read(line, assumed) for line in lines[6:] if line)
            return cls(lines[0].removeprefix(TITLE), sizes, assumed, {name: parts[name] for name in SHAPES}, rows)

    def changes(self, new: Formulas) -> tuple[Change, ...]:
        """Return what differs in a new version; nothing if all formulas are equal as functions."""
        return (
            *(Change(name, old, new.shapes[name]) for name, old in self.shapes.items() if old != new.shapes[name]),
            *self._of_rows(new), *self._of_sizes(new),
        )

    def similarity(self, new: Formulas) -> float:
        """Return the share of formulas that two kernels have in common [1], from 0 to 1."""
        mine, theirs = (  # launches and layouts are alike in most
            [row for row in each.rows if row.name and row.subject != "layout"] for each in (self, new)
        )
        gone, _ = _unmatched(mine, theirs)
        return (len(mine) - len(gone)) / max(len(mine), len(theirs), 1)

    @cached_property
    def _groups(self) -> dict[tuple[str, str], list[Formula]]:
        return grouped((row.key, row) for row in self.rows)

    def _of_rows(self, new: Formulas) -> Iterator[Change]:
        renamed = dict(self._renamed(new))
        theirs = {renamed.get(key, key): rows for key, rows in new._groups.items()}
        for key in sorted(dict.fromkeys([*self._groups, *theirs]), key=lambda key: bool(key[0])):  # arrays are last
            old, rows = self._groups.get(key, []), theirs.get(key, [])
            space, name = (rows or old)[0].key
            if space == "global" and name != key[1]:
                yield Change("name of an argument", key[1], name)
            yield from _changes(space, name, old, rows)

    def _renamed(self, new: Formulas) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
        """Yield the arrays of the new version that have another name but equal formulas, each with the old array."""
        gone = {key: rows for key, rows in self._groups.items() if key not in new._groups}
        for key, rows in new._groups.items():
            if key not in self._groups:
                twin = next((old for old, theirs in gone.items() if not any(_unmatched(theirs, rows))), None)
                if twin is not None:
                    del gone[twin]
                    yield key, twin

    def _of_sizes(self, new: Formulas) -> Iterator[Change]:
        if set(self.sizes) != set(new.sizes):
            yield Change("sizes", ", ".join(self.sizes) or "none", ", ".join(new.sizes) or "none")
        elif self.assumptions != new.assumptions:
            allowed = [Count.from_text(each.assumptions.replace("{", "{ 1 ", 1)) for each in (self, new)]
            if not same(*allowed):
                yield Change("assumed sizes", self.assumptions, new.assumptions)


def _rows(counts: KernelCounts) -> Iterator[Formula]:
    yield Formula("launches", counts.launches())
    yield Formula("work-groups", counts.work_groups())
    yield Formula("barriers", total(row.count for row in counts.barrier_table))
    for operation in counts.operation_table:
        yield Formula("operations", operation.count, operation.kind, dtype=operation.dtype)
    seen: list[Formula] = []
    cells: set[tuple[str, str]] = set()
    for row in counts.access_table:
        stride = None if row.indirect else row.stride
        seen.append(Formula(row.direction, row.count, row.array, row.space, row.dtype, stride))
        if row.space == "global" and row.footprint is not None and (row.direction, row.array) not in cells:
            cells.add((row.direction, row.array))
            yield Formula(CELLS[row.direction], row.footprint, row.array, row.space)
    yield from _added(seen)
    strides = {access.array: access.strides for _, access in counts.access_maps if access.space == "global"}
    for array, axes in strides.items():
        for axis, step in enumerate(axes):
            distance = Count(step, granularity="cell")
            yield Formula("layout", distance, array, "global", stride=Count.constant(axis, "cell"))


def _added(rows: Sequence[Formula]) -> Iterator[Formula]:
    """Add the accesses that differ only in the text of an equal stride."""
    left = list(rows)
    while left:
        first = left[0]
        equal = [row for row in left if _agree(first, row, ("kind", "name", "dtype", "stride"))]
        left = [row for row in left if row not in equal]
        yield replace(first, count=total(row.count for row in equal))


def _read(line: str, assumed: str) -> Formula:
    subject, name, space, dtype, stride, text = line.split(" | ", 5)
    if text.startswith("{") and text.endswith('"}'):
        count = Count.from_json(json.loads(text))
    else:
        exact = not text.startswith("<= ")
        count = Count.from_text(text.removeprefix("<= "), assumed, exact, GRANULARITIES.get(subject, "workitem"))
    distance = Count.from_text(stride, granularity="cell") if stride not in ("", INDIRECT) else None
    return Formula(subject, count, name, space, dtype, distance)


def _agree(first: Formula, second: Formula, attributes: Iterable[str]) -> bool:
    return all(same(getattr(first, name), getattr(second, name)) for name in attributes)


def _pairs(
    old: Iterable[Formula], new: Iterable[Formula], *attributes: str
) -> list[tuple[Formula | None, Formula | None]]:
    """Pair the formulas of two versions that have equal attributes. One without a partner is paired with None."""
    left, pairs = list(new), list[tuple[Formula | None, Formula | None]]()
    for row in old:
        twin = next((other for other in left if _agree(row, other, attributes)), None)
        left = [other for other in left if other is not twin]
        pairs.append((row, twin))
    return [*pairs, *((None, row) for row in left)]


def _unmatched(
    old: Iterable[Formula], new: Iterable[Formula], attributes: Iterable[str] = EQUAL
) -> tuple[list[Formula], list[Formula]]:
    pairs = _pairs(old, new, *attributes)
    return [old for old, new in pairs if old and not new], [new for old, new in pairs if new and not old]


def _changes(space: str, name: str, old: Sequence[Formula], new: Sequence[Formula]) -> Iterator[Change]:
    """Yield the changes of one array, of one kind of operation, or of the launches."""
    shown = name if space in ("", "global") else f"{name} ({space})"
    gone, added = _unmatched(old, new)
    types = _types(gone), _types(added)
    if types[0] != types[1] and all(types):
        but_for_types = _unmatched(gone, added, ("kind", "stride", "count"))
        if space or not any(but_for_types):
            yield Change(f"type of {shown}{'' if space else ' operations'}", *types)
            gone, added = but_for_types
    for subject, words in SUBJECTS.items():
        mine, theirs = ([row for row in rows if row.subject == subject] for rows in (gone, added))
        several = any(sum(row.subject == subject for row in rows) > 1 for rows in (old, new))
        if space and subject not in CELLS and not (old and new):
            continue  # the accesses of an array that only one version has say it
        if subject in CELLS and len(mine) == len(theirs) == 1 and not same(mine[0].stride, theirs[0].stride):
            what = words.format(name=shown)
            if same(mine[0].count, theirs[0].count):
                yield Change(f"lane stride of {what}", *map(_stride, mine + theirs))
            else:
                yield Change(what, *(f"{row.count} with lane stride {_stride(row)}" for row in mine + theirs))
            continue
        for pair in _pairs(mine, theirs, "stride" if space else "dtype"):
            row = next(filter(None, pair))
            what = words.format(name=shown, dtype=row.dtype, axis=row.stride)
            what += f" with lane stride {_stride(row)}" if subject in CELLS and several else ""
            yield Change(what, *("0" if each is None else str(each.count) for each in pair))


def _types(rows: Iterable[Formula]) -> str:
    return ", ".join(sorted({row.dtype for row in rows if row.dtype}))


def _stride(row: Formula) -> str:
    return "that depends on data" if row.stride is None else str(row.stride)


def paired(old: Mapping[str, Formulas], new: Mapping[str, Formulas]) -> dict[str, str]:
    """Return the old name of each new kernel that has one: the same name, or else the name of the most similar kernel.

    A recording numbers kernels with the same name, so similarity pairs these too. The only kernels of both sides always
    are a pair.
    """
    if len(old) == len(new) == 1:
        return dict(zip(new, old, strict=True))
    shared = Counter(name.partition(NUMBERED)[0] for name in new)
    pairs = {
        name: name for name, found in new.items()
        if name in old and (shared[name.partition(NUMBERED)[0]] == 1 or found.text == old[name].text)
    }  # fmt: skip
    gone, added = [name for name in old if name not in pairs], [name for name in new if name not in pairs]
    scores = sorted(
        ((old[theirs].similarity(new[mine]), theirs == mine, theirs, mine) for theirs in gone for mine in added),
        reverse=True,
    )  # fmt: skip
    for score, named, theirs, mine in scores:
        if (score >= LEAST or named) and mine not in pairs and theirs not in pairs.values():
            pairs[mine] = theirs
    return {name: pairs[name] for name in new if name in pairs}
