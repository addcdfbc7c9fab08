from . import bounds, evaluation, html, probes, roofline, sizes_picture, sweeps
from .evaluation import (
    document,
    evaluation_text,
    figures_table,
    predictions_csv,
    predictions_table,
    weights_csv,
    weights_table,
)
from .plots import picture_families, picture_predicted_measured

__all__ = [
    "bounds", "document", "evaluation", "evaluation_text", "figures_table", "html",
    "picture_families", "picture_predicted_measured", "predictions_csv", "predictions_table", "probes", "roofline",
    "sizes_picture", "sweeps", "weights_csv", "weights_table",
]  # fmt: skip
