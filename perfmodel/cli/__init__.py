"""The command line: ``perfmodel <command> [--json]``.

A command is one module of this folder with a function ``command``; its docstring is its help.
Modules import what they need inside that function, so that ``perfmodel --help`` stays quick.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any

import typer

from perfmodel.errors import PerfModelError

COMMANDS = (
    "doctor", "devices", "count", "calibrate", "measure", "isolate", "fit", "predict", "rank", "evaluate", "compare",
    "roofline", "export", "recount",
)  # fmt: skip

USER_ERROR = 2
INTERRUPTED = 130


def main() -> None:
    """Run the command line and end the process with its status.

    Commands find in their context the command that runs this program again.
    """
    application()(prog_name="perfmodel", obj=(sys.executable, *sys.orig_argv[1:]))


def application() -> typer.Typer:
    """Return the application with every command.

    Returns
    -------
    typer.Typer
        A callable that reads ``sys.argv`` and ends with :class:`SystemExit`.
    """
    app = typer.Typer(
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        help="Count what an OpenCL kernel does, fit what that costs on a device, predict run times.",
    )
    app.callback()(_options)
    for name in COMMANDS:
        app.command(name)(_guarded(import_module(f"perfmodel.cli.{name}").command))
    return app


def _guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Print a :class:`PerfModelError` as one line on standard error, and end with an exit status."""

    @functools.wraps(command)
    def guarded(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except PerfModelError as error:
            print(f"perfmodel: error: {' '.join(str(error).split())}", file=sys.stderr)
            raise typer.Exit(USER_ERROR) from None
        except KeyboardInterrupt:
            print("perfmodel: interrupted", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None

    return guarded


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"perfmodel {version('perfmodel')}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Options of the program, without a command."""
