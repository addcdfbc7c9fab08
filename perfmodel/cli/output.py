"""The output of commands: a result as document or text, and notes, errors and progress on standard error."""

from __future__ import annotations

import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from pathlib import Path
from shutil import get_terminal_size
from typing import Annotated, Any, TextIO

import typer
from typer import Option

from perfmodel import display, documents, errors, measuring, predicting, progress
from perfmodel.counts.unused import statistics_of_variants
from perfmodel.errors import OptionError, PerfModelError, PerfModelWarning
from perfmodel.io import is_standard_output, visible

NARROWEST = 20  # columns
LONGEST_NOTE = 1000  # characters
#: Meanings of the flags of a record.
FLAGS = {
    "spread": "the runs of a visit spread by more than 20 %",
    "clock": "the clocks of device and host disagree",
    "bound": "faster than the device allows: the compiler dropped counted work",
    "load": "other programs used the machine",
    "visits": "the two fastest visits differ by more than 5 %",
}
_CARETS = re.compile(r"^ {4,}\^+$")

Quiet = Annotated[bool, Option("--quiet", "-q", help="Print only errors on standard error.")]
Verbose = Annotated[bool, Option("--verbose", "-v", help="Show every note in full, and the traceback of an error.")]
Json = Annotated[bool, Option("--json", help="Print one JSON document.")]


@dataclass(frozen=True)
class CommandSettings:
    """The options of every command, before its name or after it."""

    json: Json = False
    quiet: Quiet = False
    verbose: Verbose = False


SHARED = tuple(option.name for option in fields(CommandSettings))
_current: ContextVar[CommandSettings | None] = ContextVar("settings", default=None)


def settings() -> CommandSettings:
    """Return the options of every command that the running command was given."""
    return _current.get() or CommandSettings()


def set_settings(asked: CommandSettings) -> None:
    """Set the result of :func:`settings` until the surrounding block of :func:`using` ends."""
    _current.set(asked)


@contextmanager
def using(asked: CommandSettings) -> Iterator[None]:
    """Set what :func:`settings` returns in a block."""
    token = _current.set(asked)
    try:
        yield
    finally:
        _current.reset(token)


def table_width() -> int | None:
    """Return the width of the terminal, or ``COLUMNS`` if set. For a file or a pipe return None (no limit)."""
    if not (os.environ.get("COLUMNS", "").isdecimal() or (sys.stdout is not None and sys.stdout.isatty())):
        return None
    return max(get_terminal_size().columns, NARROWEST)


class CommandBar(progress.Bar):
    """Shows the progress of a task on standard error. With ``--quiet`` it shows nothing."""

    def __init__(self, failures: bool = True) -> None:
        super().__init__(settings().quiet, failures)


def wait_until_quiet() -> None:
    """Wait a while for a quiet machine before a measurement, and report this. A supervised command waits only once."""
    if measuring.supervised.spent_s() < 1.0:  # not in a process that replaces one that died
        measuring.wait_until_quiet(lambda text: message(text, with_json=True))


@contextmanager
def counting(shown: bool = True) -> Iterator[None]:
    """Show on a terminal that kernels are counted."""
    from rich.console import Console

    with Console(stderr=True, quiet=settings().quiet or not shown).status("counting ..."):
        yield


def message(text: str, with_json: bool = False) -> None:
    """Print a message on standard error. Print nothing with ``--quiet``, or with ``--json`` unless `with_json`."""
    if (with_json or not settings().json) and not settings().quiet:
        typer.echo(f"perfmodel: {visible(text)}", err=True)


def announce(text: str) -> None:
    """Print what the command will do, with ``--json`` on standard error. With ``--quiet`` print nothing."""
    if not settings().quiet:
        typer.echo(visible(text), err=settings().json)


@contextmanager
def as_notes() -> Iterator[None]:
    """Print each warning of perfmodel or Loopy in a block as a note of one line, except with ``--quiet``."""
    printed: set[str] = set()

    def show(message: Any, category: type[Warning], *location: Any) -> None:
        text = " ".join(str(message).split())
        if category.__module__.startswith("loopy"):
            text = f"Loopy warns: {text.partition(' (add ')[0]}"
        elif not issubclass(category, PerfModelWarning):
            otherwise(message, category, *location)
            return
        key = re.sub(r"\d+", "0", text) if text.startswith("Loopy warns") else text
        if not settings().quiet and key not in printed:
            note = text if settings().verbose else documents.shortened(text, LONGEST_NOTE, quoted=False)
            print(f"perfmodel: note: {visible(note)}", file=sys.stderr)
        printed.add(key)

    with warnings.catch_warnings():
        warnings.simplefilter("default", PerfModelWarning)
        otherwise = warnings.showwarning
        warnings.showwarning = show  # type: ignore[assignment]  # its other arguments are passed on
        with statistics_of_variants():
            yield


def refusal_text(error: PerfModelError) -> str:
    r"""Return an error as one line. If it points into a text, two more lines show the text and its position.

    >>> from perfmodel.errors import OptionError
    >>> print(refusal_text(OptionError("'j' is unknown\n    w_a*j\n        ^\nname a feature")))
    'j' is unknown; name a feature.
        w_a*j
            ^
    """
    lines = str(error).split("\n")
    carets = next((i for i, line in enumerate(lines) if i and _CARETS.match(line)), None)
    if carets is None:
        return " ".join(str(error).split())
    sentence = "; ".join(" ".join(" ".join(part).split()) for part in (lines[: carets - 1], lines[carets + 1 :]))
    return "\n".join([sentence, *lines[carets - 1 : carets + 1]])


def print_refusal(error: PerfModelError) -> None:
    """Print an error on standard error, with ``--verbose`` after its traceback."""
    if settings().verbose:
        traceback.print_exception(error)
    print(f"perfmodel: error: {visible(refusal_text(error))}", file=sys.stderr)


def report_status(status: object) -> None:
    """Report the status of this process to the supervisor, if there is one."""
    if supervised := sys.modules.get("perfmodel.measuring.supervised"):
        supervised.end_result(status if isinstance(status, int) else int(status is not None))


def show(document: Callable[[], Any], text: Callable[[], str], csv: Callable[[], str] | None = None) -> None:
    """Print `csv` if it is given, or else the document with ``--json``, or else the text. Only one is computed."""
    if supervised := sys.modules.get("perfmodel.measuring.supervised"):  # so that no other process prints it again
        supervised.begin_result()
    if csv is not None:
        print(visible(csv()), end="")
    elif settings().json:
        print_document(document())
    else:
        print_text(text())


def show_written(file: Path, document: dict[str, Any], text: str) -> None:
    """Print the document with ``--json``, or else the text, unless the written file is standard output."""
    if settings().json:
        print_document(document)
    elif not is_standard_output(file):
        print_text(text)


def print_document(document: Any) -> None:
    """Print one JSON document, or raise a DocumentError if it holds NaN or infinity."""
    try:
        text = documents.json_text(document, indent=2).replace("\x7f", "\\u007f")
    except errors.DocumentError as error:
        raise errors.DocumentError(f"the result {error.problem}", error.advice) from error
    print(text)


def print_text(text: str, file: TextIO | None = None) -> None:
    """Print text, with long lines broken between words on a terminal."""
    print(visible(display.wrapped_text(text, table_width())), file=file or sys.stdout)


def one_output(**files: Path | None) -> None:
    """Raise an OptionError if two results would go to standard output. The `files` are options that may write there."""
    taken = ["--json"] * settings().json
    taken += [f"--{name} -" for name, file in files.items() if file is not None and is_standard_output(file)]
    if len(taken) > 1:
        raise OptionError(f"{' and '.join(taken)} both write to standard output", "give a file for one of them")


def sizes_text(sizes: Mapping[str, Any]) -> str:
    """Return sizes as ``n=1024, m=8``."""
    return ", ".join(f"{name}={value}" for name, value in sizes.items())


def model_document(kernel: Path, model: predicting.FittedModel) -> dict[str, Any]:
    """Return the kernel file, the device, the family and the weights file of a prediction, for JSON."""
    weights = None if model.path is None else str(model.path)
    source = {"transferred_from": model.fitted.transferred_from} if model.fitted.transferred_from else {}
    return {"kernel": str(kernel), "device": model.device, "family": model.family.name, "weights": weights,
            "clock": model.clock, **source}


def withheld_document(withheld: Mapping[str, PerfModelError]) -> dict[str, Any]:
    """Return the variants without a prediction, with the unmeasured features or the error, for JSON."""
    rows: list[dict[str, Any]] = [
        {"variant": name, "unmeasured": list(error.features)} if isinstance(error, errors.UnmeasuredFeatureError)
        else {"variant": name, "unmeasured": [], "error": str(error)}
        for name, error in withheld.items()
    ]  # fmt: skip
    return {"withheld": rows}


def time_text(variant: predicting.RankedVariant, level: float = 0.9) -> str:
    """Return a predicted time with its interval."""
    interval = f" ({display.interval_text(variant.interval)} at {level:.0%})" if variant.interval else ""
    return display.seconds_text(variant.seconds) + interval


def terms_text(variant: predicting.RankedVariant) -> str:
    """Return the nonzero terms of a prediction as a table, the largest first."""
    rows = [
        (f"  {term}", display.seconds_text(seconds), display.percent(share))
        for term, seconds, share in predicting.shares(variant.seconds, variant.terms) if seconds
    ]  # fmt: skip
    return display.columns_text(rows, width=table_width()) if rows else ""
