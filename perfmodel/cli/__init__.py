"""The command line: ``perfmodel <command> [--json]``.

A command is a function of a module of this folder; its docstring is its help. It parses, calls the library and prints.
Modules import what they need inside that function, so that ``perfmodel --help`` stays quick.
"""

from __future__ import annotations

import functools
import signal
import sys
from collections.abc import Callable
from errno import EPIPE
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer

from perfmodel.caches import cache_folder, settle_caches
from perfmodel.cli.program import COMMANDS, Command, Program, flattened
from perfmodel.cli.settings import Settings, as_notes, print_refusal, using
from perfmodel.cli.streams import careful_streams, tell_status
from perfmodel.errors import (
    CacheError,
    FileAccessError,
    NoDocstringsError,
    NoFolderError,
    OutOfMemoryError,
    PerfModelError,
    ResourceError,
)
from perfmodel.io import FULL, output_error

#: Modules of the commands that have another name than their module.
MODULES = {
    "calibrate": "fit", "doctor": "devices", "isolate": "measure", "evaluate": "compare", "outliers": "compare",
    "roofline": "report", "import": "data", "export": "data", "recount": "data",
}  # fmt: skip

USER_ERROR = 2
INTERRUPTED = 130


def main() -> None:
    """Run the command line and end the process with its status.

    Commands find in their context the command that runs this program again.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    try:
        with careful_streams():
            try:
                application()(prog_name="perfmodel", obj=(sys.executable, *sys.orig_argv[1:]))
            except KeyboardInterrupt:  # before or after the command itself
                _end_undisturbed()
                sys.exit(INTERRUPTED)
    except SystemExit as ended:
        tell_status(ended.code)
        raise


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """Interrupt this program; other than Python's own handler this one is only in a process of the command line."""
    raise KeyboardInterrupt


def _end_undisturbed() -> None:
    """Let no further interrupt disturb how this process ends, with a traceback or a status of its own."""
    if signal.getsignal(signal.SIGINT) is _interrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def application() -> typer.Typer:
    """Return the application with every command.

    Returns
    -------
    typer.Typer
        A callable that reads ``sys.argv`` and ends with :class:`SystemExit`.
    """
    app = typer.Typer(
        cls=Program,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        help="Count what an OpenCL kernel does, fit what that costs on a device, predict run times.",
    )
    app.callback()(flattened(_options))
    for name in COMMANDS:
        app.command(name, cls=Command)(_guarded(_function(name)))
    return app


def _function(name: str) -> Callable[..., None]:
    """Return the function of a command."""
    module = import_module(f"perfmodel.cli.{MODULES.get(name, name)}")
    command: Callable[..., None] = getattr(module, f"{name}_command", None) or module.command
    return command


def _guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Print a :class:`PerfModelError`, or a file that cannot be used, on standard error, and end with a status."""
    called = flattened(command)

    @functools.wraps(called)
    def guarded(**options: Any) -> None:
        if sys.flags.optimize > 1:
            _refuse(NoDocstringsError())
        try:
            settle_caches()
            with as_notes():
                called(**options)
        except PerfModelError as error:
            _refuse(error)
        except OSError as error:
            _refuse(_system_refusal(error))
        except MemoryError:
            _refuse(OutOfMemoryError())
        except Exception as error:
            if type(error).__module__ != "sqlite3":
                raise
            # Loopy's caches: the disk was full only later, for example.
            _refuse(CacheError(cache_folder(), str(error)))
        except KeyboardInterrupt:
            _end_undisturbed()
            print("perfmodel: interrupted", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None

    return guarded


def _system_refusal(error: OSError) -> PerfModelError:
    """Return what the system refused, as an error of ours; a stream's reader that has gone is none."""
    problem = error.strerror or str(error)
    if error.filename is not None:
        path = str(error.filename)
        return output_error(path, error) if error.errno in FULL else FileAccessError(path, problem)
    if error.errno == EPIPE:
        raise error
    try:
        Path.cwd()
    except OSError:
        return NoFolderError()
    return ResourceError(problem)


def _refuse(error: PerfModelError) -> NoReturn:
    print_refusal(error)
    raise typer.Exit(USER_ERROR) from None


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"perfmodel {version('perfmodel')}")
        raise typer.Exit


def _options(
    context: typer.Context,
    asked: Settings,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Options of the program, before the name of a command."""
    context.with_resource(using(asked))
