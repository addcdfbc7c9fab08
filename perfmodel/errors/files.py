"""What goes wrong with files that perfmodel writes, and with stores of measurements."""

from __future__ import annotations

from perfmodel.errors.base import PerfModelWarning


class SetAsideWarning(PerfModelWarning):
    """Lines of a store are damaged, or times in it cannot be, and were left out; what else it holds is used."""


class MixedDriversWarning(PerfModelWarning):
    """Weights are fitted to measurements of several versions of the driver."""
