r"""On-chip work and global memory that overlap, as far as the device lets them.

.. math:: T = o + \left(c^s + m^s\right)^{1/s}, \qquad
    c = \sum_{f \in chip} w_f f, \quad m = \sum_{f \in memory} w_f f, \quad o = \sum_{f \in overhead} w_f f

The sharpness s is fitted with the weights: at 1 nothing overlaps and T is the linear model; for large s T is the
maximum of both. The overhead is the cost of launches and work-groups.

Stevens and Klöckner (2016) charge "any operation at its full, albeit typical, cost" (section 2); their outlook (section
6.2) proposes to study "how much information on potentially overlapped operations can be obtained through a fitted
model". The features are theirs unless others are chosen; weights are never negative.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from perfmodel.errors import FamilyError
from perfmodel.features import FEATURE_NAMES, matches
from perfmodel.models.model import Family, Weight
from perfmodel.quantities.hints import FEWER_BYTES, FEWER_INSTRUCTIONS, LESS_OVERHEAD

MEMORY = ("global_load_*", "global_store_*", "global_minloadstore_*")
ON_CHIP = (
    "local_load_*", "op_float*_add", "op_float*_mul", "op_float*_div", "op_float*_pow", "op_float*_minmax",
    "op_float*_special", "barrier_local",
)  # fmt: skip
OVERHEAD = ("work_groups", "launches")


def overlap(
    on_chip: Iterable[str] = ON_CHIP,
    memory: Iterable[str] = MEMORY,
    overhead: Iterable[str] = OVERHEAD,
    *,
    name: str = "overlap",
) -> Family:
    """Return the model for a choice of features, given by patterns as for file names; give it a name of its own.

    The times of the features on the chip and of memory overlap each other, and those of the overhead are added. Raise a
    FamilyError if a feature matches the patterns of two of the sums.
    """
    sums = {"on_chip": tuple(on_chip), "memory": tuple(memory), "overhead": tuple(overhead)}
    for feature in (*FEATURE_NAMES, *sums["on_chip"], *sums["memory"]):
        takers = tuple(key for key, patterns in sums.items() if matches(patterns, feature))
        if len(takers) > 1:
            raise FamilyError(
                f"'{feature}' matches the patterns of {' and of '.join(takers)}, so its time would count twice",
                "choose patterns that give each feature to one of them",
            )
    return Family(
        name=name,
        citation=(
            "J. D. Stevens, A. Klöckner: A Unified, Hardware-Fitted, Cross-GPU Performance Model, 2016, "
            "section 6.2 (outlook)"
        ),
        sums=sums,
        weights=(
            Weight("w_sharpness", "", start=4.0, lower=1.0, upper=64.0,
                   words="the sharpness of the overlap (1: times add up, 64: only the longest counts)"),
        ),
        parts={"on_chip_time": "on_chip", "memory_time": "memory", "overhead_time": "overhead"},
        expression="overhead_time + smooth_max(on_chip_time, memory_time, w_sharpness)",
        additive=False,
    )  # fmt: skip


FAMILY = replace(
    overlap(),
    words={
        "on_chip_time": "operations and local memory",
        "memory_time": "accesses to global memory",
        "overhead_time": "launches, work-groups and barriers",
    },
    advice={"memory_time": FEWER_BYTES, "overhead_time": LESS_OVERHEAD, "on_chip_time": FEWER_INSTRUCTIONS},
)
