r"""On-chip work and global memory that overlap, as far as the device lets them.

.. math:: T = o + \left(c^s + m^s\right)^{1/s}, \qquad
    c = \sum_{f \in chip} w_f f, \quad m = \sum_{f \in memory} w_f f, \quad o = \sum_{f \in overhead} w_f f

The sharpness s is fitted with the weights. At s = 1 nothing overlaps, and T is the linear model. For large s, T is the
maximum of both. The overhead is the cost of launches and work-groups.

Stevens and Klöckner (2016) charge "any operation at its full, albeit typical, cost" (section 2). Their outlook (section
6.2) proposes to study "how much information on potentially overlapped operations can be obtained through a fitted
model". The features are those of the paper. Weights are never negative.
"""

from perfmodel.models.model import SHARPNESS, Family
from perfmodel.quantities.hints import FEWER_BYTES, FEWER_INSTRUCTIONS, LESS_OVERHEAD

FAMILY = Family(
    name="overlap",
    citation=(
        "J. D. Stevens, A. Klöckner: A Unified, Hardware-Fitted, Cross-GPU Performance Model, 2016, "
        "section 6.2 (outlook)"
    ),
    sums={
        "on_chip": (
            "local_load_*", "op_float*_add", "op_float*_mul", "op_float*_div", "op_float*_pow", "op_float*_minmax",
            "op_float*_special", "barrier_local",
        ),
        "memory": ("global_load_*", "global_store_*", "global_minloadstore_*"),
        "overhead": ("work_groups", "launches"),
    },
    weights=(SHARPNESS,), parts={"on_chip_time": "on_chip", "memory_time": "memory", "overhead_time": "overhead"},
    expression="overhead_time + smooth_max(on_chip_time, memory_time, w_sharpness)", additive=False,
    labels={
        "on_chip_time": "operations and local memory",
        "memory_time": "accesses to global memory",
        "overhead_time": "launches, work-groups and barriers",
    },
    advice={"memory_time": FEWER_BYTES, "overhead_time": LESS_OVERHEAD, "on_chip_time": FEWER_INSTRUCTIONS},
)  # fmt: skip
