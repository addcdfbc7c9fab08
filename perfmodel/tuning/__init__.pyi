from . import agreement, anchoring, timing, trials, tuned, tuning
from .anchoring import ANCHOR, anchor, anchor_variants

__all__ = [
    "ANCHOR", "agreement", "anchor", "anchor_variants", "anchoring", "timing", "trials", "tuned", "tuning",
]  # fmt: skip
