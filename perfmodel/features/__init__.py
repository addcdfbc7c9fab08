"""Numbers for one kernel at given sizes, each with a name, a unit and a definition."""

from __future__ import annotations

from perfmodel.features.evaluation import Values, evaluate, plan
from perfmodel.features.names import Feature, feature, operation_feature, unit
from perfmodel.features.stride import stride_class

__all__ = [
    "Feature",
    "Values",
    "evaluate",
    "feature",
    "operation_feature",
    "plan",
    "stride_class",
    "unit",
]
