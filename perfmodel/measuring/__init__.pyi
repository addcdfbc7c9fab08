from . import remote, subject, supervised
from .campaign import CHECK, DEFAULT, FULL, QUICK, QUICK_CHECK, QUICK_STUDY, STUDY, Campaign
from .load import wait_until_quiet
from .lock import pin_threads
from .run import measure

__all__ = [
    "CHECK", "DEFAULT", "FULL", "QUICK", "QUICK_CHECK", "QUICK_STUDY", "STUDY", "Campaign", "measure",
    "pin_threads", "remote", "subject", "supervised", "wait_until_quiet",
]  # fmt: skip
