"""Predictions: what a fitted model says of variants of a kernel at given sizes; rankings and tables of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.lazy import loader

if TYPE_CHECKING:
    from perfmodel.predicting.crossovers import Lead, crossover, leads_of
    from perfmodel.predicting.model import FittedModel, fit, load
    from perfmodel.predicting.prediction import Prediction
    from perfmodel.predicting.predictions import Anchor, AnchoredModel, Predicted, Predicting, Predictions, scatter_of
    from perfmodel.predicting.ranking import RankedVariant, Ranking, rank, rankings, with_ties
    from perfmodel.predicting.tables import table

_HOMES = {
    "Anchor": "predictions",
    "AnchoredModel": "predictions",
    "FittedModel": "model",
    "Lead": "crossovers",
    "Predicted": "predictions",
    "Predicting": "predictions",
    "Prediction": "prediction",
    "Predictions": "predictions",
    "RankedVariant": "ranking",
    "Ranking": "ranking",
    "crossover": "crossovers",
    "fit": "model",
    "leads_of": "crossovers",
    "load": "model",
    "rank": "ranking",
    "rankings": "ranking",
    "scatter_of": "predictions",
    "table": "tables",
    "with_ties": "ranking",
}

__all__ = [
    "Anchor",
    "AnchoredModel",
    "FittedModel",
    "Lead",
    "Predicted",
    "Predicting",
    "Prediction",
    "Predictions",
    "RankedVariant",
    "Ranking",
    "crossover",
    "fit",
    "leads_of",
    "load",
    "rank",
    "rankings",
    "scatter_of",
    "table",
    "with_ties",
]

__getattr__ = loader(__name__, _HOMES)
