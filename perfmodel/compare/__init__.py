"""Models held against measured times, by the protocols that every model is judged by."""

from __future__ import annotations

from perfmodel.compare.comparison import Comparison, compare
from perfmodel.compare.figures import Choice, Figures, choices, figures
from perfmodel.compare.protocols import PROTOCOLS, Evaluation, evaluate

__all__ = [
    "PROTOCOLS",
    "Choice",
    "Comparison",
    "Evaluation",
    "Figures",
    "choices",
    "compare",
    "evaluate",
    "figures",
]
