"""Transactions with global memory: how many a sub-group, or a row of neighbouring work-items, needs for an access."""

from __future__ import annotations

from typing import Any

import numpy as np

from perfmodel.quantities.case import Case
from perfmodel.quantities.traffic import transfer_bytes


def row_transactions(case: Case) -> Any:
    r"""Return M, the transactions of all accesses when neighbouring work-items along l.0 access together.

    A row of r work-items whose cells are s bytes apart takes s/C transactions of C bytes for each
    work-item, at least 1/r and at most 1; an access that depends on data takes 1 (Ma et al. 2014,
    footnote 6). r is the first axis of the work-group, at most a sub-group.
    """
    chunk, total = transfer_bytes(case), 0.0
    row_of_lanes = min(case.counts.subgroup_size, (*case.counts.launch.group_shape, 1)[0])
    for row in case.counts.access_table:
        if row.space == "global":
            apart = chunk if row.indirect else np.abs(case.value(row.stride)) * row.bits / 8
            total = total + case.value(row.count) * np.clip(apart / chunk, 1 / row_of_lanes, 1.0)
    return total


def global_accesses(case: Case) -> tuple[Any, Any, Any]:
    """Return the executions of each access to global memory, its lane stride in accesses, and its bytes.

    Executions and strides are of shape (n_accesses, and the sizes' shape). The stride is infinite
    where the access depends on data.
    """
    rows = [row for row in case.counts.access_table if row.space == "global"]
    amounts = np.array([case.value(row.count) for row in rows] or [case.total("work_groups") * 0.0])
    apart = [np.inf + 0 * amount if row.indirect else np.abs(case.value(row.stride)) + 0 * amount
             for row, amount in zip(rows, amounts, strict=False)]  # fmt: skip
    size = np.array([row.bits / 8 for row in rows] or [4.0]).reshape(-1, *(1,) * (amounts.ndim - 1))
    return amounts, np.array(apart or amounts), size


def subgroup_transactions(case: Case, apart: Any, sizes: Any) -> Any:
    r"""Return the transactions of one access by a sub-group of S lanes.

    :math:`\lceil b S s / C \rceil` for accesses of b bytes with lane stride s and transactions of C bytes, at least
    1 and at most S (Wang and Lou 2017, section 3.2). `apart` and `sizes` are s and b of :func:`global_accesses`.
    """
    lanes = case.counts.subgroup_size
    return np.clip(np.ceil(sizes * lanes * apart / transfer_bytes(case)), 1, lanes)
