"""What goes wrong with what a user gives: options, arguments, kernel files, and other tuners' results."""

from __future__ import annotations

from perfmodel.errors.base import PerfModelWarning


class WorkerDiedWarning(PerfModelWarning):
    """A process was killed or crashed; what it had not finished is done again."""
