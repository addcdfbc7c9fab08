"""The formulas of a kernel, and those that differ between two versions of it.

Formulas are compared as functions of the sizes: ``n + n`` equals ``2*n``. Names of inames and instructions, the order
of instructions, and names of temporaries do not enter.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter

from perfmodel.counts import Count, KernelCounts
from perfmodel.counts.rows import reading_counts, total
from perfmodel.display import bytes_text
from perfmodel.errors import CountError, DocumentError
from perfmodel.values import FrozenValue

TITLE = "# counts of "
NUMBERED = " #"  # before the number of a kernel in a recording that has the name of another
INDIRECT = "indirect"
SHAPES = ("group size", "local memory", "private memory")
GRANULARITIES = {"launches": "launch", "work-groups": "workgroup", "cells loaded": "cell", "cells stored": "cell"}
CELLS = {"load": "cells loaded", "store": "cells stored"}


@dataclass(frozen=True, eq=False)
class Formula:
    """A count of a kernel: its subject, what distinguishes it from others, and the function of the sizes.

    `name` is an array or a kind of operation. `stride` is the lane stride of an access in cells, or None for an address
    that depends on data, and for all that is not an access.
    """

    subject: str  # operations, load, store, cells loaded, cells stored, barriers, work-groups, launches
    count: Count
    name: str = ""
    space: str = ""
    dtype: str = ""
    stride: Count | None = None

    @property
    def line(self) -> str:
        """The formula as a line of a text file."""
        is_access = self.subject in ("load", "store")
        stride = "" if not is_access else INDIRECT if self.stride is None else str(self.stride.polynomial)
        return " | ".join([self.subject, self.name, self.space, self.dtype, stride, _written(self.count)])

    @property
    def kind(self) -> tuple[str, ...]:
        """What two formulas of one kind have in common: the subject, the address space, and the kind of operation."""
        return self.subject, self.space, "" if self.space else self.name

    def alike(self, other: Formula, *ignored: str) -> bool:
        """Whether two formulas are of one kind. Names of types, strides or the count may be `ignored`."""
        return (
            ("dtype" in ignored or self.dtype == other.dtype)
            and ("stride" in ignored or same(self.stride, other.stride))
            and ("count" in ignored or same(self.count, other.count))
        )


def same(first: Count | None, second: Count | None) -> bool:
    """Whether two counts are the same function. Counts without a formula are the same if their sums are written so."""
    if first is None or second is None:
        return first is second
    try:
        return first == second
    except CountError:
        return False


def _written(count: Count) -> str:
    if count.unexpanded:
        return json.dumps(count.to_json())
    return f"{'' if count.exact else '<= '}{count.polynomial}"


@dataclass(frozen=True)
class Change:
    """A difference between two versions of a kernel, in text: "loads of u: n^2 -> 5*n^2"."""

    what: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.what}: {self.old} -> {self.new}"


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
            shapes = {name: parts[name] for name in SHAPES}
            return cls(lines[0].removeprefix(TITLE), sizes, assumed, shapes, rows)

    def changes(self, new: Formulas) -> tuple[Change, ...]:
        """Return what differs in a new version; nothing if all formulas are equal as functions."""
        return (
            *(Change(name, old, new.shapes[name]) for name, old in self.shapes.items() if old != new.shapes[name]),
            *self._of_launches(new), *_operations(self._operations, new._operations), *self._of_arrays(new),
            *self._of_sizes(new),
        )

    def similarity(self, new: Formulas) -> float:
        """Return the share of formulas that two kernels have in common [1], from 0 to 1."""
        mine, theirs = ([row for row in each.rows if row.name] for each in (self, new))  # launches are alike in most
        gone, _ = _unmatched(mine, theirs)
        return (len(mine) - len(gone)) / max(len(mine), len(theirs), 1)

    @cached_property
    def _operations(self) -> list[Formula]:
        return [row for row in self.rows if row.subject == "operations"]

    @cached_property
    def _arrays(self) -> dict[tuple[str, str], list[Formula]]:
        arrays: dict[tuple[str, str], list[Formula]] = {}
        for row in self.rows:
            if row.space:
                arrays.setdefault((row.space, row.name), []).append(row)
        return arrays

    def _of_launches(self, new: Formulas) -> Iterator[Change]:
        for subject, what in (("launches", "launches"), ("work-groups", "work-groups"),
                              ("barriers", "barriers, summed over work-items")):  # fmt: skip
            pair = [next((row.count for row in each.rows if row.subject == subject), None) for each in (self, new)]
            yield from _changed(what, *pair)

    def _of_arrays(self, new: Formulas) -> Iterator[Change]:
        old, renamed = self._arrays, dict(self._renamed(new))
        theirs = {renamed.get(key, key): rows for key, rows in new._arrays.items()}
        names = {renamed.get(key, key): key[1] for key in new._arrays}
        for key in dict.fromkeys([*old, *theirs]):
            space, name = key
            if space == "global" and names.get(key, name) != name:
                yield Change("name of an argument", name, names[key])
            yield from _accesses(space, names.get(key, name), old.get(key, []), theirs.get(key, []))

    def _renamed(self, new: Formulas) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
        """Yield the arrays of the new version that have another name but equal formulas, each with the old array."""
        gone = {key: rows for key, rows in self._arrays.items() if key not in new._arrays}
        for key, rows in new._arrays.items():
            if key not in self._arrays:
                equal = (old for old, theirs in gone.items() if old[0] == key[0] and not _unmatched(theirs, rows)[0])
                twin = next((old for old in equal if not _unmatched(gone[old], rows)[1]), None)
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


def _added(rows: Sequence[Formula]) -> Iterator[Formula]:
    """Add the accesses that differ only in the text of an equal stride."""
    left = list(rows)
    while left:
        first, *others = left
        key = attrgetter("subject", "space", "name")
        equal = [row for row in others if key(row) == key(first) and first.alike(row, "count")]
        left = [row for row in others if row not in equal]
        every = total([first.count, *(row.count for row in equal)])
        yield Formula(first.subject, every, first.name, first.space, first.dtype, first.stride)


def _read(line: str, assumed: str) -> Formula:
    subject, name, space, dtype, stride, text = line.split(" | ", 5)
    if text.startswith("{") and text.endswith('"}'):
        count = Count.from_json(json.loads(text))
    else:
        exact = not text.startswith("<= ")
        granularity = GRANULARITIES.get(subject, "workitem")
        count = Count.from_text(text.removeprefix("<= "), assumed, exact, granularity)
    distance = Count.from_text(stride, granularity="cell") if stride not in ("", INDIRECT) else None
    return Formula(subject, count, name, space, dtype, distance)


def _changed(what: str, old: Count | None, new: Count | None) -> Iterator[Change]:
    if not same(old, new):
        yield Change(what, *("0" if count is None else str(count) for count in (old, new)))


def _unmatched(
    old: Iterable[Formula], new: Iterable[Formula], *ignored: str
) -> tuple[list[Formula], list[Formula]]:
    """Return the formulas of two versions without those that are equal but for the array, and what is `ignored`."""
    left, gone = list(new), []
    for row in old:
        twin = next((other for other in left if row.kind == other.kind and row.alike(other, *ignored)), None)
        if twin is None:
            gone.append(row)
        left = [other for other in left if other is not twin]
    return gone, left


def _operations(old: Sequence[Formula], new: Sequence[Formula]) -> Iterator[Change]:
    for kind in dict.fromkeys(row.name for row in (*old, *new)):
        mine, theirs = ([row for row in rows if row.name == kind] for rows in (old, new))
        gone, added = _unmatched(mine, theirs)
        types = _types(gone), _types(added)
        if len(gone) == len(added) == 1 and types[0] != types[1] and not _unmatched(gone, added, "dtype")[0]:
            yield Change(f"type of {kind} operations", *types)
            continue
        for dtype in dict.fromkeys(row.dtype for row in (*gone, *added)):
            counts = (next((row.count for row in rows if row.dtype == dtype), None) for rows in (gone, added))
            yield from _changed(f"{dtype} {kind}", *counts)


def _types(rows: Iterable[Formula]) -> str:
    return ", ".join(sorted({row.dtype for row in rows if row.dtype}))


def _accesses(space: str, array: str, old: Sequence[Formula], new: Sequence[Formula]) -> Iterator[Change]:
    where = f"{array}" if space == "global" else f"{array} ({space})"
    gone, added = _unmatched(old, new)
    if (types := (_types(old), _types(new)))[0] != types[1] and all(types):
        yield Change(f"type of {where}", *types)
        gone, added = _unmatched(gone, added, "dtype")
    for subject, verb in (("load", "loads of"), ("store", "stores to")):
        mine, theirs = ([row for row in rows if row.subject == subject] for rows in (gone, added))
        if len(mine) == len(theirs) == 1 and mine[0].alike(theirs[0], "stride", "dtype"):
            yield Change(f"lane stride of {verb} {where}", *map(_stride, (mine[0], theirs[0])))
            continue
        if len(mine) == len(theirs) == 1 and not same(mine[0].stride, theirs[0].stride):
            yield Change(f"{verb} {where}", *(f"{row.count} with lane stride {_stride(row)}" for row in mine + theirs))
            continue
        several = any(sum(row.subject == subject for row in rows) > 1 for rows in (old, new))
        yield from _by_stride(f"{verb} {where}", mine, theirs, several)
    for subject, verb in ((CELLS["load"], "loaded"), (CELLS["store"], "stored")):
        counts = (next((row.count for row in rows if row.subject == subject), None) for rows in (gone, added))
        if old and new:  # the loads of an array that only one version has say it
            yield from _changed(f"distinct cells of {where} that are {verb}", *counts)


def _by_stride(what: str, old: Sequence[Formula], new: Sequence[Formula], several: bool) -> Iterator[Change]:
    left = list(new)
    for row in old:
        twin = next((other for other in left if same(row.stride, other.stride)), None)
        left = [other for other in left if other is not twin]
        yield from _changed(_with_stride(what, row, several), row.count, None if twin is None else twin.count)
    for row in left:
        yield Change(_with_stride(what, row, several), "0", str(row.count))


def _with_stride(what: str, row: Formula, several: bool) -> str:
    return f"{what} with lane stride {_stride(row)}" if several else what


def _stride(row: Formula) -> str:
    return "that depends on data" if row.stride is None else str(row.stride)


def paired(
    old: Mapping[str, Formulas], new: Mapping[str, Formulas], least: float = 0.5
) -> dict[str, str]:
    """Return the old name of each new kernel that has one: the same name, or else the name of the most similar kernel.

    Similar kernels have at least the share `least` of their formulas in common [1]. A recording numbers kernels with
    the same name, so similarity pairs these too. The only kernels of both sides always are a pair.
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
        if (score >= least or named) and mine not in pairs and theirs not in pairs.values():
            pairs[mine] = theirs
    return {name: pairs[name] for name in new if name in pairs}
