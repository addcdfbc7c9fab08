"""How a campaign tells of its progress, without knowing who listens."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Listener of one task after another."""

    def start(self, task: str, total: int, seconds: float = 0.0) -> None:
        """Begin a task of `total` steps that may take `seconds` together (0: unknown)."""

    def advance(self, note: str = "", seconds: float = 0.0) -> None:
        """Count one step done, which was thought to take `seconds` of those.

        `note` says which, or after a colon what went wrong.
        """

    def tell(self, message: str) -> None:
        """Pass on what the person who waits should know."""

    def stop(self) -> None:
        """End the task, done or not."""


class Silent:
    """A listener that does nothing."""

    def start(self, task: str, total: int, seconds: float = 0.0) -> None:
        """Do nothing."""

    def advance(self, note: str = "", seconds: float = 0.0) -> None:
        """Do nothing."""

    def tell(self, message: str) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """Do nothing."""
