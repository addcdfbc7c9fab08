"""Tables and pictures of predictions, evaluations and analyses; nothing is computed here.

Names are loaded at their first use: a table of predictions needs no evaluations and no matplotlib.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.lazy import loader

if TYPE_CHECKING:
    from perfmodel.report.evaluation import (
        Judged,
        document,
        evaluation_text,
        figures_table,
        predictions_csv,
        predictions_table,
        weights_csv,
    )
    from perfmodel.report.families import families_csv, families_document, families_table
    from perfmodel.report.families_picture import picture_families
    from perfmodel.report.layout import columns_text, error_table, percent, seconds_text, weights_table
    from perfmodel.report.picture import picture_predicted_measured

__all__ = [
    "Judged",
    "columns_text",
    "document",
    "error_table",
    "evaluation_text",
    "families_csv",
    "families_document",
    "families_table",
    "figures_table",
    "percent",
    "picture_families",
    "picture_predicted_measured",
    "predictions_csv",
    "predictions_table",
    "seconds_text",
    "weights_csv",
    "weights_table",
]

_HOMES = {
    "Judged": "evaluation",
    "columns_text": "layout",
    "document": "evaluation",
    "error_table": "layout",
    "evaluation_text": "evaluation",
    "families_csv": "families",
    "families_document": "families",
    "families_table": "families",
    "figures_table": "evaluation",
    "percent": "layout",
    "picture_families": "families_picture",
    "picture_predicted_measured": "picture",
    "predictions_csv": "evaluation",
    "predictions_table": "evaluation",
    "seconds_text": "layout",
    "weights_csv": "evaluation",
    "weights_table": "layout",
}

__getattr__ = loader(__name__, _HOMES)
