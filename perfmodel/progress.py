"""What a long task reports while it runs, and a bar that shows it on standard error: lines where no terminal is."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from perfmodel.io import visible

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

LINES_EVERY_S = 5.0
EARLIEST = 0.05
"""Share of the expected time after which the time left is estimated [1]."""
FEWEST = 4
"""Fewest steps after which it is estimated where nothing was expected."""
UNEVEN = 2.0
"""Factor between the rates of their halves from which steps say nothing of those to come [1]."""


class FailedStep(str):
    """The note of a step that went wrong: what it is called, and the problem behind a colon.

    Examples
    --------
    >>> step = FailedStep("sum n=8", "timeout")
    >>> step, step.name
    ('sum n=8: timeout', 'sum n=8')
    """

    name: str
    problem: str

    def __new__(cls, name: str, problem: object) -> FailedStep:
        """Make the note."""
        note = super().__new__(cls, f"{name}: {problem}")
        note.name, note.problem = name, str(problem)
        return note

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]  # what a copy or a pickle is made from
        return self.name, self.problem


class Reminder(str):
    """A message that a bar shows only once, though several tasks of a command tell it, each with its own numbers."""


class Progress(Protocol):
    """Receives the reports of one task after another."""

    def start(self, task: str, total: int, seconds: float = 0.0) -> None:
        """Begin a task of `total` steps that may take `seconds` together [s]; 0 where that is unknown."""

    def advance(self, note: str = "", seconds: float = 0.0) -> None:
        """Report a step as done, for which `seconds` [s] of the task were expected.

        `note` names the step; it is a :class:`FailedStep` where that went wrong.
        """

    def tell(self, message: str) -> None:
        """Report something that the user should know."""

    def stop(self) -> None:
        """End the task, whether it is done or not."""


class Silent:
    """Ignores all reports."""

    def _ignore(self, *report: object, **more: object) -> None:
        """Do nothing."""

    start = advance = tell = stop = _ignore


@contextmanager
def task(progress: Progress, name: str, total: int, seconds: float = 0.0) -> Iterator[None]:
    """Start a task, and stop it at the end of the block, however that ends."""
    progress.start(name, total, seconds)
    try:
        yield
    finally:
        progress.stop()


@dataclass
class Phase:
    """A task, how long it was expected to take (0: unknown) and how long it took [s]."""

    name: str
    expected_s: float
    seconds: float


class Phases:
    """Passes reports on, and keeps how long each task takes; `part` names the campaign of the next tasks."""

    def __init__(self, progress: Progress) -> None:
        self.part, self.done = "", list[Phase]()
        self.advance, self.tell = progress.advance, progress.tell
        self._progress, self._began = progress, 0.0

    def start(self, task: str, total: int, seconds: float = 0.0) -> None:
        """Begin a task."""
        name = f"{self.part}: {task}" if self.part else task
        self._began = monotonic()
        self.done.append(Phase(name, seconds, 0.0))
        self._progress.start(name, total, seconds)

    def stop(self) -> None:
        """End the task."""
        self._progress.stop()
        if self.done and not self.done[-1].seconds:
            self.done[-1].seconds = monotonic() - self._began


class Bar:
    """Shows the progress of a task on standard error; a :class:`perfmodel.progress.Progress`.

    The time left is estimated from the expected times of the steps, where they are given, or else where steps take
    about equally long; it is not shown before it can be told. The note of a failed step
    stays above the bar, unless `failures` is false, where the result tells of them. A quiet one shows nothing.
    """

    def __init__(self, quiet: bool = False, failures: bool = True) -> None:
        from rich.console import Console

        self._failures = failures

        # The command line's stream shows escape codes, of which a bar is made; there is another that sends them.
        self._console = Console(file=getattr(sys.stderr, "styled", None), stderr=True, quiet=quiet)
        self._progress: RichProgress | None = None
        self._task, self._total, self._done, self._failed = "", 0, 0, 0
        self._expected, self._expected_done = 0.0, 0.0
        self._began = self._shown = monotonic()
        self._ends: list[float] = []
        self._reminded = False

    def start(self, task: str, total: int, seconds: float = 0.0) -> None:
        """Begin a task of `total` steps, expected to take `seconds` together [s]."""
        self._task, self._total, self._done, self._failed = visible(task), total, 0, 0
        self._expected, self._expected_done = seconds, 0.0
        self._began = self._shown = monotonic()
        self._ends = []
        if self._console.is_terminal:
            from rich.progress import BarColumn, Progress as RichProgress, TextColumn

            parts = ("{task.description}", "{task.fields[state]}", "{task.fields[note]}")
            description, state, note = (TextColumn(part, markup=False) for part in parts)
            self._progress = RichProgress(description, BarColumn(), state, note, console=self._console)
            self._progress.start()
            self._progress.add_task(self._task, total=total, state=self._state(), note="")
        else:
            self._line(f"{self._task}: {total} steps")

    def advance(self, note: str = "", seconds: float = 0.0) -> None:
        """Count one step as done, which was expected to take `seconds` [s]."""
        self._done += 1
        self._expected_done += seconds
        self._ends.append(monotonic())
        failed = isinstance(note, FailedStep)
        self._failed += failed
        if self._progress is not None:
            if failed and self._failures:
                self.tell(note)
            name = note.name if isinstance(note, FailedStep) else note
            self._progress.update(self._progress.task_ids[0], advance=1, state=self._state(), note=visible(name))
        elif failed and self._failures:
            self._line(f"{self._task}: {note}")
        elif monotonic() - self._shown >= LINES_EVERY_S:
            self._line(f"{self._task}: {self._state()}")

    def tell(self, message: str) -> None:
        """Show a message and leave it there; of :class:`Reminder` ones the first alone."""
        if isinstance(message, Reminder):
            if self._reminded:
                return
            self._reminded = True
        if self._progress is not None:
            self._progress.console.print(visible(message), markup=False, highlight=False)
        else:
            self._line(message)

    def stop(self) -> None:
        """End the task, if one has begun."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None
        elif self._task:
            spent = monotonic() - self._began
            failed = f", {self._failed} failed" if self._failed else ""
            self._line(f"{self._task}: {self._done} of {self._total} done{failed} in {spent:.0f} s")

    def _state(self) -> str:
        failed = f", {self._failed} failed" if self._failed else ""
        seconds = self._left_s()
        left = "" if seconds is None else f", about {seconds:.0f} s left"
        return f"{self._done} of {self._total}{failed}{left}"

    def _left_s(self) -> float | None:
        """Return the time that the rest takes if it goes on at the same rate [s]; None where that cannot be told."""
        spent = monotonic() - self._began
        if self._expected > 0:
            if self._expected_done < EARLIEST * self._expected:
                return None
            return spent / self._expected_done * max(self._expected - self._expected_done, 0.0)
        if self._done < FEWEST:
            return None
        half = self._done // 2
        first = (self._ends[half - 1] - self._began) / half
        second = (self._ends[-1] - self._ends[half - 1]) / (self._done - half)
        if max(first, second) > UNEVEN * min(first, second):
            return None
        return spent / self._done * (self._total - self._done)

    def _line(self, text: str) -> None:
        self._shown = monotonic()
        if not self._console.quiet:
            sys.stderr.write(f"{visible(text)}\n")
            sys.stderr.flush()


def shown(progress: Progress | bool | None) -> Progress:
    """Return what receives the reports: a bar for True, nothing for False or None."""
    return Bar() if progress is True else progress or Silent()
