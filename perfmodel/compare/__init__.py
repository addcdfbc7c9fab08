"""Predicted against measured times, by the protocols that every model is judged by.

Names are loaded at their first use, since a figure needs no fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.lazy import loader

if TYPE_CHECKING:
    from perfmodel.compare import contenders, protocols
    from perfmodel.compare.comparison import Comparison, Comparisons, compare
    from perfmodel.compare.contenders import Contender, Contenders, compare_families, on_common_cases
    from perfmodel.compare.figures import Choice, Figures, choices, summarise
    from perfmodel.compare.protocols import PROTOCOLS, Evaluation, evaluate, fit_and_evaluate

__all__ = [
    "PROTOCOLS", "Choice", "Comparison", "Comparisons", "Contender", "Contenders", "Evaluation", "Figures", "choices",
    "compare", "compare_families", "evaluate", "fit_and_evaluate", "on_common_cases", "summarise",
]  # fmt: skip

_HOMES = {
    **dict.fromkeys(("Comparison", "Comparisons", "compare"), "comparison"),
    **dict.fromkeys(("Contender", "Contenders", "compare_families", "on_common_cases"), "contenders"),
    **dict.fromkeys(("Choice", "Figures", "choices", "summarise"), "figures"),
    **dict.fromkeys(("PROTOCOLS", "Evaluation", "evaluate", "fit_and_evaluate"), "protocols"),
}

__getattr__ = loader(__name__, _HOMES)
