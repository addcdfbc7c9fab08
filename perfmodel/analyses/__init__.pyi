from . import balance, benefits, outliers, report_data, roofline

__all__ = ["balance", "benefits", "outliers", "report_data", "roofline"]
