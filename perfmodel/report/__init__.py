"""Tables and pictures of predictions, evaluations and analyses; nothing is computed here.

Names are loaded at their first use: a table of predictions needs no evaluations and no matplotlib.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.lazy import loader

if TYPE_CHECKING:
    from perfmodel.compare.comparison import error_table
    from perfmodel.compare.contenders import families_csv, families_document, families_table
    from perfmodel.compare.protocols import Judged
    from perfmodel.display import columns_text, percent, seconds_text
    from perfmodel.report.evaluation import (
        document,
        evaluation_text,
        figures_table,
        predictions_csv,
        predictions_table,
        weights_csv,
        weights_table,
    )
    from perfmodel.report.families_picture import picture_families
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
    "Judged": ".compare.protocols",
    "columns_text": ".display",
    "document": "evaluation",
    "error_table": ".compare.comparison",
    "evaluation_text": "evaluation",
    "families_csv": ".compare.contenders",
    "families_document": ".compare.contenders",
    "families_table": ".compare.contenders",
    "figures_table": "evaluation",
    "percent": ".display",
    "picture_families": "families_picture",
    "picture_predicted_measured": "picture",
    "predictions_csv": "evaluation",
    "predictions_table": "evaluation",
    "seconds_text": ".display",
    "weights_csv": "evaluation",
    "weights_table": "evaluation",
}

__getattr__ = loader(__name__, _HOMES)
