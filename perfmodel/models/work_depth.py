r"""The work-depth model with input and output: Kim et al. (2012), chapter 2.

.. math:: T = \max(T_{comp}, T_{mem})

- Eq. 2.1, Brent's bound on p cores of :math:`C_0` operations a second each (section 2.5):
  :math:`T_{comp} = (D + (W - D)/p)/C_0`.
- Eq. 2.3: :math:`T_{mem} = \alpha D + Q L/\beta`, the latency :math:`\alpha` for each node of the critical path
  and Q transfers of L bytes at the bandwidth :math:`\beta`.

The work W are the nodes of the kernel's graph: operations and, as in figure 2.3, the loads of global
and local memory that fetch their operands, over all work-items. The depth D are the nodes on the
longest chain of dependences: sequential trips multiply, parallel inames enter once
(:mod:`perfmodel.counts.flow.flow`). QL is the traffic of the footprints
(:func:`perfmodel.models.roofline.traffic`). A core is a lane, ``lanes_per_unit`` of each compute unit;
where nobody told that, as many as a sub-group has. :math:`1/C_0`, :math:`\alpha` and :math:`1/\beta` are fitted, and,
what the chapter leaves out, what a launch costs.

What bounds a kernel, and the balance inequality 2.4, say :mod:`perfmodel.report.balance`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from perfmodel.errors import FlowUnknownError
from perfmodel.models.model import Family, Weight
from perfmodel.models.roofline import traffic
from perfmodel.quantities.case import Case


def quantities(case: Case) -> dict[str, Any]:
    """Return work, depth, bytes to be moved, cores and launches; and Brent's steps of Eq. 2.1."""
    nodes, depth, p = work(case), critical_path(case), cores(case)
    return {
        "steps": depth + np.maximum(nodes - depth, 0.0) / p,
        "depth": depth,
        "moved": traffic(case),
        "launched": case.value(case.counts.launches()),
    }


def work(case: Case) -> Any:
    """Return W: the operations and loads of all work-items."""
    counts = case.counts
    loads = [row.count for row in counts.access_table if row.direction == "load" and row.space != "private"]
    return sum((case.value(count) for count in (*(row.count for row in counts.operation_table), *loads)), 0.0)


def critical_path(case: Case) -> Any:
    """Return D: the operations and loads on the longest chain of dependences.

    Raises
    ------
    FlowUnknownError
        The counts were stored before dataflow was recorded.
    """
    flow = case.counts.flow
    if flow is None:
        raise FlowUnknownError(case.counts.name)
    rows = (row for row in flow.depth.rows if row.is_operation or row.kind == "load")
    return sum((case.value(row.count) for row in rows), 0.0)


def cores(case: Case) -> float:
    """Return p: the lanes of all compute units.

    Raises
    ------
    MissingFactError
        If the number of compute units is not known.
    """
    return float(case.fact("compute_units")) * float(case.known("lanes_per_unit", case.counts.subgroup_size))


FAMILY = Family(
    name="work_depth",
    citation=(
        "H. Kim, R. Vuduc, S. Baghsorkhi, J. Choi, W. Hwu: Performance Analysis and Tuning for General Purpose "
        "Graphics Processing Units (GPGPU), 2012, chapter 2, Eq. 2.1 and 2.3"
    ),
    quantities=quantities,
    units={"steps": "operation", "depth": "operation", "moved": "B", "launched": "launch"},
    weights=(
        Weight("w_operation", "s/operation", start=1e-9),
        Weight("w_latency", "s/operation", start=1e-9),
        Weight("w_byte", "s/B", start=1e-10),
        Weight("w_launch", "s/launch", start=1e-5),
    ),
    parts={
        "compute": "w_operation*steps",
        "latency": "w_latency*depth",
        "transfer": "w_byte*moved",
        "overhead": "w_launch*launched",
    },
    expression="overhead + max(compute, latency + transfer)",
    additive=False,
)
