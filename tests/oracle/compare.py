"""Where the counts of a kernel and its execution disagree."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from .executed import Executed, Instance

GRANULARITIES = ("workitem", "subgroup", "workgroup")
ENOUGH_LANES = 8  # for every stride of a cyclic index to be seen
_PART = re.compile(r"^(\w+?)((?:_s\d+)+)$")
SECTIONS = ("operations", "accesses", "launch", "idle", "barriers", "footprint", "strides", "lines", "banks")


def compare(
    executed: Executed,
    kernel_counts: Any,
    parameters: Mapping[str, Any],
    *,
    sections: Collection[str] = SECTIONS,
    rows: Mapping[str, int] | None = None,
    line_bytes: int = 64,
    banks: int = 32,
) -> list[str]:
    """Every disagreement between *executed* and *kernel_counts* at *parameters*, one line each; empty if there is none.

    *sections* are the parts to compare: operations by type and kind; accesses to global and local memory by
    direction, array, type and size, at three granularities; footprints; barriers, launches, groups, items, sub-groups
    and idle lanes; lane strides where all lanes of an access have the same; bank conflicts. Lines are compared for
    the arrays in *rows*, whose values are the elements of a row. A count that says it is only an upper bound must not
    be below. An exception of the counter is a disagreement too.
    """
    found = []
    options = {"rows": rows or {}, "line_bytes": line_bytes, "banks": banks}
    for what, actual, count in _pairs(executed, kernel_counts, sections, options):
        try:
            counted, exact = _value(count(), parameters)
        except Exception as error:  # whatever it is, it is the counter's answer
            found.append(f"{what}: executed {actual}, counter raised {type(error).__name__}: {error}")
            continue
        if counted != actual and (exact or counted < actual):
            found.append(f"{what}: executed {actual}, counted {counted}{'' if exact else ' as an upper bound'}")
    if "strides" in sections:
        found.extend(_strides(executed, kernel_counts, parameters))
    return found


def gathered(executed: Executed, arrays: Collection[str]) -> Executed:
    """The same with the parts of an array, which Loopy passes one by one as ``a_s0`` and ``a_s1``, under its name."""

    def whole(instance: Instance) -> Instance:
        part = _PART.match(instance.occurrence.array)
        if part is None or part.group() in arrays or part.group(1) not in arrays:
            return instance
        first = sum(int(number) * 2 ** (30 + 10 * place) for place, number in enumerate(part.group(2).split("_s")[1:]))
        return instance._replace(
            occurrence=replace(instance.occurrence, array=part.group(1)),
            touched=tuple((lane, first + address) for lane, address in instance.touched),
        )

    return replace(executed, instances=tuple(map(whole, executed.instances)))


def _value(count: Any, parameters: Mapping[str, Any]) -> tuple[Any, bool]:
    """A count at the parameters, and whether it is exact; plain numbers are."""
    if not callable(count):
        return count, True
    return count(**parameters), bool(count.exact)


def _ask(counts: Any, method: str, *arguments: Any, **named: Any) -> Any:
    """Ask the counter; only when the answer is needed, so that a question it can't answer is one disagreement."""
    return getattr(counts, method)(*arguments, **named)


def _space(space: str) -> str:
    """Constant memory is global memory to the counter, as it is to Loopy."""
    return "global" if space == "constant" else space


Pair = tuple[str, int, Callable[[], Any]]


def _pairs(executed: Executed, counts: Any, sections: Collection[str], options: Mapping[str, Any]) -> Iterator[Pair]:
    parts: dict[str, Callable[[], Iterator[Pair]]] = {
        "operations": lambda: _operations(executed, counts),
        "accesses": lambda: _accesses(executed, counts),
        "launch": lambda: _launch(executed, counts),
        "idle": lambda: iter(
            [("idle lanes", executed.padded_lanes + executed.idle_work_items, lambda: counts.idle_lanes())]
        ),
        "barriers": lambda: iter([("barriers", executed.barriers, lambda: counts.barriers())]),
        "footprint": lambda: _footprints(executed, counts),
        "lines": lambda: _lines(executed, counts, options["rows"], options["line_bytes"]),
        "banks": lambda: _banks(executed, counts, options["banks"]),
    }
    for section, part in parts.items():
        if section in sections:
            yield from part()


def _launch(executed: Executed, counts: Any) -> Iterator[Pair]:
    yield "launches", executed.launches, lambda: counts.launches()
    yield "work-groups", executed.work_groups, lambda: counts.work_groups()
    yield "work-items", executed.work_items, lambda: counts.work_items()
    yield "sub-groups", executed.sub_groups, lambda: counts.sub_groups()


def _footprints(executed: Executed, counts: Any) -> Iterator[Pair]:
    for array, direction in executed.arrays("global"):
        yield (
            f"footprint of {array} ({direction})",
            executed.footprint(array, direction),
            partial(_ask, counts, "footprint", array, direction=direction),
        )


def _lines(executed: Executed, counts: Any, rows: Mapping[str, int], line_bytes: int) -> Iterator[Pair]:
    for array, row in rows.items():
        for per in ("subgroup", "workgroup", "launch"):
            yield (
                f"lines of {array} per {per}",
                executed.lines(array, line_bytes, per, row=row),
                partial(_ask, counts, "lines", array, line_bytes=line_bytes, per=per),
            )


def _banks(executed: Executed, counts: Any, banks: int) -> Iterator[Pair]:
    for array in sorted({array for array, _ in executed.arrays("local")}):
        yield (
            f"bank conflicts of {array}", executed.bank_conflicts(array, banks),
            partial(_ask, counts, "bank_conflicts", array, banks=banks)
        )  # fmt: skip


def _operations(executed: Executed, counts: Any) -> Iterator[Pair]:
    counted = {(row.dtype, row.kind) for row in counts.operation_table}
    for dtype, kind in sorted(counted | set(executed.operations)):
        yield (
            f"{dtype} {kind}", executed.operations.get((dtype, kind), 0),
            partial(counts.operations, dtype=dtype, kind=kind)
        )  # fmt: skip


def _accesses(executed: Executed, counts: Any) -> Iterator[Pair]:
    tables = (executed.accesses, executed.subgroup_accesses, executed.workgroup_accesses)
    counted = {(row.space, row.direction, row.array, row.dtype, row.bits) for row in counts.access_table}
    ran = {(_space(space), *rest) for space, *rest in executed.accesses}
    for key in sorted(key for key in counted | ran if key[0] != "private"):
        space, direction, array, dtype, bits = key
        for granularity, table in zip(GRANULARITIES, tables, strict=True):
            actual = sum(times for (where, *rest), times in table.items() if (_space(where), *rest) == key)
            yield (
                f"{space} {direction} {array} {dtype} {bits} bits by {granularity}",
                actual,
                partial(
                    counts.accesses,
                    space=space,
                    direction=direction,
                    array=array,
                    dtype=dtype,
                    bits=bits,
                    granularity=granularity,
                ),
            )


def _strides(executed: Executed, counts: Any, parameters: Mapping[str, Any]) -> Iterator[str]:
    for array, direction in executed.arrays("global"):
        histograms = executed.strides_by_occurrence(array, direction)
        places = {instance.occurrence.number for instance in executed.select(array, direction)}
        if set(histograms) != places or any(len(histogram) != 1 for histogram in histograms.values()):
            continue  # some access had no neighbouring lanes, or lanes at different distances
        table = [row for row in counts.access_table if (row.array, row.direction) == (array, direction)]
        if any(row.indirect for row in table):
            continue
        actual = {stride for histogram in histograms.values() for stride in histogram}
        counted = {_value(row.stride, parameters)[0] for row in table if _value(row.count, parameters)[0]}
        wide = any(_fills_a_row(executed, instance) for instance in executed.select(array, direction))
        if not actual <= counted or (wide and actual != counted):
            yield f"lane strides of {array} ({direction}): executed {sorted(actual)}, counted {sorted(counted)}"


def _fills_a_row(executed: Executed, instance: Instance) -> bool:
    """Whether all lanes along axis 0, and enough of them, are active: the next lane counts though it be idle."""
    width = executed.launched[instance.launch].items[0]
    rows = Counter(lane // width for lane, _ in instance.touched)
    return width >= ENOUGH_LANES and width in rows.values()
