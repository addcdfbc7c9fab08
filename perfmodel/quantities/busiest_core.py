r"""The operations of a device's busiest core, and how many of them wait for each other: Karsin (2018), chapter 4.

Of each operation :math:`\phi` (memory, local, register, barrier) these are :math:`A_\phi` and :math:`A_\phi / M_\phi`
(Definitions 3.1.9 and 3.1.10), so that it takes :math:`\max(A_\phi/B_\phi, L_\phi A_\phi/M_\phi)` seconds at
bandwidth B and latency L.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from perfmodel.quantities.case import Case
from perfmodel.quantities.instructions import fused_operations, instruction_parallelism, memory_parallelism
from perfmodel.quantities.occupancy import cores, groups_per_launch, items_per_group
from perfmodel.quantities.traffic import global_accesses

PER_OPERATION: Mapping[str, float] = MappingProxyType({"memory": 4.0, "local": 4.0, "register": 2.0, "barrier": 1.0})
"""Bytes (memory, local) and floating-point operations (register) of one operation: the units of bandwidths."""
WORD_BITS = 32


def busiest_core(case: Case) -> dict[str, Any]:
    """Return ``<operation>_amount`` and ``<operation>_waits`` of each operation, summed over all cores.

    A core is a lane. The busiest one also waits for the compute units that are idle in the last
    round of work-groups, and for the idle lanes of the last sub-group.
    """
    units, size, items = float(case.fact("compute_units")), case.counts.subgroup_size, items_per_group(case)
    groups = groups_per_launch(case)
    rounds = np.maximum(np.ceil(groups / units), 1)
    uneven = rounds * units / np.maximum(groups, 1) * (np.ceil(items / size) * size / items)
    threads = cores(case) * oversubscription(case)
    instructions = instruction_parallelism(case)
    inside = {"memory": memory_parallelism(case), "local": instructions, "register": instructions, "barrier": 1.0}
    amounts = {
        "memory": global_words(case), "local": local_words(case), "register": fused_operations(case),
        "barrier": case.value(case.counts.barriers("local")),
    }  # fmt: skip
    operations: dict[str, Any] = {}
    for name, amount in amounts.items():
        operations[f"{name}_amount"] = amount * uneven
        operations[f"{name}_waits"] = amount * uneven / (threads * inside[name])
    return operations


def oversubscription(case: Case) -> Any:
    r"""Return :math:`M_o`, the work-items of a core that hide each other's latency, at least 1 (section 4.7).

    They are those of as many work-groups as a compute unit gets, or as fit into local memory,
    registers and the device's limits, as far as these are known. It is 1 on a CPU, or where the fact
    ``oversubscription`` says that nothing is hidden.
    """
    if not case.known("oversubscription", case.known("device_type", "gpu") != "cpu"):
        return 1.0
    items, local = items_per_group(case), case.counts.launch.local_bytes
    registers = case.known("registers_per_work_item", 0)
    limits = [case.known("max_groups_per_unit", np.inf), case.known("max_items_per_unit", np.inf) / items]
    if local:
        limits.append(case.known("local_memory_bytes", np.inf) / local)
    if registers:
        limits.append(case.known("registers_per_unit", np.inf) / (registers * items))
    rounds = np.maximum(np.ceil(groups_per_launch(case) / float(case.fact("compute_units"))), 1)
    held = np.minimum(rounds, max(min(map(float, limits)), 1.0))
    lanes = float(case.known("lanes_per_unit", case.counts.subgroup_size))
    return np.maximum(held * items / lanes, 1.0)


def global_words(case: Case) -> Any:
    """Return the 4-byte words of the blocks that sub-groups touch in global memory (section 4.2).

    A block is a transaction, where its size is known, else as many words as a sub-group has lanes.
    An access with lanes s words apart counts s words for each lane, at least the lane's part of one
    block and at most a whole block; an access that depends on data counts a whole block.
    """
    size = case.counts.subgroup_size
    block = float(case.known("global_transaction_bytes", 4 * size)) / 4
    amounts, apart, sizes = global_accesses(case)
    return sum(amounts * np.clip(apart * sizes / 4, block / size, block), 0.0)


def local_words(case: Case) -> Any:
    """Return the words that move to and from local memory, times their bank conflicts (section 4.3).

    Conflicts count where the number of ``banks`` is known.
    """
    counts, total = case.counts, 0.0
    rows = [row for row in counts.access_table if row.space == "local"]
    banks = int(case.known("banks", 0))
    if not banks:
        return sum((case.value(row.count) * max(row.bits / WORD_BITS, 1.0) for row in rows), total)
    for array in sorted({row.array for row in rows}):
        serial = case.value(counts.bank_conflicts(array, banks))
        together = np.maximum(case.value(counts.accesses("local", array=array, granularity="subgroup")), 1)
        total = total + case.value(counts.accesses("local", array=array)) * serial / together
    return total
