"""Progress for a person: a bar with time left on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

LINES_EVERY_S = 5.0


class Bar:
    """Shows the progress of a campaign on standard error.

    It is a :class:`perfmodel.measure.Progress`. A note that tells of a failure (it has a colon)
    stays readable above the bar.
    """

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(stderr=True)
        self._progress: Progress | None = None
        self._task, self._total, self._done = "", 0, 0
        self._began = self._told = monotonic()

    def start(self, task: str, total: int) -> None:
        """Begin a task of so many steps."""
        self._task, self._total, self._done = task, total, 0
        self._began = self._told = monotonic()
        if self._console.is_terminal:
            self._progress = _rich_progress(self._console)
            self._progress.start()
            self._progress.add_task(task, total=total, note="")
        else:
            self._line(f"{task}: {total} steps")

    def advance(self, note: str = "") -> None:
        """Count one step as done."""
        self._done += 1
        if self._progress is not None:
            if ":" in note:
                self._progress.console.print(note, markup=False, highlight=False)
            self._progress.update(self._progress.task_ids[0], advance=1, note=note.split(":")[0])
        elif ":" in note:
            self._line(f"{self._task}: {note}")
        elif monotonic() - self._told >= LINES_EVERY_S:
            left = (monotonic() - self._began) / self._done * (self._total - self._done)
            self._line(f"{self._task}: {self._done} of {self._total}, about {left:.0f} s left")

    def stop(self) -> None:
        """End the task."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None
        else:
            spent = monotonic() - self._began
            self._line(f"{self._task}: {self._done} of {self._total} done in {spent:.0f} s")

    def _line(self, text: str) -> None:
        self._told = monotonic()
        print(text, file=sys.stderr, flush=True)


def _rich_progress(console: Console) -> Progress:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        console=console,
    )
