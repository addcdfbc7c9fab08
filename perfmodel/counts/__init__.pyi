from .counting import count
from .kernel import KernelCounts
from .quasipoly.count import Count
from .rows import AccessCount, BarrierCount, LaunchCount, LaunchShape, OperationCount, Utilization

__all__ = [
    "AccessCount", "BarrierCount", "Count", "KernelCounts", "LaunchCount", "LaunchShape", "OperationCount",
    "Utilization", "count",
]  # fmt: skip
