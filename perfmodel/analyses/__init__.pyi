from . import active_lanes, balance, balanced, benefits, memory_hierarchy, outliers, report_data, roofline, work_flow

__all__ = [
    "active_lanes", "balance", "balanced", "benefits", "memory_hierarchy", "outliers", "report_data", "roofline",
    "work_flow",
]  # fmt: skip
