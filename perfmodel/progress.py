"""Progress reports of long tasks, and a progress bar on standard error (lines without a terminal)."""

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
EARLIEST = 0.05  # fraction of the expected time after which the remaining time is estimated
FEWEST = 4  # steps after which it is estimated without an expected time
UNEVEN = 2.0  # largest factor between the mean times of the first and second half of the steps for an estimate


class FailedStep(str):
    """The note of a failed step: its name and the problem."""

    name: str
    problem: str

    def __new__(cls, name: str, problem: object) -> "FailedStep":
        """Make the note."""
        note = super().__new__(cls, f"{name}: {problem}")
        note.name, note.problem = name, str(problem)
        return note

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]  # arguments for copies and pickles
        return self.name, self.problem


class Reminder(str):
    """A message that a bar shows only once, even if several tasks of a command send it."""


class Progress(Protocol):
    """Receives the reports of tasks, one task after another."""

    def start(self, task: str, total: int, seconds: float = 0.0) -> None:
        """Start a task of `total` steps that may take `seconds` in total [s]. An unknown time is 0."""

    def advance(self, note: str = "", seconds: float = 0.0) -> None:
        """Report a finished step with an expected time of `seconds` [s]. `note` is its name or a FailedStep."""

    def report(self, message: str) -> None:
        """Show a message to the user."""

    def stop(self) -> None:
        """End the task."""


class Silent:
    """Ignores all reports."""

    def _ignore(self, *report: object, **more: object) -> None:
        """Do nothing."""

    start = advance = report = stop = _ignore


@contextmanager
def task(progress: Progress, name: str, total: int, seconds: float = 0.0) -> Iterator[None]:
    """Start a task, and stop it at the end of the block, also after an error."""
    progress.start(name, total, seconds)
    try:
        yield
    finally:
        progress.stop()


@dataclass
class Phase:
    """A task with its expected time (0: unknown) and its measured time [s]."""

    name: str
    expected_s: float
    seconds: float


class Phases:
    """Forwards reports and measures the time of each task. `part` names the campaign of the next tasks."""

    def __init__(self, progress: Progress) -> None:
        self.part, self.done = "", list[Phase]()
        self.advance, self.report = progress.advance, progress.report
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
    """A progress bar on standard error, or lines without a terminal. A quiet bar shows nothing.

    The remaining time is estimated from the expected times of steps, or from finished steps with about equal times.
    """

    def __init__(self, quiet: bool = False, failures: bool = True) -> None:
        from rich.console import Console

        self._failures = failures

        # The command line's stream escapes the control codes of a bar; its attribute `styled` does not.
        self._console = Console(file=getattr(sys.stderr, "styled", None), stderr=True, quiet=quiet)
        self._progress: RichProgress | None = None
        self._task, self._total, self._done, self._failed = "", 0, 0, 0
        self._expected, self._expected_done = 0.0, 0.0
        self._began = self._shown = monotonic()
        self._ends: list[float] = []
        self._reminded = False

    def start(self, task: str, total: int, seconds: float = 0.0) -> None:
        """Start a task of `total` steps with an expected time of `seconds` in total [s]."""
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
            self._line(f"{self._task}: {total} step{'s' * (total != 1)}")

    def advance(self, note: str = "", seconds: float = 0.0) -> None:
        """Count a finished step with an expected time of `seconds` [s]."""
        self._done += 1
        self._expected_done += seconds
        self._ends.append(monotonic())
        failed = isinstance(note, FailedStep)
        self._failed += failed
        if self._progress is not None:
            if failed and self._failures:
                self.report(note)
            name = note.name if isinstance(note, FailedStep) else note
            self._progress.update(self._progress.task_ids[0], advance=1, state=self._state(), note=visible(name))
        elif failed and self._failures:
            self._line(f"{self._task}: {note}")
        elif monotonic() - self._shown >= LINES_EVERY_S:
            self._line(f"{self._task}: {self._state()}")

    def report(self, message: str) -> None:
        """Show a message permanently. Only the first :class:`Reminder` is shown."""
        if isinstance(message, Reminder):
            if self._reminded:
                return
            self._reminded = True
        if self._progress is not None:
            self._progress.console.print(visible(message), markup=False, highlight=False)
        else:
            self._line(message)

    def stop(self) -> None:
        """End the current task."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None
        elif self._task:
            spent = monotonic() - self._began
            self._line(f"{self._task}: {self._done} of {self._total} done{self._failures_text()} in {spent:.0f} s")

    def _state(self) -> str:
        seconds = self._left_s()
        left = "" if seconds is None else f", about {seconds:.0f} s left"
        return f"{self._done} of {self._total}{self._failures_text()}{left}"

    def _failures_text(self) -> str:
        return f", {self._failed} failed" if self._failed else ""

    def _left_s(self) -> float | None:
        spent = monotonic() - self._began
        if self._expected > 0:
            left = max(self._expected - self._expected_done, 0.0)
            early = self._expected_done < EARLIEST * self._expected
            return None if early else spent / self._expected_done * left
        half = self._done // 2
        if self._done < FEWEST:
            return None
        first = (self._ends[half - 1] - self._began) / half
        second = (self._ends[-1] - self._ends[half - 1]) / (self._done - half)
        even = max(first, second) <= UNEVEN * min(first, second)
        return spent / self._done * (self._total - self._done) if even else None

    def _line(self, text: str) -> None:
        self._shown = monotonic()
        if not self._console.quiet:
            sys.stderr.write(f"{visible(text)}\n")
            sys.stderr.flush()


def shown(progress: Progress | bool | None) -> Progress:
    """Return the receiver of reports: a new bar for True, and a silent receiver for False or None."""
    return Bar() if progress is True else progress or Silent()
