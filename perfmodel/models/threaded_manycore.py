r"""The threaded many-core memory (TMM) model with the scheduling factor, of Ma, Chamberlain and Agrawal.

.. math:: T = \max\left(f_{sched} \max\left(\frac{T_1}{P}, \frac{M L}{\mathcal{T} P}\right), T_\infty\right)

This is Eq. 6 and 7, with the span :math:`T_\infty` as in Eq. 1. This file adds the cost of each launch. The terms are:

- Work :math:`T_1`: operations and accesses to local memory, "computation and access to fast memory take unit
  time" (section II.A). P cores: the lanes of all compute units.
- Span :math:`T_\infty`: the same on the longest chain of a work-item. The span bounds the time for any schedule, so
  that the factor does not scale the span. The paper drops the span (footnote 5).
- Transactions M: an access by a row of neighbouring work-items needs one for each chunk of C bytes (footnote 6). A
  data-dependent access counts as one.
- Threads per core: :math:`\mathcal{T} P = B_a T_r U`, for U compute units with :math:`B_a` groups of :math:`T_r`
  work-items. (The text calls U P/Q, although it defines Q as that number.)
- Eq. 4: :math:`B_a = \min(\lfloor Z/S_B \rfloor, \lfloor R/(R_T T_r) \rfloor, B_{max}, \lfloor T_{max}/T_r \rfloor)`,
  at least one, with :math:`B_{max}` for a unit (in the paper for the device). Without a known number of registers,
  their term is left out.
- Eq. 3: :math:`f_{sched} = \lceil B_r/(B_a U) \rceil B_a U / B_r` for :math:`B_r` requested groups.

The seconds of an operation and the latency L are fitted: L "can not be quantitatively determined", and C and L "only
contribute as a scale factor" (section IV).

Eq. 15, the linear form (``threaded_manycore_linear``), :math:`T = a_1 \sqrt{B_r}/\mathcal{T} + a_0`, fits the paper's
all-pairs shortest paths at one problem size. There M grows with :math:`\sqrt{B_r}` (Eq. 10 with :math:`S_D =
n/\sqrt{B_r}`) and the work is constant. For kernels of any size it becomes :math:`T = a_1 M/(\mathcal{T} P) + a_0
T_1/P`, without the span and the scheduling factor.
"""

from typing import Any

from perfmodel.models.model import LAUNCH, Family, Weight
from perfmodel.quantities.case import Case, cores, items_held, scheduling_factor
from perfmodel.quantities.hints import FEWER_BYTES, LESS_OVERHEAD, SHORTER_CHAINS
from perfmodel.quantities.instructions import fast_critical_path, fast_work
from perfmodel.quantities.traffic import row_transactions


def linear_quantities(case: Case) -> dict[str, Any]:
    """Return T_1/P, M/(T P) and the launches."""
    return {
        "work_per_core": fast_work(case) / cores(case),
        "transactions_per_thread": row_transactions(case) / items_held(case),
        "launched": case.value(case.counts.launches()),
    }


def quantities(case: Case) -> dict[str, Any]:
    """Return T_1/P, M/(T P), the launches, the span and the scheduling factor."""
    return {**linear_quantities(case), "span": fast_critical_path(case), "schedule": scheduling_factor(case)}


CITATION = "L. Ma, R. D. Chamberlain, K. Agrawal: Performance Modeling for Highly-threaded Many-core GPUs, ASAP 2014, "
UNITS = {"work_per_core": "operation", "transactions_per_thread": "transaction", "launched": "launch"}
WEIGHTS = (
    Weight("w_operation", "s/operation", start=1e-9, label="an operation of a core", counted="op", scale="cycle"),
    Weight("w_latency", "s/transaction", start=1e-7, label="waiting for one memory transaction",
           scale="memory_latency"),
    LAUNCH,
)  # fmt: skip
LABELS = {
    "compute": "operations of one core", "memory": "memory transactions of one work-item after the other",
    "overhead": "launches",
}  # fmt: skip

FAMILY = Family(
    name="threaded_manycore", citation=f"{CITATION}Eq. 1, 3, 4 and 6 to 8", quantities=quantities,
    units={**UNITS, "span": "operation", "schedule": ""}, weights=WEIGHTS,
    parts={
        "compute": "w_operation*work_per_core*schedule",
        "memory": "w_latency*transactions_per_thread*schedule",
        "critical_path": "w_operation*span",
        "overhead": "w_launch*launched",
    },
    expression="overhead + max(compute, memory, critical_path)", additive=False,
    labels={**LABELS, "critical_path": "the longest chain of dependent operations"},
    advice={"memory": FEWER_BYTES, "critical_path": SHORTER_CHAINS, "overhead": LESS_OVERHEAD},
)  # fmt: skip
LINEAR = Family(
    name="threaded_manycore_linear", citation=f"{CITATION}Eq. 15", quantities=linear_quantities, units=UNITS,
    weights=WEIGHTS,
    parts={
        "compute": "w_operation*work_per_core",
        "memory": "w_latency*transactions_per_thread",
        "overhead": "w_launch*launched",
    },
    expression="compute + memory + overhead", labels=LABELS,
)  # fmt: skip
