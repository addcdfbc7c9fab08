"""What goes wrong with a device, its facts and its caches, and with a Dask cluster whose workers measure."""

from __future__ import annotations

from perfmodel.errors.base import PerfModelWarning


class AmbiguousDeviceWarning(PerfModelWarning):
    """Several devices match what was asked for."""
