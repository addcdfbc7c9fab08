"""Predictions: what a fitted model says of variants of a kernel at given sizes; rankings and tables of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.lazy import loader

if TYPE_CHECKING:
    from perfmodel.predicting import crossovers, predictions, transfer
    from perfmodel.predicting.crossovers import Lead, crossover, leads_of
    from perfmodel.predicting.model import FittedModel, Prediction, fit, load
    from perfmodel.predicting.predictions import Anchor, AnchoredModel, Predicted, Predicting, Predictions, scatter_of
    from perfmodel.predicting.ranking import RankedVariant, Ranking, rank, rankings, with_ties
    from perfmodel.predicting.tables import table

__all__ = [
    "Anchor", "AnchoredModel", "FittedModel", "Lead", "Predicted", "Predicting", "Prediction", "Predictions",
    "RankedVariant", "Ranking", "crossover", "fit", "leads_of", "load", "rank", "rankings", "scatter_of", "table",
    "with_ties",
]  # fmt: skip

_HOMES = {
    **dict.fromkeys(("Anchor", "AnchoredModel", "Predicted", "Predicting", "Predictions", "scatter_of"), "predictions"),
    **dict.fromkeys(("FittedModel", "Prediction", "fit", "load"), "model"),
    **dict.fromkeys(("RankedVariant", "Ranking", "rank", "rankings", "with_ties"), "ranking"),
    **dict.fromkeys(("Lead", "crossover", "leads_of"), "crossovers"),
    "table": "tables",
}

__getattr__ = loader(__name__, _HOMES)
