"""How a campaign tells of its progress, without knowing who listens."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Listener of one task after another."""

    def start(self, task: str, total: int) -> None:
        """Begin a task of `total` steps."""

    def advance(self, note: str = "") -> None:
        """Count one step done; `note` says which, or after a colon what went wrong."""

    def stop(self) -> None:
        """End the task, done or not."""


class Silent:
    """A listener that does nothing."""

    def start(self, task: str, total: int) -> None:
        """Do nothing."""

    def advance(self, note: str = "") -> None:
        """Do nothing."""

    def stop(self) -> None:
        """Do nothing."""
