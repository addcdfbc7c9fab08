"""Where the counts of a kernel and its execution disagree."""

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
SECTIONS = ("operations", "accesses", "launch", "idle", "barriers", "footprint", "strides", "banks")
Pair = tuple[str, int, Callable[[], Any]]  # what is compared, what was executed, and the question to the counter


def compare(
    executed: Executed, kernel_counts: Any, parameters: Mapping[str, Any], *, sections: Collection[str] = SECTIONS,
) -> list[str]:  # fmt: skip
    """Every disagreement between *executed* and *kernel_counts* at *parameters*, one line each; empty if there is none.

    Compared are operations by type and kind; accesses to global and local memory by direction, array, type and size, at
    three granularities; footprints; barriers, launches, groups, items, sub-groups and idle lanes; lane strides where
    all lanes of an access have the same; bank conflicts. An upper bound must not be below what was executed. An
    exception of the counter is a disagreement.
    """
    found = []
    for section, pairs in _PAIRS.items():
        for what, actual, count in pairs(executed, kernel_counts) if section in sections else ():
            try:
                counted, exact = _value(count(), parameters)
            except Exception as error:  # whatever it is, it is the counter's answer
                found.append(f"{what}: executed {actual}, counter raised {type(error).__name__}: {error}")
                continue
            if counted != actual and (exact or counted < actual):
                found.append(f"{what}: executed {actual}, counted {counted}{'' if exact else ' as an upper bound'}")
    return found + (list(_strides(executed, kernel_counts, parameters)) if "strides" in sections else [])


def gathered(executed: Executed, arrays: Collection[str]) -> Executed:
    """The same with the parts of an array, which Loopy passes one by one as ``a_s0`` and ``a_s1``, under its name."""

    def whole(instance: Instance) -> Instance:
        part = _PART.match(instance.occurrence.array)
        if part is None or part.group() in arrays or part.group(1) not in arrays:
            return instance
        first = sum(int(number) * 2 ** (30 + 10 * place) for place, number in enumerate(part.group(2).split("_s")[1:]))
        touched = tuple((lane, first + address) for lane, address in instance.touched)
        return instance._replace(occurrence=replace(instance.occurrence, array=part.group(1)), touched=touched)

    return replace(executed, instances=tuple(map(whole, executed.instances)))


def _value(count: Any, parameters: Mapping[str, Any]) -> tuple[Any, bool]:
    return (count(**parameters), bool(count.exact)) if callable(count) else (count, True)


def _launch(executed: Executed, counts: Any) -> Iterator[Pair]:
    yield "launches", executed.launches, lambda: counts.launches()
    yield "work-groups", executed.work_groups, lambda: counts.work_groups()
    yield "work-items", executed.work_items, lambda: counts.work_items()
    yield "sub-groups", executed.sub_groups, lambda: counts.sub_groups()


def _idle(executed: Executed, counts: Any) -> Iterator[Pair]:
    yield "idle lanes", executed.padded_lanes + executed.idle_work_items, lambda: counts.idle_lanes()


def _barriers(executed: Executed, counts: Any) -> Iterator[Pair]:
    yield "barriers", executed.barriers, lambda: counts.barriers()


def _footprints(executed: Executed, counts: Any) -> Iterator[Pair]:
    for array, direction in executed.arrays("global"):
        actual = executed.footprint(array, direction)
        yield f"footprint of {array} ({direction})", actual, partial(counts.footprint, array, direction=direction)


def _banks(executed: Executed, counts: Any) -> Iterator[Pair]:
    for array in sorted({array for array, _ in executed.arrays("local")}):
        yield f"bank conflicts of {array}", executed.bank_conflicts(array), partial(counts.bank_conflicts, array)


def _operations(executed: Executed, counts: Any) -> Iterator[Pair]:
    for key in sorted({(row.dtype, row.kind) for row in counts.operation_table} | set(executed.operations)):
        ask = partial(counts.operations, dtype=key[0], kind=key[1])
        yield " ".join(key), executed.operations.get(key, 0), ask


def _accesses(executed: Executed, counts: Any) -> Iterator[Pair]:
    """Constant memory is global memory to the counter, as it is to Loopy."""
    tables = (executed.accesses, executed.subgroup_accesses, executed.workgroup_accesses)
    merged: list[Counter[Any]] = [Counter() for _ in tables]
    for found, table in zip(merged, tables, strict=True):
        for (space, *rest), times in table.items():
            found[("global" if space == "constant" else space, *rest)] += times
    counted = {(row.space, row.direction, row.array, row.dtype, row.bits) for row in counts.access_table}
    for key in sorted(key for key in counted | set(merged[0]) if key[0] != "private"):
        named = dict(zip(("space", "direction", "array", "dtype", "bits"), key, strict=True))
        for granularity, found in zip(GRANULARITIES, merged, strict=True):
            ask = partial(counts.accesses, **named, granularity=granularity)
            yield f"{' '.join(map(str, key))} bits by {granularity}", found[key], ask


_PAIRS: dict[str, Callable[[Executed, Any], Iterator[Pair]]] = {
    "operations": _operations, "accesses": _accesses, "launch": _launch, "idle": _idle, "barriers": _barriers,
    "footprint": _footprints, "banks": _banks,
}  # fmt: skip


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
