"""Work, critical path and parallelism of a kernel's dataflow (:mod:`perfmodel.counts.flow.flow`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from perfmodel.errors import FlowUnknownError
from perfmodel.quantities.case import Case


def work(case: Case) -> Any:
    """Return W, the operations and loads of all work-items (Kim et al. 2012, figure 2.3)."""
    counts = case.counts
    loads = (row.count for row in counts.access_table if row.direction == "load" and row.space != "private")
    return case.sum(*(row.count for row in counts.operation_table), *loads)


def critical_path(case: Case) -> Any:
    """Return D, the operations and loads on the longest chain of dependences (Kim et al. 2012, section 2.2).

    Raises
    ------
    FlowUnknownError
        If the counts were stored before dataflow was recorded.
    """
    flow = case.counts.flow
    if flow is None:
        raise FlowUnknownError(case.counts.name)
    return case.sum(*(row.count for row in flow.depth.rows if row.is_operation or row.kind == "load"))


def fast_critical_path(case: Case) -> Any:
    r"""Return :math:`T_\infty`, the operations and accesses to local memory on the longest chain.

    Ma et al. (2014), Eq. 1. It is zero where dataflow is not recorded.
    """
    rows = () if case.counts.flow is None else case.counts.flow.depth.rows
    return case.sum(
        *(row.count for row in rows if row.is_operation or (row.where == "local" and row.kind in ("load", "store")))
    )


def instruction_parallelism(case: Case) -> Any:
    """Return how many instructions of a work-item can be in flight at once between barriers, at least 1.

    It is 1 where dataflow is not recorded.
    """
    return 1.0 if case.counts.flow is None else np.maximum(case.value(case.counts.flow.instruction_parallelism), 1)


def memory_parallelism(case: Case) -> Any:
    """Return how many loads from global memory a work-item can start before it uses the first value, at least 1.

    It is 1 where dataflow is not recorded.
    """
    return 1.0 if case.counts.flow is None else np.maximum(case.value(case.counts.flow.memory_parallelism), 1)
