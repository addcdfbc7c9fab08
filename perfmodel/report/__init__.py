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
    from perfmodel.report import bounds, evaluation, html, kernel_pictures, probes, roofline, sizes_picture, sweeps
    from perfmodel.report.evaluation import (
        document,
        evaluation_text,
        figures_table,
        predictions_csv,
        predictions_table,
        weights_csv,
        weights_table,
    )
    from perfmodel.report.plots import picture_families, picture_predicted_measured

_HOMES = {
    "Judged": ".compare.protocols",
    "columns_text": ".display", "percent": ".display", "seconds_text": ".display",
    "error_table": ".compare.comparison",
    "families_csv": ".compare.contenders", "families_document": ".compare.contenders",
    "families_table": ".compare.contenders",
    "document": "evaluation", "evaluation_text": "evaluation", "figures_table": "evaluation",
    "predictions_csv": "evaluation", "predictions_table": "evaluation", "weights_csv": "evaluation",
    "weights_table": "evaluation",
    "picture_families": "plots", "picture_predicted_measured": "plots",
}  # fmt: skip

__all__ = [
    "Judged", "columns_text", "document", "error_table", "evaluation_text", "families_csv", "families_document",
    "families_table", "figures_table", "percent", "picture_families", "picture_predicted_measured", "predictions_csv",
    "predictions_table", "seconds_text", "weights_csv", "weights_table",
]  # fmt: skip

__getattr__ = loader(__name__, _HOMES)
