from . import subject, supervised
from .campaign import CHECK, DEFAULT, FULL, QUICK, QUICK_CHECK, Campaign
from .lock import pin_threads, wait_until_quiet
from .run import measure

__all__ = [
    "CHECK", "DEFAULT", "FULL", "QUICK", "QUICK_CHECK", "Campaign", "measure", "pin_threads",
    "subject", "supervised", "wait_until_quiet",
]  # fmt: skip
