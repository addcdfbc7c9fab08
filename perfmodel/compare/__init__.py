"""Models held against measured times, by the protocols that every model is judged by."""

from __future__ import annotations

from perfmodel.compare.comparison import Comparison, compare
from perfmodel.compare.figures import Choice, Figures, choices, figures
from perfmodel.compare.protocols import PROTOCOLS, Evaluation, evaluate
from perfmodel.compare.side_by_side import Contender, on_common_cases, side_by_side

__all__ = [
    "PROTOCOLS",
    "Choice",
    "Comparison",
    "Contender",
    "Evaluation",
    "Figures",
    "choices",
    "compare",
    "evaluate",
    "figures",
    "on_common_cases",
    "side_by_side",
]
