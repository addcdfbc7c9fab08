"""Numbers for one kernel at given sizes, each with a name, a unit and a definition."""

from __future__ import annotations

from perfmodel.features.evaluation import Values, evaluate, stride_class, total
from perfmodel.features.names import FEATURE_NAMES, Feature, feature, matches, nearest_names, operation_feature, unit

__all__ = [
    "FEATURE_NAMES",
    "Feature",
    "Values",
    "evaluate",
    "feature",
    "matches",
    "nearest_names",
    "operation_feature",
    "stride_class",
    "total",
    "unit",
]
