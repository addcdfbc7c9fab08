"""What goes wrong with features, with model families and their expressions, with fits, and with fitted models."""

from __future__ import annotations

from perfmodel.errors.base import PerfModelWarning


class ForeignWeightsWarning(PerfModelWarning):
    """Weights were named that belong to another device, driver or CPU than the one in use."""
