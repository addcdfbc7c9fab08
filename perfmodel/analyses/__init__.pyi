from . import balance, benefits, descriptions, report_data, report_models, roofline

__all__ = ["balance", "benefits", "descriptions", "report_data", "report_models", "roofline"]
