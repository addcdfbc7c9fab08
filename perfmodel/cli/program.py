"""How the command line is made of functions: groups of options, options of every command, help, and how it ends."""

from __future__ import annotations

import inspect
import signal
import sys
from collections.abc import Callable
from copy import copy
from dataclasses import MISSING, fields, is_dataclass, replace
from errno import EPIPE
from functools import wraps
from importlib import import_module
from itertools import chain
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, NoReturn, get_type_hints

import typer
from typer import Option
from typer.core import TyperCommand, TyperGroup

from perfmodel import errors
from perfmodel.caches import cache_folder, settle_caches
from perfmodel.cli.output import SHARED, CommandSettings, as_notes, print_refusal, set_settings, settings, using
from perfmodel.cli.streams import careful_streams, tell_status
from perfmodel.errors import PerfModelError
from perfmodel.io import FULL, output_error

#: The commands by subject, in the order of the help; what few need stands last.
SUBJECTS = {
    "Predict": ("predict", "rank", "time", "tune", "count", "report"),
    "Device": ("doctor", "devices", "calibrate", "measure", "fit"),
    "Compare": ("evaluate", "compare", "roofline"),
    "Data": ("import", "export"),
    "What few need": ("outliers", "isolate", "recount", "worker"),
}
COMMANDS = tuple(chain(*SUBJECTS.values()))

#: Options that went, by command, and what to do instead; CHANGELOG names the function of the others.
GONE: dict[tuple[str, str], str] = {
    ("export", "--csv"): "give -o FILE",
    ("export", "--t4"): "give -o FILE.json",
    ("measure", "--tag"): "give --class TAG",
    ("rank", "--picture"): "perfmodel predict draws it",
    ("rank", "--facts"): "perfmodel predict ranks variants with it",
    ("time", "--terms"): "--json and --csv have all terms, and perfmodel predict prints them",
    ("compare", "--device"): "give --from fitted_weights/DEVICE",
    ("calibrate", "--facts"): "give it to perfmodel fit --all",
    **dict.fromkeys([(name, "--csv") for name in ("tune", "outliers")], "--json has all"),
    **dict.fromkeys([(name, "--device") for name in ("evaluate", "report")], "give --from fitted_weights/DEVICE"),
    **dict.fromkeys(
        [(name, "--facts") for name in ("evaluate", "compare", "roofline")], "write them into facts.yaml of the folder"
    ),
}
#: Modules of the commands that have another name than their module.
MODULES = {
    "rank": "predict",
    **dict.fromkeys(("doctor", "calibrate", "fit"), "devices"),
    **dict.fromkeys(("isolate", "export", "import", "recount"), "measure"),
    **dict.fromkeys(("evaluate", "outliers", "roofline", "report"), "compare"),
}

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
        cls=CommandProgram,
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
    command: Callable[..., None] = getattr(import_module(f"perfmodel.cli.{MODULES.get(name, name)}"), f"{name}_command")
    return command


def _guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Print a :class:`PerfModelError`, or a file that cannot be used, on standard error, and end with a status."""
    called = flattened(command)

    @wraps(called)
    def guarded(**options: Any) -> None:
        if sys.flags.optimize > 1:
            stripped = "Python was started without docstrings (-OO, or PYTHONOPTIMIZE=2)"
            problem = f"{stripped}, and Loopy cannot be imported then"
            _refuse(errors.AdviceError(problem, "leave PYTHONOPTIMIZE unset, or set it to 1"))
        try:
            settle_caches()
            with as_notes():
                called(**options)
        except PerfModelError as error:
            _refuse(error)
        except OSError as error:
            _refuse(_system_refusal(error))
        except MemoryError:
            _refuse(errors.OutOfMemoryError())
        except Exception as error:
            if type(error).__module__ != "sqlite3":
                raise
            # Loopy's caches: the disk was full only later, for example.
            _refuse(errors.CacheError(cache_folder(), str(error)))
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
        if error.errno in FULL:
            return output_error(path, error)
        advice = "give another path, or make this one accessible"
        return errors.AdviceError(f"'{path}' cannot be used: {problem}", advice)
    if error.errno == EPIPE:
        raise error
    try:
        Path.cwd()
    except OSError:
        advice = "change to another one, and run the command again"
        return errors.AdviceError("the current folder was removed, or may not be read", advice)
    advice = (
        "make room, or ask for less (fewer --jobs, for example), and run it again: every file that was written is whole"
    )
    return errors.AdviceError(f"the system refused what this needs: {problem}", advice)


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
    asked: CommandSettings,
    version: Annotated[
        bool,
        Option("--version", help="Print the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Options of the program, before the name of a command."""
    context.with_resource(using(asked))


class Command(TyperCommand):
    """A command; it has the options of every command as it has ``--help``, beside the ``params`` of its own."""

    shared: tuple[Any, ...] = ()

    def get_params(self, ctx: Any) -> list[Any]:
        """Return all parameters: the command's own, those of every command, and ``--help``."""
        known = {parameter.name for parameter in self.params}
        shared = [option for option in self.shared if option.name not in known]
        return [*self.params, *shared, *super().get_params(ctx)[len(self.params) :]]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse a command line; an option that went says what to do instead."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            option = getattr(error, "option_name", None)
            if advice := GONE.get((self.name or "", option or "")):
                message = f"{option} is no option of {self.name} any more; {advice}."
                vars(error).update(message=message, possibilities=())
            raise

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the help of the options, those of every command under a heading of their own."""
        sections: dict[str, list[Any]] = {"Arguments": [], "Options": [], "Options of every command": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                every = parameter.name in (*SHARED, "help")
                kind = "Arguments" if parameter.param_type_name == "argument" else "Options"
                sections["Options of every command" if every else kind].append(record)
        _write(formatter, sections)


class CommandProgram(TyperGroup):
    """perfmodel itself: its own options are those of every command, and its help has the commands by subject."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        shared = [copy(option) for option in self.params if option.name in SHARED]
        for option in shared:
            vars(option).update(expose_value=False, callback=_taken)
        for command in self.commands.values():
            if isinstance(command, Command):
                command.shared = tuple(shared)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the first line of each command's help."""
        width = formatter.width - 6 - max(map(len, self.commands))
        _write(formatter, {
            subject: [(name, self.commands[name].get_short_help_str(width)) for name in names]
            for subject, names in SUBJECTS.items()
        })  # fmt: skip


def _taken(ctx: Any, option: Any, value: bool) -> None:
    """Add an option that stands after the command's name to the settings."""
    if value:
        set_settings(replace(settings(), **{option.name: True}))


def _write(formatter: Any, sections: dict[str, list[Any]]) -> None:
    for title, rows in sections.items():
        if rows:
            with formatter.section(title):
                formatter.write_dl(rows)


def flattened(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with options of its own for the fields of each parameter that is a group of options.

    A group is a frozen dataclass whose fields are annotated for typer, such as
    :class:`perfmodel.cli.options.KernelOptions`; the command gets its value.
    """
    known = inspect.signature(command, eval_str=True).parameters
    groups: dict[str, Any] = {name: p.annotation for name, p in known.items() if is_dataclass(p.annotation)}
    flat: list[inspect.Parameter] = []
    for name, parameter in known.items():
        if name not in groups:
            flat.append(parameter.replace(kind=parameter.KEYWORD_ONLY))
            continue
        hints = get_type_hints(groups[name], include_extras=True)
        flat += [
            parameter.replace(
                name=field.name, kind=parameter.KEYWORD_ONLY, annotation=hints[field.name],
                default=parameter.empty if field.default is MISSING else field.default,
            )
            for field in fields(groups[name])
        ]  # fmt: skip

    @wraps(command)
    def called(**given: Any) -> None:
        values = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**given, **values)

    vars(called).update(__signature__=inspect.Signature(flat))
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in flat}
    return called
