from .importing import Imported, import_results
from .kernel_tuner import Guide
from .triton import perf_model

__all__ = ["Guide", "Imported", "import_results", "perf_model"]
