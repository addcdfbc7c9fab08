"""Tables and pictures of what models predict."""

from __future__ import annotations

from perfmodel.report.comparison import Comparison, compare, mean_error, withheld
from perfmodel.report.picture import picture_predicted_measured
from perfmodel.report.tables import columns_text, error_table, seconds_text, weights_table

__all__ = [
    "Comparison",
    "columns_text",
    "compare",
    "error_table",
    "mean_error",
    "picture_predicted_measured",
    "seconds_text",
    "weights_table",
    "withheld",
]
