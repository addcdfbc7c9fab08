r"""The operations of a core, and the number of them that wait for each other: Karsin (2018), chapters 3 and 4.

For a :class:`Case`, each operation :math:`\phi` (memory, local, register, barrier) has an amount A and a ratio A/M in
each of its *classes*. Launches with their own multiplicity :math:`M_{i,\phi}` form a class (Theorem 3.1.7). Accesses to
global memory that are split into equally many blocks form a class too (section 6.1.1). A class takes
:math:`\max(A_\phi/B_\phi, L_\phi A_\phi/M_\phi)` seconds at bandwidth B and latency L (Definitions 3.1.9 and 3.1.10),
and the kernel takes the sum over its classes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from perfmodel.counts.tables import by_launch
from perfmodel.quantities.case import Case, cores, groups_per_launch, items_per_group
from perfmodel.quantities.instructions import fused_operations, instruction_parallelism, memory_parallelism
from perfmodel.quantities.traffic import global_accesses

PER_OPERATION: Mapping[str, float] = {"memory": 4.0, "local": 4.0, "register": 2.0, "barrier": 1.0}
"""Bytes (memory, local) or floating-point operations (register) per operation: the units of bandwidths."""
WORD_BITS = 32
CLASSES = 4  # most classes of an operation; further classes are merged with the nearest multiplicity
ALIKE = 1e-9  # logarithms of multiplicities that differ by less are merged


class Operations(NamedTuple):
    """A class of operations, summed over all cores: the number A of operations, and the number A/M in sequence."""

    amount: Any
    waits: Any


def operation_classes(case: Case) -> dict[str, Any]:
    """Return ``<operation>_amount_<k>`` and ``<operation>_waits_<k>`` of the classes k = 1 to :data:`CLASSES`.

    A core is a lane. The amounts include the idle units in the last round of work-groups, and the idle lanes of the
    last sub-group.
    """
    return {
        f"{name}_{part}_{k}": value
        for name, classes in classes_of(case).items()
        for k, operations in enumerate(merged(classes), 1)
        for part, value in operations._asdict().items()
    }


def classes_of(case: Case) -> dict[str, list[Operations]]:
    """Return the classes of each operation, launch by launch."""
    classes: dict[str, list[Operations]] = {name: [] for name in PER_OPERATION}
    for counts in by_launch(case.counts):
        for name, of_launch in _of_launch(case if counts is case.counts else replace(case, counts=counts)).items():
            classes[name] += of_launch
    return classes


def _of_launch(case: Case) -> dict[str, list[Operations]]:
    units, size, items = float(case.fact("compute_units")), case.counts.subgroup_size, items_per_group(case)
    groups = groups_per_launch(case)
    rounds = np.maximum(np.ceil(groups / units), 1)
    uneven = rounds * units / np.maximum(groups, 1) * (np.ceil(items / size) * size / items)
    threads = cores(case) * oversubscription(case)
    loads, instructions = memory_parallelism(case), instruction_parallelism(case)

    def operations(amount: Any, parallel: Any) -> Operations:
        return Operations(amount * uneven, amount * uneven / (threads * parallel))

    words, blocks = global_words(case)
    return {
        "memory": [operations(*pair) for pair in zip(words, loads * blocks, strict=True)],
        "local": [operations(local_words(case), instructions)],
        "register": [operations(fused_operations(case), instructions)],
        "barrier": [operations(case.value(case.counts.barriers("local")), 1.0)],
    }


def merged(classes: Sequence[Operations], most: int = CLASSES) -> list[Operations]:
    """Return `most` classes. Equal multiplicities are merged first, then those with the smallest ratio."""
    if len(classes) <= most:
        return [*classes, *[Operations(0.0, 0.0)] * (most - len(classes))]
    parts = (np.broadcast_arrays(*column) for column in zip(*classes, strict=True))
    amounts, waits = (np.array(part, dtype=np.float64) for part in parts)
    some = waits > 0  # a class without executions has no multiplicity; it joins the largest
    parallel = np.log(np.where(some, amounts, 1) / np.where(some, waits, 1))
    parallel = np.where(some, parallel, np.where(some, parallel, -np.inf).max(axis=0))
    order = np.argsort(parallel, axis=0)
    amounts, waits, parallel = (np.take_along_axis(part, order, axis=0) for part in (amounts, waits, parallel))
    with np.errstate(invalid="ignore"):
        ratios = np.nan_to_num(np.diff(parallel, axis=0))  # without executions it is infinity minus infinity
    largest = np.argsort(np.argsort(-ratios, axis=0, kind="stable"), axis=0) < most - 1
    number = np.concatenate([0 * waits[:1], np.cumsum(largest & (ratios > ALIKE), axis=0)])
    return [
        Operations(*(np.where(number == k, part, 0.0).sum(axis=0)[()] for part in (amounts, waits)))
        for k in range(most)
    ]


def oversubscription(case: Case) -> Any:
    """Return :math:`M_o`, the work-items of a core that hide each other's latency, at least 1 (section 4.7).

    :math:`M_o` follows from the groups that a unit gets and from known limits. On a CPU, or if the fact
    ``oversubscription`` is 0, :math:`M_o` is 1.
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
    return np.maximum(held * items / float(case.known("lanes_per_unit", case.counts.subgroup_size)), 1.0)


def global_words(case: Case) -> tuple[Any, Any]:
    """Return the words of each access to global memory (section 4.2), and the blocks that it is split into (6.1.1).

    A block is a transaction if the size of a transaction is known. Otherwise a block has as many words as a sub-group
    has lanes. If neighbouring lanes of an access are s words apart, a lane counts s words. A lane counts at least its
    part of one block and at most a whole block. If an access depends on data, each lane counts a whole block. Both
    results have the shape (n_accesses, and the shape of the sizes).
    """
    size = case.counts.subgroup_size
    block = float(case.known("global_transaction_bytes", 4 * size)) / 4
    amounts, strides, sizes = global_accesses(case)
    blocks = np.clip(strides * sizes / 4, block / size, block)
    return amounts * blocks, blocks


def local_words(case: Case) -> Any:
    """Return the words that move to and from local memory (4.3), times bank conflicts if ``banks`` are known."""
    counts, total, banks = case.counts, 0.0, int(case.known("banks", 0))
    rows = [row for row in counts.access_table if row.space == "local"]
    if not banks:
        return sum((case.value(row.count) * max(row.bits / WORD_BITS, 1.0) for row in rows), total)
    for array in sorted({row.array for row in rows}):
        serial = case.value(counts.bank_conflicts(array, banks))
        together = np.maximum(case.value(counts.accesses("local", array=array, granularity="subgroup")), 1)
        total = total + case.value(counts.accesses("local", array=array)) * serial / together
    return total
