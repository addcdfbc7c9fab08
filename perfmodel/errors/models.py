"""What goes wrong with features, with model families and their expressions, with fits, and with fitted models."""

from __future__ import annotations

from pathlib import Path

from perfmodel.errors.base import PerfModelWarning
from perfmodel.errors.described import DescribedError


class UnmadeFeatureError(DescribedError, ValueError):
    """No measurement kernel can be made for a feature."""

    feature: str
    message = """no measurement kernel can be made for '{feature}' (they are made for operations and for global accesses
    with a stride); write a kernel class that exercises it and pass its folder by --kernels."""


class ForeignWeightsWarning(PerfModelWarning):
    """Weights were named that belong to another device, driver or CPU than the one in use."""


class NothingMeasuredError(DescribedError, RuntimeError):
    """A calibration ended without a time of any measurement kernel."""

    folder: str | Path
    message = """nothing was measured into '{folder}', so no weights were fitted: the budget ended before the first
    measurement, or every kernel failed; give a larger --budget, or none, and run the same command again: it goes on."""
