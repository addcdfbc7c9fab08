from . import contenders, protocols
from .comparison import Comparison, Comparisons, compare
from .contenders import Contender, Contenders, on_common_cases
from .figures import Choice, Figures, choices, summarise
from .protocols import PROTOCOLS, Evaluation, evaluate

__all__ = [
    "PROTOCOLS", "Choice", "Comparison", "Comparisons", "Contender", "Contenders", "Evaluation", "Figures",
    "choices", "compare", "contenders", "evaluate", "on_common_cases",
    "protocols", "summarise",
]  # fmt: skip
