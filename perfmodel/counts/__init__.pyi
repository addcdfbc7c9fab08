from .counting import count
from .kernel import KernelCounts
from .quasipoly.count import Count, Ratio
from .rows import AccessCount, BarrierCount, LaunchCount, LaunchShape, OperationCount

__all__ = [
    "AccessCount", "BarrierCount", "Count", "KernelCounts", "LaunchCount", "LaunchShape", "OperationCount",
    "Ratio", "count",
]  # fmt: skip
