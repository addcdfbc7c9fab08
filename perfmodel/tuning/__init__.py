"""Fitting and measuring together, for one kernel: a run of it that makes its predictions more accurate."""

from __future__ import annotations

from perfmodel.tuning.anchoring import ANCHOR, anchor, anchor_variants

__all__ = ["ANCHOR", "anchor", "anchor_variants"]
