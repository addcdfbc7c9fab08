"""Fitting and measuring together, for one kernel: a run of it that makes its predictions more accurate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.lazy import loader

if TYPE_CHECKING:
    from perfmodel.tuning import agreement, anchoring, timing, trials, tuned, tuning
    from perfmodel.tuning.anchoring import ANCHOR, anchor, anchor_variants

__all__ = ["ANCHOR", "anchor", "anchor_variants"]

__getattr__ = loader(__name__, dict.fromkeys(__all__, "anchoring"))
