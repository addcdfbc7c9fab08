from . import balance, benefits, report_data, roofline

__all__ = ["balance", "benefits", "report_data", "roofline"]
