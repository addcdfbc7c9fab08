from . import subject, supervised
from .campaign import CHECK, DEFAULT, FULL, QUICK, QUICK_CHECK, QUICK_STUDY, STUDY, Campaign
from .lock import pin_threads, wait_until_quiet
from .run import measure

__all__ = [
    "CHECK", "DEFAULT", "FULL", "QUICK", "QUICK_CHECK", "QUICK_STUDY", "STUDY", "Campaign", "measure",
    "pin_threads", "subject", "supervised", "wait_until_quiet",
]  # fmt: skip
