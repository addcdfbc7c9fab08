from .importing import Imported, import_results
from .kernel_tuner import Guide

__all__ = ["Guide", "Imported", "import_results"]
