"""What every command can be asked: how much it says, and how wide its tables are."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from shutil import get_terminal_size
from typing import Annotated, Any

import typer

NARROWEST = 20  # columns; tables are not made for less

Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Say nothing on standard error but errors: no notes, no progress.")
]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Show every note in full, and the traceback of an error.")
]
Wide = Annotated[
    bool, typer.Option("--wide", help="Print tables in full; they are fitted to the terminal's width otherwise.")
]


@dataclass(frozen=True)
class Settings:
    """The options that every command has."""

    quiet: bool = False
    verbose: bool = False
    wide: bool = False


_TYPES = {"quiet": Quiet, "verbose": Verbose, "wide": Wide}
_current: ContextVar[Settings | None] = ContextVar("settings", default=None)


def settings() -> Settings:
    """Return what the command that runs was asked."""
    return _current.get() or Settings()


@contextmanager
def using(asked: Settings) -> Iterator[None]:
    """Let :func:`settings` return these in a block."""
    token = _current.set(asked)
    try:
        yield
    finally:
        _current.reset(token)


def with_settings(command: Callable[..., None]) -> inspect.Signature:
    """Return the signature of a command with the options that every command has, at its end."""
    known = inspect.signature(command, eval_str=True)
    more = [
        inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=_TYPES[one.name])
        for one in fields(Settings)
    ]
    return known.replace(parameters=[*known.parameters.values(), *more])


def taken_settings(options: dict[str, Any]) -> Settings:
    """Take the options that every command has out of the options of one."""
    return Settings(**{one.name: bool(options.pop(one.name, False)) for one in fields(Settings)})


def table_width() -> int | None:
    """Return how many columns tables may take; None where they are printed in full.

    That is the width of the terminal, or ``COLUMNS`` where it is set. What goes into a file or a pipe is not fitted.
    """
    if settings().wide:
        return None
    if not os.environ.get("COLUMNS", "").isdecimal() and not sys.stdout.isatty():
        return None
    return max(get_terminal_size().columns, NARROWEST)
