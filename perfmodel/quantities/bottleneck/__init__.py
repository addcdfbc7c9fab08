"""The resources that a kernel uses, as quantities of the family ``bottleneck``.

Parts of a launch overlap. The core issues instructions (``issue``, ``special``). At the same time the first-level cache
fetches lines (``near``), outer caches and memory fetch lines (``far``), and a sum waits for itself (``chain``). The
slowest part determines the time, and work that cannot overlap (``overhead``) is added.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from perfmodel.counts import KernelCounts
from perfmodel.quantities.bottleneck.compiled import CompiledKernel, compiled_kernel
from perfmodel.quantities.bottleneck.device import DeviceUnits, device_of, gathered_share, moved_lines
from perfmodel.quantities.bottleneck.execution import MOST_GROUPS
from perfmodel.quantities.bottleneck.work import LaunchWork
from perfmodel.quantities.case import Case


@dataclass(frozen=True)
class Quantity:
    """The unit of a quantity, a label for one unit, and the noun of the rate. The noun is empty without a rate."""

    unit: str
    label: str
    counted: str = ""


def _table(unit: str, counted: str, label: str, **operations: str) -> dict[str, Quantity]:
    return {name: Quantity(unit, label.format(operation), counted) for name, operation in operations.items()}


FUNCTIONS = {
    "divide": "a division", "root": "a square root", "inverse_root": "an inverse square root",
    "exponential": "an exponential", "logarithm": "a logarithm", "circular": "a sine, cosine or tangent",
    "function": "another function", "inlined": "a function, of a vector that a compiler made,",
}  # fmt: skip
RESOURCES: Mapping[str, Mapping[str, Quantity]] = {
    "overhead": {
        "runs": Quantity("launch", "a run of the kernel, whatever it does,"),
        "launched": Quantity("launch", "a launch of a device kernel"),
        "groups": Quantity("work-group", "a work-group"),
        "waiting_items": Quantity("barrier", "a barrier, for each work-item,"),
        "region_entries": Quantity("work-group", "a part between barriers, for each work-group,"),
        "varied_entries": Quantity("operation", "an entry into a loop whose trips differ between work-items"),
    },
    "chain": _table(
        "operation", "op", "{} that waits for the one before",
        chain_add="an addition", chain_multiply="a product", chain_multiply_add="a multiply-add",
        chain_minmax="a minimum or maximum", chain_divide="a division", chain_root="a square root",
        chain_power="a power",
    ),
    "special": _table("operation", "op", "{}", **{
        **{f"{name}_{bits}": f"{label} of float{bits}" for name, label in FUNCTIONS.items() for bits in (32, 64)},
        "power": "a power",
        **{f"int_divide_{bits}": f"a division or remainder of integers of {bits} bits" for bits in (32, 64)},
    }),
    "issue": {
        "instructions": Quantity("operation", "an instruction, whatever it does,", "instruction"),
        "minmax": Quantity("operation", "a minimum or maximum, in addition to the instruction,"),
        "iterations": Quantity("operation", "an iteration of a loop, in addition to its instructions,"),
        "loads": Quantity("access", "a load, in addition to the instruction,"),
        "stores": Quantity("access", "a store, in addition to the instruction,"),
        "gathers": Quantity("access", "an element of a gather, in addition to the instruction,"),
        "scatters": Quantity("access", "an element of a scatter, in addition to the instruction,"),
        "split": Quantity("access", "a vector access over the border of two lines", "instruction"),
        "kept_values": Quantity("access", "a private value that is kept across a barrier", "value"),
    },
    "near": _table(
        "access", "line", "a cache line {}",
        again_loaded="loaded into the first-level cache again",
        again_stored="stored to again after it left the first-level cache",
        first_loaded="loaded into the first-level cache for the first time, next to the one before,",
        first_loaded_jumping="loaded into the first-level cache for the first time, away from the one before,",
        first_stored="stored to for the first time, next to the one before,",
        first_stored_jumping="stored to for the first time, away from the one before,",
    ),
    "far": {**_table(
        "access", "line", "a cache line {}",
        second_level_streams="that the second-level cache fetches, next to the one before,",
        second_level_jumps="that the second-level cache fetches, away from the one before,",
        memory_streams="that the last-level cache fetches, next to the one before,",
        memory_jumps="that the last-level cache fetches, away from the one before,",
        memory_stores="stored to that leaves the last-level cache",
    ), "page_walks": Quantity("access", "a page that the TLB looks up again", "page")},
}  # fmt: skip
"""The quantities of each resource; the overhead is added to the rest.

``region_entries`` are work-groups times barrier intervals, or iterations of the loops around the work-items. An
operation of a *chain* counts by the share of its latency that other work-items do not hide
(:func:`perfmodel.quantities.bottleneck.execution.waiting_share`); integer operations and loads on it count by the ratio
of their latency to the latency of an addition. Instructions are vectors or scalars: operations, two for each iteration,
accesses. Lines are fetched *again* if they were in the cache before in the same launch.
"""

QUANTITIES: Mapping[str, Quantity] = {
    name: quantity for table in RESOURCES.values() for name, quantity in table.items()
}
UNIT_LINES = (*RESOURCES["near"], "second_level_streams", "second_level_jumps", "page_walks")
"""Lines that the caches of one unit fetch: they are multiplied by the load imbalance."""
MEMORY_LINES = ("memory_streams", "memory_jumps", "memory_stores")
"""Lines of memory: they are multiplied by the load imbalance, at most by ``DeviceUnits.memory_units``."""
IMBALANCE = "imbalance"
"""Key, among the quantities of work, of the load imbalance of all launches: busiest unit over mean."""
GATHERED, GATHERED_JUMPS = "gathered", "gathered_jumps"
"""Keys, among the quantities of work, of the results of :func:`.gathered_share`."""
MOST_KEPT = 4096
"""Most sizes of one kernel whose quantities are cached."""

SizeItems = tuple[tuple[str, int], ...]
Values = Mapping[str, float]
Kept = WeakKeyDictionary[KernelCounts, dict[tuple[DeviceUnits, SizeItems], Values]]
_kept, _kept_work, _kept_lines = Kept(), Kept(), Kept()


def bottleneck_quantities(case: Case) -> dict[str, Any]:
    """Return each quantity of :data:`QUANTITIES`. Its value has the shape of the sizes."""
    device = device_of(case)
    if not case.shape:
        return dict(at_sizes(case.counts, case.parameters, device))
    rows = [at_sizes(case.counts, point, device) for point in case.points()]
    return {name: np.array([row[name] for row in rows]).reshape(case.shape) for name in QUANTITIES}


def at_sizes(counts: KernelCounts, sizes: Mapping[str, int], device: DeviceUnits) -> Values:
    """Return the quantities at one size. The values are cached as long as the counts of the kernel exist."""
    items = tuple(sorted([(name, int(size)) for name, size in sizes.items()]))
    return _remembered(_kept, _at_sizes, counts, items, device)


def _remembered(
    kept_of: Kept, compute: Callable[[KernelCounts, SizeItems, DeviceUnits], Values], counts: KernelCounts,
    sizes: SizeItems, device: DeviceUnits,
) -> Values:  # fmt: skip
    kept, key = kept_of.setdefault(counts, {}), (device, sizes)
    values = kept.get(key)
    if values is None:
        if len(kept) >= MOST_KEPT:
            kept.clear()
        values = kept[key] = compute(counts, sizes, device)
    return values


def _at_sizes(counts: KernelCounts, sizes: SizeItems, device: DeviceUnits) -> Values:
    work = _remembered(_kept_work, _work, counts, sizes, device.for_work)
    lines = _remembered(_kept_lines, moved_lines, counts, sizes, device.for_lines)
    slower = dict.fromkeys(UNIT_LINES, work[IMBALANCE])
    slower |= dict.fromkeys(MEMORY_LINES, min(work[IMBALANCE], device.memory_units))
    added = {name: amount * slower[name] for name, amount in lines.items()}
    for streams, jumps in (("second_level_streams", "second_level_jumps"), ("memory_streams", "memory_jumps")):
        added[jumps] += work.get(GATHERED_JUMPS, 0.0) * added[streams]
        added[streams] *= 1 - work.get(GATHERED, 0.0)
    return {name: max(work.get(name, 0.0) + added.get(name, 0.0), 0.0) for name in QUANTITIES}


def _work(counts: KernelCounts, sizes: SizeItems, device: DeviceUnits) -> Values:
    at = dict(sizes)
    kernel: CompiledKernel[float] = compiled_kernel(counts).at(at)
    quantities: defaultdict[str, float] = defaultdict(float, runs=1.0, waiting_items=kernel.barriers)
    works = []
    for launch, groups in zip(kernel.launches, counts.group_works, strict=True):
        each = groups.at(at) if groups is not None and groups.groups(at) <= MOST_GROUPS else None
        works.append(LaunchWork(launch, kernel, device, each))
        works[-1].add_to(quantities)
    items = sum(work.items for work in works)
    quantities[IMBALANCE] = sum(work.imbalance * work.items for work in works) / items if items else 1.0
    if device.loses_neighbours or device.order == "serial":
        quantities[GATHERED], quantities[GATHERED_JUMPS] = gathered_share(kernel.launches, device)
    return quantities
