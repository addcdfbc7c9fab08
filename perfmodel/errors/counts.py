"""What goes wrong while a kernel is counted, and while its counts are evaluated, combined and traced."""

from __future__ import annotations

from perfmodel.errors.base import PerfModelWarning


class AssumedAccessWarning(PerfModelWarning):
    """The accesses of a C instruction are not declared, and assumed."""


class AtomicUpdateWarning(PerfModelWarning):
    """A kernel updates arrays atomically, which is counted as plain loads and stores."""


class UnknownStatisticWarning(PerfModelWarning):
    """A statistic is not used: no test, loop or array of the kernel has its key."""




