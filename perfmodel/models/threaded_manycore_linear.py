r"""The linear form of the TMM model (Ma, Chamberlain and Agrawal 2014, Eq. 15).

.. math:: T = a_1 \frac{\sqrt{B_r}}{\mathcal{T}} + a_0

fits the paper's all-pairs shortest paths at one problem size. There the transactions M grow with
:math:`\sqrt{B_r}` (Eq. 10 with :math:`S_D = n/\sqrt{B_r}`) and the work is constant, so for kernels of any size it
reads

.. math:: T = a_1 \frac{M}{\mathcal{T} P} + a_0 \frac{T_1}{P}

plus the cost of each launch. It is a sum where :mod:`perfmodel.models.threaded_manycore` has a maximum, and
it leaves out the span and, as Eq. 15 does, the scheduling factor.
"""

from __future__ import annotations

from typing import Any

from perfmodel.models.model import Family, Weight
from perfmodel.quantities.case import Case
from perfmodel.quantities.instructions import fast_work
from perfmodel.quantities.occupancy import cores, items_held
from perfmodel.quantities.subgroup_accesses import row_transactions


def quantities(case: Case) -> dict[str, Any]:
    """Return T_1/P, M/(T P) and the launches."""
    return {
        "work_per_core": fast_work(case) / cores(case),
        "transactions_per_thread": row_transactions(case) / items_held(case),
        "launched": case.value(case.counts.launches()),
    }


FAMILY = Family(
    name="threaded_manycore_linear",
    citation=(
        "L. Ma, R. D. Chamberlain, K. Agrawal: Performance Modeling for Highly-threaded Many-core GPUs, ASAP 2014, "
        "Eq. 15"
    ),
    quantities=quantities,
    units={"work_per_core": "operation", "transactions_per_thread": "transaction", "launched": "launch"},
    weights=(
        Weight("w_operation", "s/operation", start=1e-9, words="an operation of a core", counted="op"),
        Weight("w_latency", "s/transaction", start=1e-7, words="waiting for one memory transaction"),
        Weight("w_launch", "s/launch", start=1e-5, words="a launch"),
    ),
    parts={
        "compute": "w_operation*work_per_core",
        "memory": "w_latency*transactions_per_thread",
        "overhead": "w_launch*launched",
    },
    expression="compute + memory + overhead",
    words={
        "compute": "operations of one core",
        "memory": "memory transactions of one work-item after the other",
        "overhead": "launches",
    },
)
