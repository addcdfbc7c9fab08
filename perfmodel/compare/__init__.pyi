from . import contenders, protocols
from .comparison import Choice, Comparison, Comparisons, Figures, choices, compare, summarise
from .contenders import Contender, Contenders, on_common_cases
from .protocols import PROTOCOLS, Evaluation, evaluate

__all__ = [
    "PROTOCOLS", "Choice", "Comparison", "Comparisons", "Contender", "Contenders", "Evaluation", "Figures",
    "choices", "compare", "contenders", "evaluate", "on_common_cases",
    "protocols", "summarise",
]  # fmt: skip
