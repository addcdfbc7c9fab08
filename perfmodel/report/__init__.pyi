from . import bounds, drawing, evaluation, html, pictures, sizes, sweeps
from .evaluation import document, evaluation_text, figures_table, predictions_csv, weights_table

__all__ = [
    "bounds", "document", "drawing", "evaluation", "evaluation_text", "figures_table", "html", "pictures",
    "predictions_csv", "sizes", "sweeps", "weights_table",
]  # fmt: skip
