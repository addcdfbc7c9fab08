r"""The Synchronous Parallel Throughput (SPT) model of Karsin.

.. math::

    T = |K| L_{sync} + \sum_{\phi \in \{g, s, r, y\}} A_\phi \max(1/B_\phi, L_\phi/M_\phi)

(section 4.8, Definitions 3.1.9 and 3.1.10) with :math:`A_\phi` the operations of the busiest core:

- g, global memory (4.2): words in blocks of a sub-group's length, so that accesses whose lanes are s
  words apart count s times, at most once for each lane and block; indirect ones count as
  uncoalesced. The device's transaction, where it is known, takes the place of the sub-group.
- s, local memory (4.3): words, times the bank-conflict factor beta where the device tells its banks.
- r, register operations (4.4): operations; an addition and a multiplication of one type are one
  (fused, 5.2.3).
- y, barriers (4.5): those that each work-item meets.

:math:`M_g = M_o M_I` etc.; :math:`M_y = M_o`. :math:`M_I` is the kernel's instruction-level parallelism
(:mod:`perfmodel.counts.flow.flow`): independent loads for g, all instructions between barriers for s and
r; 1 where it is not known (4.7). :math:`M_o` (4.7) are the work-items for each core: of as many groups
as there are, or fit into local memory, registers and the device's limits, as far as those are known.
:math:`M_o = 1` on a CPU, or where measurements say that oversubscription hides nothing (fact
``oversubscription``, :mod:`perfmodel.fitting.facts.throughput`). A core is a lane: ``lanes_per_unit`` of each
compute unit, else as many as a sub-group has. Latencies are in seconds, bandwidths those of the
device, in SI units.

The printed 4.7 divides by a b too many; 5.2.5 and 7.1.3 have it as here. A barrier's bandwidth is
always fitted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np

from perfmodel.models.model import Family, Weight
from perfmodel.quantities.case import Case

WORD_BITS = 32


def quantities(case: Case) -> dict[str, Any]:
    """Return of each operation how many there are, and how many that wait one after the other."""
    per_launch = case.value(case.counts.work_groups()) / np.maximum(case.value(case.counts.launches()), 1)
    units, size = float(case.fact("compute_units")), case.counts.subgroup_size
    items = float(np.prod(case.counts.launch.group_shape))
    rounds = np.maximum(np.ceil(per_launch / units), 1)
    # The busiest core's share: idle compute units in the last round, idle lanes in the last sub-group.
    uneven = rounds * units / np.maximum(per_launch, 1) * (np.ceil(items / size) * size / items)
    cores = units * float(case.known("lanes_per_unit", size))
    threads = oversubscription(case, items, rounds)
    memory, instructions = _parallelism(case)
    amounts = {
        "memory": global_words(case), "local": local_words(case), "register": register_operations(case),
        "barrier": case.value(case.counts.barriers("local")),
    }  # fmt: skip
    inside = {"memory": memory, "local": instructions, "register": instructions, "barrier": 1.0}
    found: dict[str, Any] = {}
    for name, amount in amounts.items():
        found[f"{name}_amount"] = amount * uneven
        found[f"{name}_waits"] = amount * uneven / (cores * threads * inside[name])
    return {**found, "launched": case.value(case.counts.launches())}


def oversubscription(case: Case, items: float, rounds: Any) -> Any:
    """Return M_o, the work-items of a core that hide each other's latency (section 4.7)."""
    hides = case.known("oversubscription", case.known("device_type", "gpu") != "cpu")
    if not hides:
        return 1.0
    held = rounds
    local = case.counts.launch.local_bytes
    limits = [case.known("max_groups_per_unit", np.inf), case.known("max_items_per_unit", np.inf) / items]
    if local:
        limits.append(case.known("local_memory_bytes", np.inf) / local)
    registers = case.known("registers_per_work_item", 0)
    if registers:
        limits.append(case.known("registers_per_unit", np.inf) / (registers * items))
    held = np.minimum(held, max(min(map(float, limits)), 1.0))
    lanes = float(case.known("lanes_per_unit", case.counts.subgroup_size))
    return np.maximum(held * items / lanes, 1.0)


def global_words(case: Case) -> Any:
    """Return the words of the blocks that sub-groups touch in global memory (4.2)."""
    size = case.counts.subgroup_size
    block = float(case.known("global_transaction_bytes", 4 * size)) / 4
    total: Any = 0.0
    for row in case.counts.access_table:
        if row.space == "global":
            apart = block if row.indirect else np.abs(case.value(row.stride)) * row.bits / WORD_BITS
            total = total + case.value(row.count) * np.clip(apart, block / size, block)
    return total


def local_words(case: Case) -> Any:
    """Return the words that move to and from local memory, each as often as bank conflicts make it."""
    counts, total = case.counts, 0.0
    banks = int(case.known("banks", 0))
    if not banks:
        rows = (row for row in counts.access_table if row.space == "local")
        return sum((case.value(row.count) * max(row.bits / WORD_BITS, 1.0) for row in rows), total)
    for array in sorted({row.array for row in counts.access_table if row.space == "local"}):
        serial = case.value(counts.bank_conflicts(array, banks))
        together = np.maximum(case.value(counts.accesses("local", array=array, granularity="subgroup")), 1)
        total = total + case.value(counts.accesses("local", array=array)) * serial / together
    return total


def register_operations(case: Case) -> Any:
    """Return the operations, an addition and a multiplication of one floating-point type as one."""
    pairs: dict[str, dict[str, Any]] = defaultdict(dict)
    for name, value in case.features.items():
        parts = name.split("_")
        if parts[0] == "op" and parts[1].startswith("float") and parts[2] in ("add", "mul"):
            pairs[parts[1]][parts[2]] = value
    fused = sum((np.minimum(kinds.get("add", 0.0), kinds.get("mul", 0.0)) for kinds in pairs.values()), 0.0)
    return case.total("op_*") - fused


def _parallelism(case: Case) -> tuple[Any, Any]:
    flow = case.counts.flow
    if flow is None:
        return 1.0, 1.0
    found = []
    for ratio in (flow.memory_parallelism, flow.instruction_parallelism):
        serial = case.value(ratio.serial)
        found.append(np.maximum(np.where(serial > 0, case.value(ratio.total) / np.where(serial > 0, serial, 1), 1), 1))
    return found[0], found[1]


_OPERATIONS: Mapping[str, tuple[str, str]] = {
    "memory": ("memory_latency_s", "memory_bandwidth_bytes_per_s"),
    "local": ("local_latency_s", "local_bandwidth_bytes_per_s"),
    "register": ("register_latency_s", "peak_flops_float32"),
    "barrier": ("barrier_latency_s", ""),
}
_RATE = {"memory": "B/s", "local": "B/s", "register": "operation/s", "barrier": "operation/s"}
PER_OPERATION: Mapping[str, float] = {"memory": 4.0, "local": 4.0, "register": 2.0, "barrier": 1.0}
"""Bandwidths' units (bytes, floating-point operations) in one operation of the model."""

FAMILY = Family(
    name="synchronous_parallel_throughput",
    citation=(
        "B. Karsin: Performance-Driven Analysis for Massively Parallel Architectures, dissertation, "
        "University of Hawaii, 2018, chapters 3 and 4"
    ),
    quantities=quantities,
    units={
        **{f"{name}_{kind}": "operation" for name in _OPERATIONS for kind in ("amount", "waits")},
        "launched": "launch",
    },
    weights=(
        Weight("w_launch", "s/launch", start=1e-5, fact="launch_s"),
        *(
            weight
            for name, (latency, rate) in _OPERATIONS.items()
            for weight in (
                Weight(f"w_{name}_latency", "s/operation", start=1e-8, fact=latency),
                Weight(f"w_{name}_rate", _RATE[name], start=1e10, lower=1e3, fact=rate),
            )
        ),
    ),
    parts={
        name: f"max({PER_OPERATION[name]}*{name}_amount/w_{name}_rate, w_{name}_latency*{name}_waits)"
        for name in _OPERATIONS
    },
    expression=f"w_launch*launched + {' + '.join(_OPERATIONS)}",
)
