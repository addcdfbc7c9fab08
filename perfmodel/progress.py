"""What a long task reports while it runs; a progress bar, for example, shows it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Progress(Protocol):
    """Receives the reports of one task after another."""

    def start(self, task: str, total: int, seconds: float = 0.0) -> None:
        """Begin a task of `total` steps that may take `seconds` together [s]; 0 where that is unknown."""

    def advance(self, note: str = "", seconds: float = 0.0) -> None:
        """Report a step as done, for which `seconds` [s] of the task were expected.

        `note` names the step, and after a colon says what went wrong.
        """

    def tell(self, message: str) -> None:
        """Report something that the user should know."""

    def stop(self) -> None:
        """End the task, whether it is done or not."""


class Silent:
    """Ignores all reports."""

    def start(self, task: str, total: int, seconds: float = 0.0) -> None:
        """Do nothing."""

    def advance(self, note: str = "", seconds: float = 0.0) -> None:
        """Do nothing."""

    def tell(self, message: str) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """Do nothing."""


@contextmanager
def task(progress: Progress, name: str, total: int, seconds: float = 0.0) -> Iterator[None]:
    """Start a task, and stop it at the end of the block, however that ends."""
    progress.start(name, total, seconds)
    try:
        yield
    finally:
        progress.stop()
