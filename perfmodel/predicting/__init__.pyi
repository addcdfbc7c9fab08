from . import crossovers, predictions, transfer
from .crossovers import Lead, leads_of
from .model import FittedModel, fit, load
from .prediction import Anchor, Prediction, shares
from .predictions import Predicted, Predicting, Predictions, scatter_of, table
from .ranking import RankedVariant, Ranking, rank, rankings, with_ties

__all__ = [
    "Anchor", "FittedModel", "Lead", "Predicted", "Predicting", "Prediction", "Predictions", "RankedVariant", "Ranking",
    "crossovers", "fit", "leads_of", "load", "predictions", "rank", "rankings", "scatter_of", "shares",
    "table", "transfer", "with_ties",
]  # fmt: skip
