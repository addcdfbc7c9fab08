r"""The work-depth model with input and output: Kim et al. (2012), chapter 2.

.. math:: T = \max(T_{comp}, T_{mem})

- Eq. 2.1, Brent's bound on p cores of :math:`C_0` operations a second each (section 2.5):
  :math:`T_{comp} = (D + (W - D)/p)/C_0`.
- Eq. 2.3: :math:`T_{mem} = \alpha D + Q L/\beta`, the latency :math:`\alpha` for each node of the critical path
  and Q transfers of L bytes at the bandwidth :math:`\beta`.

The work W is the number of nodes of the kernel's graph, over all work-items. The nodes are operations and, as in figure
2.3, the loads of global and local memory that fetch operands. The depth D is the number of nodes on the longest chain
of dependences: sequential trips multiply, parallel inames enter once (:mod:`perfmodel.quantities.instructions`). QL is
the traffic of :func:`perfmodel.quantities.traffic.global_bytes`. A core is a lane: ``lanes_per_unit`` of each compute
unit, else as many as a sub-group has. :math:`1/C_0`, :math:`\alpha` and :math:`1/\beta` are fitted, and the cost of a
launch, which the chapter leaves out. :mod:`perfmodel.analyses.balance` evaluates the balance inequality 2.4.
"""

from typing import Any

import numpy as np

from perfmodel.models.model import KIM_2012, LAUNCH, Family, Weight
from perfmodel.quantities.case import Case, cores
from perfmodel.quantities.hints import FEWER_BYTES, LESS_OVERHEAD, SHORTER_CHAINS
from perfmodel.quantities.instructions import critical_path, work
from perfmodel.quantities.traffic import global_bytes


def quantities(case: Case) -> dict[str, Any]:
    """Return work, depth, bytes to be moved, cores and launches, and the steps of Eq. 2.1, D + (W - D)/p."""
    nodes, depth, p = work(case), critical_path(case), cores(case)
    return {
        "steps": depth + np.maximum(nodes - depth, 0.0) / p, "depth": depth, "moved": global_bytes(case),
        "launched": case.value(case.counts.launches()),
    }  # fmt: skip


FAMILY = Family(
    name="work_depth",
    citation=f"{KIM_2012}, chapter 2, Eq. 2.1 and 2.3",
    quantities=quantities, units={"steps": "operation", "depth": "operation", "moved": "B", "launched": "launch"},
    weights=(
        Weight("w_operation", "s/operation", start=1e-9, label="an operation of a lane", counted="op", scale="cycle"),
        Weight("w_latency", "s/operation", start=1e-9, label="waiting for data, for each step of the longest chain,",
               scale="memory_latency"),
        Weight("w_byte", "s/B", start=1e-10, label="a byte of global memory", counted="B", scale="memory_byte"),
        LAUNCH,
    ),
    parts={
        "compute": "w_operation*steps",
        "latency": "w_latency*depth",
        "transfer": "w_byte*moved",
        "overhead": "w_launch*launched",
    },
    expression="overhead + max(compute, latency + transfer)", additive=False,
    labels={
        "compute": "operations, and the longest chain of them",
        "latency": "waiting for data along the longest chain",
        "transfer": "moving data in global memory",
        "overhead": "launches",
    },
    advice={"transfer": FEWER_BYTES, "latency": SHORTER_CHAINS, "overhead": LESS_OVERHEAD},
)  # fmt: skip
