r"""The threaded many-core memory (TMM) model with the scheduling factor, of Ma, Chamberlain and Agrawal.

.. math:: T = \max\left(f_{sched} \max\left(\frac{T_1}{P}, \frac{M L}{\mathcal{T} P}\right), T_\infty\right)

(Eq. 6 and 7; the span :math:`T_\infty` as in Eq. 1), plus what each launch costs, which the paper leaves out:

- Work :math:`T_1`: operations and accesses to local memory, "computation and access to fast memory take unit
  time" (section II.A). P cores: the lanes of all compute units.
- Span :math:`T_\infty`: the same on the longest chain of a work-item. It bounds the time whatever the schedule is,
  so the factor leaves it alone; the paper drops it (footnote 5), and so does this where dataflow is not recorded.
- Transactions M: what a row of neighbouring work-items accesses together is one for each chunk of C bytes
  (footnote 6). Data-dependent accesses are one each.
- Threads per core: :math:`\mathcal{T} P = B_a T_r U` for U compute units, each with :math:`B_a` groups of :math:`T_r`
  work-items.
- Eq. 4: :math:`B_a = \min(\lfloor Z/S_B \rfloor, \lfloor R/(R_T T_r) \rfloor, B_{max}, \lfloor T_{max}/T_r \rfloor)`,
  at least one. The term of registers is left out where the device's facts do not hold them.
- Eq. 3: :math:`f_{sched} = \lceil B_r/(B_a U) \rceil B_a U / B_r` for :math:`B_r` requested groups.

The seconds of an operation and the latency L are fitted: L "can not be quantitatively determined", and C and L
"only contribute as a scale factor" (section IV).

The text calls P/Q the number of multiprocessors though Q is defined as just that; here it is U. Its
:math:`B_{max}` is the device's and is divided by U; here it is a compute unit's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from perfmodel.models.model import Family, Weight
from perfmodel.models.roofline import transfer_bytes
from perfmodel.models.work_depth import cores
from perfmodel.quantities.case import Case

if TYPE_CHECKING:
    from perfmodel.counts import Count


def quantities(case: Case) -> dict[str, Any]:
    """Return T_1/P, the span, M/(T P), the scheduling factor and the launches."""
    counts, flow = case.counts, case.counts.flow
    accesses = [row.count for row in counts.access_table if row.space == "local"]
    work = _sum(case, (*(row.count for row in counts.operation_table), *accesses))
    chain = () if flow is None else flow.depth.rows
    steps = (row.count for row in chain if row.is_operation or (row.where, row.kind) in _FAST)
    return {
        "work_per_core": work / cores(case),
        "span": _sum(case, steps),
        "transactions_per_thread": transactions(case) / threads(case),
        "schedule": scheduling_factor(case),
        "launched": _sum(case, (row.launches for row in counts.launch_table)),
    }


def transactions(case: Case) -> Any:
    """Return M, the transactions with global memory: rows of work-items along l.0 access chunks together.

    Raises
    ------
    MissingFactError
        If nothing tells the size of a chunk.
    """
    chunk, total = transfer_bytes(case), 0.0
    row_of_lanes = min(case.counts.subgroup_size, (*case.counts.launch.group_shape, 1)[0])
    for row in case.counts.access_table:
        if row.space == "global":
            apart = chunk if row.indirect else np.abs(case.value(row.stride)) * row.bits / 8
            total = total + case.value(row.count) * np.clip(apart / chunk, 1 / row_of_lanes, 1.0)
    return total


def threads(case: Case) -> float:
    """Return the work-items that the device holds at once, the paper's threads per core times cores."""
    return active_blocks(case) * _items(case.counts.launch.group_shape) * float(case.fact("compute_units"))


def active_blocks(case: Case) -> float:
    """Return B_a of Eq. 4, the groups that a compute unit holds at once.

    Raises
    ------
    MissingFactError
        If nobody told how many groups and work-items a compute unit holds, or for a kernel with
        local memory how much of that there is.
    """
    needed = ("max_groups_per_unit", "max_items_per_unit", "local_memory_bytes")
    for key in needed if case.counts.launch.local_bytes else needed[:2]:
        case.fact(key)
    return groups_held(case)


def groups_held(case: Case) -> float:
    """Return the most groups that a compute unit holds at once, at least 1; infinite where no fact limits them."""
    launch = case.counts.launch
    items = _items(launch.group_shape)
    needs = {
        "max_groups_per_unit": 1.0, "max_items_per_unit": items, "local_memory_bytes": launch.local_bytes,
        "registers_per_unit": items * case.known("registers_per_work_item", 0),
    }  # fmt: skip
    limits = (case.fact(key) // need for key, need in needs.items() if need and case.knows(key))
    return float(max(min(limits, default=np.inf), 1.0))


def scheduling_factor(case: Case) -> Any:
    """Return f_sched of Eq. 3, slots of groups over requested groups, of all launches together."""
    places = active_blocks(case) * float(case.fact("compute_units"))
    slots, requested = 0.0, 0.0
    for row in case.counts.launch_table:
        launches, groups = case.value(row.launches), case.value(row.work_groups)
        passes = np.ceil(groups / np.maximum(launches, 1) / places)
        slots, requested = slots + launches * passes * places, requested + groups
    return np.where(requested > 0, slots / np.maximum(requested, 1), 1.0)[()]


def _items(shape: tuple[int, ...]) -> float:
    return float(np.prod(shape))


def _sum(case: Case, counts: Iterable[Count]) -> Any:
    return sum((case.value(count) for count in counts), 0.0)


_FAST = (("local", "load"), ("local", "store"))

CITATION = (
    "L. Ma, R. D. Chamberlain, K. Agrawal: Performance Modeling for Highly-threaded Many-core GPUs, ASAP 2014"
)
UNITS = {
    "work_per_core": "operation", "span": "operation", "transactions_per_thread": "transaction", "schedule": "",
    "launched": "launch",
}  # fmt: skip
WEIGHTS = (
    Weight("w_operation", "s/operation", start=1e-9),
    Weight("w_latency", "s/transaction", start=1e-7),
    Weight("w_launch", "s/launch", start=1e-5),
)

FAMILY = Family(
    name="threaded_manycore",
    citation=f"{CITATION}, Eq. 1, 3, 4 and 6 to 8",
    quantities=quantities,
    units=UNITS,
    weights=WEIGHTS,
    parts={
        "compute": "w_operation*work_per_core*schedule",
        "memory": "w_latency*transactions_per_thread*schedule",
        "critical_path": "w_operation*span",
        "overhead": "w_launch*launched",
    },
    expression="overhead + max(compute, memory, critical_path)",
    additive=False,
)
