from . import differences, sides, tables
from .differences import Difference, KernelDifference, TimeChange, difference
from .formulas import Change, Formulas
from .tables import assert_not_slower

__all__ = [
    "Change", "Difference", "Formulas", "KernelDifference", "TimeChange", "assert_not_slower", "difference",
    "differences", "sides", "tables",
]  # fmt: skip
