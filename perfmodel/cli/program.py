"""How the command line is made of functions: groups of options, options of every command, help, and how it ends."""

from __future__ import annotations

import inspect
import signal
import sys
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
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
from perfmodel.caches import cache_error, settle_caches
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
    "What few need": ("worker",),
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
    **dict.fromkeys([("tune", "--csv")], "--json has all"),
    **dict.fromkeys([(name, "--device") for name in ("evaluate", "report")], "give --from fitted_weights/DEVICE"),
    **dict.fromkeys(
        [(name, "--facts") for name in ("evaluate", "compare", "roofline")], "write them into facts.yaml of the folder"
    ),
}
#: Modules of the commands that have another name than their module.
MODULES = {
    "rank": "predict",
    **dict.fromkeys(("doctor", "calibrate", "fit"), "devices"),
    **dict.fromkeys(("export", "import"), "measure"),
    **dict.fromkeys(("evaluate", "roofline", "report"), "compare"),
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
            _refuse(errors.OutOfMemoryError("out of memory", "give less at once; written files are intact"))
        except Exception as error:
            if type(error).__module__ != "sqlite3":
                from perfmodel.libraries import failure_in_library

                if failure := failure_in_library(error):
                    _refuse(failure)
                raise
            # Loopy's caches: the disk was full only later, for example.
            _refuse(cache_error(str(error)))
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
    """A command; its help has the options of every command under a heading of their own."""

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
        """Write the help of arguments and options."""
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
    """Return a command with options of its own for the fields of each parameter that is a group of options.

    A group is a frozen dataclass whose fields are annotated for typer, such as
    :class:`perfmodel.cli.options.KernelOptions`; the command gets its value. A command without the group
    :class:`perfmodel.cli.output.CommandSettings` has its options too; they are added to those before its name.
    """
    known = inspect.signature(command, eval_str=True).parameters
    groups: dict[str, Any] = {name: p.annotation for name, p in known.items() if is_dataclass(p.annotation)}
    shared = CommandSettings not in groups.values()
    flat: list[inspect.Parameter] = []
    for name, parameter in known.items():
        if name in groups:
            flat += _parameters(groups[name])
        else:
            flat.append(parameter.replace(kind=parameter.KEYWORD_ONLY))
    flat += _parameters(CommandSettings) if shared else []

    @wraps(command)
    def called(**given: Any) -> None:
        if shared:
            asked = {name: given.pop(name) or getattr(settings(), name) for name in SHARED}
            set_settings(CommandSettings(**asked))
        values = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**given, **values)

    vars(called).update(__signature__=inspect.Signature(flat))
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in flat}
    return called


def _parameters(group: Any) -> list[inspect.Parameter]:
    """Return the options of a group, each as a parameter of a function."""
    hints, kind = get_type_hints(group, include_extras=True), inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(
            field.name, kind, annotation=hints[field.name],
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
        )
        for field in fields(group)
    ]  # fmt: skip
