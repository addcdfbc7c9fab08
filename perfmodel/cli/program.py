"""The command line: commands made from functions, options of every command, and how errors end it."""

import inspect
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from errno import EPIPE
from functools import wraps
from importlib import import_module
from itertools import chain
from types import FrameType
from typing import Annotated, Any, NoReturn, get_type_hints

import typer
from typer import Option
from typer.core import TyperCommand, TyperGroup

from perfmodel import errors
from perfmodel.caches import cache_error, settle_caches
from perfmodel.cli import output
from perfmodel.errors import PerfModelError, clipped
from perfmodel.io import FULL, output_error

# The commands by subject, in the order of the help.
SUBJECTS = {
    "Predict": ("predict", "rank", "time", "tune", "count", "diff", "watch", "report"),
    "Device": ("doctor", "devices", "calibrate", "measure", "fit"),
    "Models and data": ("compare", "data"),
}
COMMANDS = tuple(chain(*SUBJECTS.values()))
DATA = ("import", "export", "recipes", "forget")  # the actions of `data`
# Commands whose module has another name.
MODULES = {"rank": "predict", "doctor": "devices", "fit": "calibrate", **dict.fromkeys(DATA, "data")}

USER_ERROR, INTERRUPTED = 2, 130  # exit statuses


def main() -> None:
    """Run the command line and end the process with its status."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        application()(prog_name="perfmodel", obj=(sys.executable, *sys.orig_argv[1:]))
    except KeyboardInterrupt:  # before or after the command itself
        _ignore_interrupts()
        sys.exit(INTERRUPTED)
    except SystemExit as ended:
        status = ended.code
        try:
            if sys.stdout is not None:
                sys.stdout.flush()
        except OSError as error:
            status = _output_failed(error)
        output.report_status(status)
        sys.exit(status)
    except OSError as error:
        sys.exit(_output_failed(error))


def _output_failed(error: OSError) -> int:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python fails again when it ends
    if error.errno == EPIPE:  # the reader has closed the pipe, as 'head -1' does
        return 1
    print(f"perfmodel: error: cannot write standard output: {error.strerror}; redirect it.", file=sys.stderr)
    return USER_ERROR


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _ignore_interrupts() -> None:
    if signal.getsignal(signal.SIGINT) is _interrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def application() -> typer.Typer:
    """Return the application with every command: a callable that reads ``sys.argv``."""
    app = _group(CommandProgram, "Count what an OpenCL kernel does, fit its costs on a device, predict run times.")
    app.callback()(flattened(_options))
    for name in COMMANDS:
        if name == "data":
            data = _group(TyperGroup, "Import results of other tuners, export a store, or list archived recipes.")
            for action in DATA:
                data.command(action, cls=Command)(_guarded(_function(action)))
            app.add_typer(data, name=name)
        else:
            # the arguments of a watched program may look like options
            settings = {"allow_interspersed_args": False, "ignore_unknown_options": True} if name == "watch" else {}
            app.command(name, cls=Command, context_settings=settings)(_guarded(_function(name)))
    return app


def _group(kind: type[TyperGroup], text: str) -> typer.Typer:
    options: dict[str, Any] = {"pretty_exceptions_enable": False, "rich_markup_mode": None}
    return typer.Typer(cls=kind, no_args_is_help=True, help=text, **options)


def _function(name: str) -> Callable[..., None]:
    module = import_module(f"perfmodel.cli.{MODULES.get(name, name)}")
    command: Callable[..., None] = getattr(module, f"{name}_command")
    return command


def _guarded(command: Callable[..., None]) -> Callable[..., None]:
    called = flattened(command)

    @wraps(called)
    def guarded(**options: Any) -> None:
        try:
            settle_caches()
            with output.as_notes():
                called(**options)
        except PerfModelError as error:
            _refuse(error)
        except OSError as error:
            _refuse(_system_error(error))
        except MemoryError:
            _refuse(errors.OutOfMemoryError("out of memory", "give less at once; written files are intact"))
        except Exception as error:
            if type(error).__module__ == "sqlite3":  # Loopy's caches, on a full disk for example
                _refuse(cache_error(str(error)))
            from perfmodel.libraries import failure_in_library

            if failure := failure_in_library(error):
                _refuse(failure)
            raise
        except KeyboardInterrupt:
            _ignore_interrupts()
            print("perfmodel: interrupted", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None

    return guarded


def _system_error(error: OSError) -> PerfModelError:
    """Return a failed system request as an error of perfmodel. A closed pipe is raised again."""
    if error.errno == EPIPE:
        raise error
    if error.filename is not None and error.errno in FULL:
        return output_error(str(error.filename), error)
    what = "the operating system refused a request" if error.filename is None else f"'{clipped(error.filename)}' failed"
    advice = "give another path, free memory or disk space, or ask for less (fewer --jobs, for example)"
    return errors.OptionError(f"{what}: {error.strerror or error}", advice)


def _refuse(error: PerfModelError) -> NoReturn:
    output.print_refusal(error)
    raise typer.Exit(USER_ERROR) from None


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"perfmodel {version('perfmodel')}")
        raise typer.Exit


Version = Annotated[bool, Option("--version", help="Print the version.", callback=_show_version, is_eager=True)]


def _options(context: typer.Context, asked: output.CommandSettings, version: Version = False) -> None:
    """Options before the name of a command."""
    context.with_resource(output.using(asked))


class Command(TyperCommand):
    """A command whose help lists the options of every command under their own heading."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the help of arguments and options."""
        sections: dict[str, list[Any]] = {"Arguments": [], "Options": [], "Options of every command": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                every = parameter.name in (*output.SHARED, "help")
                kind = "Arguments" if parameter.param_type_name == "argument" else "Options"
                sections["Options of every command" if every else kind].append(record)
        _write(formatter, sections)


class CommandProgram(TyperGroup):
    """The whole program. The help of the program lists the commands by subject."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the first line of each command's help."""
        width = formatter.width - 6 - max(map(len, self.commands))
        _write(formatter, {
            subject: [(name, self.commands[name].get_short_help_str(width)) for name in names]
            for subject, names in SUBJECTS.items()
        })  # fmt: skip


def _write(formatter: Any, sections: dict[str, list[Any]]) -> None:
    for title, rows in sections.items():
        if rows:
            with formatter.section(title):
                formatter.write_dl(rows)


def flattened(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with an option for each field of its groups of options, and of ``CommandSettings``."""
    known = inspect.signature(command, eval_str=True).parameters
    groups: dict[str, Any] = {name: p.annotation for name, p in known.items() if is_dataclass(p.annotation)}
    shared = output.CommandSettings not in groups.values()
    flat: list[inspect.Parameter] = []
    for name, parameter in known.items():
        if name in groups:
            flat += _parameters(groups[name])
        else:
            flat.append(parameter.replace(kind=parameter.KEYWORD_ONLY))
    flat += _parameters(output.CommandSettings) if shared else []

    @wraps(command)
    def called(**given: Any) -> None:
        if shared:
            asked = {name: given.pop(name) or getattr(output.settings(), name) for name in output.SHARED}
            output.set_settings(output.CommandSettings(**asked))
            if asked["json"] and given.get("csv"):
                raise errors.OptionError("--json and --csv both write to standard output", "give one of them")
        values = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**given, **values)

    vars(called).update(__signature__=inspect.Signature(flat))
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in flat}
    return called


def _parameters(group: Any) -> list[inspect.Parameter]:
    hints, kind = get_type_hints(group, include_extras=True), inspect.Parameter.KEYWORD_ONLY
    return [inspect.Parameter(
        field.name, kind, annotation=hints[field.name],
        default=inspect.Parameter.empty if field.default is MISSING else field.default,
    ) for field in fields(group)]  # fmt: skip
