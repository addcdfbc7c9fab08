"""Predicted against measured times, by the protocols that every model is judged by."""

from __future__ import annotations

from perfmodel.compare.comparison import Comparison, Comparisons, compare
from perfmodel.compare.contender import Contender, Contenders
from perfmodel.compare.figures import Choice, Figures, choices, summarise
from perfmodel.compare.protocols import PROTOCOLS, Evaluation, evaluate, fit_and_evaluate
from perfmodel.compare.side_by_side import compare_families, on_common_cases

__all__ = [
    "PROTOCOLS",
    "Choice",
    "Comparison",
    "Comparisons",
    "Contender",
    "Contenders",
    "Evaluation",
    "Figures",
    "choices",
    "compare",
    "compare_families",
    "evaluate",
    "fit_and_evaluate",
    "on_common_cases",
    "summarise",
]
