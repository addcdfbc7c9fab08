from . import balance, benefits, descriptions, report_data, roofline

__all__ = ["balance", "benefits", "descriptions", "report_data", "roofline"]
