"""Numbers for one kernel at given sizes, each with a name, a unit and a definition."""

from __future__ import annotations

from perfmodel.features.evaluation import Values, evaluate, plan, total
from perfmodel.features.names import Feature, feature, matches, operation_feature, unit
from perfmodel.features.stride import stride_class

__all__ = [
    "Feature",
    "Values",
    "evaluate",
    "feature",
    "matches",
    "operation_feature",
    "plan",
    "stride_class",
    "total",
    "unit",
]
