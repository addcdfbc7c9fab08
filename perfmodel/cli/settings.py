"""What every command can be asked, and what it says beside its result: notes, errors and progress."""

from __future__ import annotations

import os
import re
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from shutil import get_terminal_size
from typing import Annotated, Any

import typer

from perfmodel import progress
from perfmodel.documents import shortened
from perfmodel.errors import PerfModelError, PerfModelWarning
from perfmodel.io import visible

NARROWEST = 20  # columns; tables are not made for less
LONGEST = 300  # characters of each note in a line of several
ALONE = 1000  # characters of a note in a line of its own
_CARETS = re.compile(r"^ {4,}\^+$")

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing on standard error but errors.")]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Show every note in full, and the traceback of an error.")
]
Wide = Annotated[
    bool, typer.Option("--wide", help="Print tables in full; they are fitted to the terminal's width otherwise.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@dataclass(frozen=True)
class CommandSettings:
    """The options that every command has, before the command's name or after it."""

    json: Json = False
    quiet: Quiet = False
    verbose: Verbose = False
    wide: Wide = False


SHARED = tuple(option.name for option in fields(CommandSettings))
_current: ContextVar[CommandSettings | None] = ContextVar("settings", default=None)


def settings() -> CommandSettings:
    """Return what the command that runs was asked."""
    return _current.get() or CommandSettings()


def set_settings(asked: CommandSettings) -> None:
    """Let :func:`settings` return these from now on, until a block of :func:`using`."""
    _current.set(asked)


@contextmanager
def using(asked: CommandSettings) -> Iterator[None]:
    """Let :func:`settings` return these in a block."""
    token = _current.set(asked)
    try:
        yield
    finally:
        _current.reset(token)


def table_width() -> int | None:
    """Return how many columns tables may take; None where they are printed in full.

    That is the width of the terminal, or ``COLUMNS`` where it is set. What goes into a file or a pipe is not fitted.
    """
    if settings().wide or not _is_shown(sys.stdout):
        return None
    return max(get_terminal_size().columns, NARROWEST)


def _is_shown(stream: Any) -> bool:
    """Whether lines of a stream have a width: on a terminal, or where ``COLUMNS`` says one."""
    return os.environ.get("COLUMNS", "").isdecimal() or stream.isatty()


class CommandBar(progress.Bar):
    """Shows the progress of a task on standard error; nothing with ``--quiet``."""

    def __init__(self) -> None:
        super().__init__(settings().quiet)


@contextmanager
def as_notes() -> Iterator[None]:
    """Print the first of perfmodel's warnings in a block at once, and the others in one line at its end.

    Other warnings are shown as Python does. With ``--quiet`` there are no notes, with ``--verbose`` each has its line.
    """
    rest: list[str] = []
    told = False

    def show(message: Any, category: type[Warning], *place: Any) -> None:
        nonlocal told
        if not issubclass(category, PerfModelWarning):
            otherwise(message, category, *place)
        elif settings().quiet:
            return
        elif told and not settings().verbose:
            rest.append(str(message))
        else:
            told = True
            _print_note(str(message) if settings().verbose else shortened(message, ALONE, quoted=False))

    with warnings.catch_warnings():
        warnings.simplefilter("default", PerfModelWarning)
        otherwise = warnings.showwarning
        warnings.showwarning = show  # type: ignore[assignment]  # its other arguments are passed on
        try:
            yield
        finally:
            if rest:
                most = ALONE if len(rest) == 1 else LONGEST
                _print_note("; ".join(shortened(note, most, quoted=False) for note in rest))


def _print_note(note: str) -> None:
    print(f"perfmodel: note: {visible(' '.join(note.split()))}", file=sys.stderr)


def refusal_text(error: PerfModelError, width: int | None = None) -> str:
    r"""Return an error as one line, and two more where its text underlines something: those are cut to a width.

    Examples
    --------
    >>> from perfmodel.errors import ExpressionError
    >>> print(refusal_text(ExpressionError("w_a*j", 4, 5, "'j' is unknown", "name a feature")))
    'j' is unknown; name a feature.
        w_a*j
            ^
    """
    lines = str(error).split("\n")
    place = next((i for i, line in enumerate(lines) if i and _CARETS.match(line)), None)
    if place is None:
        return _joined(lines)
    sentence = f"{_joined(lines[: place - 1])}; {_joined(lines[place + 1 :])}"
    return "\n".join([sentence, *_cut(lines[place - 1], lines[place], width)])


def print_refusal(error: PerfModelError) -> None:
    """Print an error on standard error, after its traceback where ``--verbose`` asks for it."""
    if settings().verbose:
        traceback.print_exception(error)
    width = max(get_terminal_size().columns, NARROWEST) if _is_shown(sys.stderr) else None
    print(f"perfmodel: error: {visible(refusal_text(error, width))}", file=sys.stderr)


def _cut(line: str, carets: str, width: int | None) -> tuple[str, str]:
    """Cut a line and the carets below it to the part around the first caret, so that a terminal does not break them."""
    if width is None or max(len(line), len(carets)) <= width:
        return line, carets
    begin = min(max(0, carets.index("^") - width // 2), max(0, len(line) - width))
    return line[begin : begin + width], carets[begin : begin + width]


def _joined(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())
