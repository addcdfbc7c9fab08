"""What a command prints: its result as one document or as text, and notes, errors and progress on standard error."""

from __future__ import annotations

import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from math import isfinite
from pathlib import Path
from shutil import get_terminal_size
from typing import Annotated, Any, TextIO

import typer
from typer import Option

from perfmodel import analyses, display, documents, errors, fitting, measuring, predicting, progress
from perfmodel.cli.supervision import begin_result
from perfmodel.counts.unused import statistics_of_variants
from perfmodel.errors import OptionError, PerfModelError, PerfModelWarning
from perfmodel.io import file_part, is_standard_output, visible

NARROWEST = 20  # columns
LONGEST = 300  # characters of each note in a line of several
LONGEST_ALONE = 1000  # characters of a note in a line of its own
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
    """Set what :func:`settings` returns until a block of :func:`using` ends."""
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
    """Return the width of the terminal, or ``COLUMNS`` where it is set; None for a file or a pipe, which get all."""
    return _width(sys.stdout)


def _width(stream: Any) -> int | None:
    if not (os.environ.get("COLUMNS", "").isdecimal() or (stream is not None and stream.isatty())):
        return None
    return max(get_terminal_size().columns, NARROWEST)


class CommandBar(progress.Bar):
    """Shows the progress of a task on standard error; nothing with ``--quiet``."""

    def __init__(self, failures: bool = True) -> None:
        super().__init__(settings().quiet, failures)


def wait_until_quiet() -> None:
    """Wait a while for a quiet machine before a measurement, and print that; once in a supervised command."""
    if measuring.supervised.spent_s() < 1.0:  # not in a process that replaces one that died
        measuring.wait_until_quiet(lambda text: message(text, with_json=True))


@contextmanager
def counting(shown: bool = True) -> Iterator[None]:
    """Show on a terminal that kernels are counted."""
    from rich.console import Console

    with Console(stderr=True, quiet=settings().quiet or not shown).status("counting ..."):
        yield


def message(text: str, with_json: bool = False) -> None:
    """Print a message on standard error: not with ``--quiet``, and with ``--json`` only if `with_json`."""
    if (with_json or not settings().json) and not settings().quiet:
        typer.echo(f"perfmodel: {visible(text)}", err=True)


def announce(text: str) -> None:
    """Print beforehand what the command does: not with ``--quiet``, and on standard error with ``--json``."""
    if not settings().quiet:
        typer.echo(visible(text), err=settings().json)


@contextmanager
def as_notes() -> Iterator[None]:
    """Print the first warning of perfmodel in a block at once, and the others in one line at its end.

    A warning of Loopy is printed once, even if it is repeated with other numbers. Other warnings stay as Python prints
    them. With ``--quiet`` no note is printed; with ``--verbose`` each has its own line.
    """
    first: list[str] = []
    rest: list[str] = []
    of_loopy: set[str] = set()

    def show(message: Any, category: type[Warning], *place: Any) -> None:
        text = str(message)
        if category.__module__.startswith("loopy"):
            text = f"Loopy warns: {text.partition(' (add ')[0]}"
            without_numbers = re.sub(r"\d+", "0", text)
            if without_numbers in of_loopy:
                return
            of_loopy.add(without_numbers)
        elif not issubclass(category, PerfModelWarning):
            otherwise(message, category, *place)
            return
        if settings().quiet:
            return
        if first and not settings().verbose:
            rest.append(text)
        else:
            first.append(text)
            _print_note(text if settings().verbose else documents.shortened(text, LONGEST_ALONE, quoted=False))

    with warnings.catch_warnings():
        warnings.simplefilter("default", PerfModelWarning)
        otherwise = warnings.showwarning
        warnings.showwarning = show  # type: ignore[assignment]  # its other arguments are passed on
        try:
            with statistics_of_variants():
                yield
        finally:
            if rest:
                most = LONGEST_ALONE if len(rest) == 1 else LONGEST
                _print_note("; ".join(documents.shortened(note, most, quoted=False) for note in rest))


def _print_note(note: str) -> None:
    print(f"perfmodel: note: {visible(' '.join(note.split()))}", file=sys.stderr)


def refusal_text(error: PerfModelError, width: int | None = None) -> str:
    r"""Return an error as one line, and two more lines where its text underlines something.

    Examples
    --------
    >>> from perfmodel.errors import OptionError
    >>> print(refusal_text(OptionError("'j' is unknown\n    w_a*j\n        ^\nname a feature")))
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
    """Print an error on standard error, with ``--verbose`` after its traceback."""
    if settings().verbose:
        traceback.print_exception(error)
    print(f"perfmodel: error: {visible(refusal_text(error, _width(sys.stderr)))}", file=sys.stderr)


def _cut(line: str, carets: str, width: int | None) -> tuple[str, str]:
    """Cut a line and its carets to the part around the first caret, so that a terminal does not break them."""
    if width is None or max(len(line), len(carets)) <= width:
        return line, carets
    begin = min(max(0, carets.index("^") - width // 2), max(0, len(line) - width))
    return line[begin : begin + width], carets[begin : begin + width]


def _joined(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


def show(document: Callable[[], Any], text: Callable[[], str]) -> None:
    """Print a result as one document (with ``--json``) or as text; only the printed form is computed."""
    if settings().json:
        print_document(document())
    else:
        print_text(text())


def print_document(document: Any) -> None:
    """Print one JSON document.

    Raises
    ------
    DocumentError
        If it holds NaN or infinity; nothing is printed then.
    """
    try:
        text = documents.json_text(document, indent=2).replace("\x7f", "\\u007f")
    except errors.DocumentError as error:
        raise errors.DocumentError(f"the result {error.problem}", error.advice) from error
    begin_result()
    print(text)


def print_text(text: str, file: TextIO | None = None) -> None:
    """Print text, with long lines broken between words on a terminal."""
    print(visible(display.wrapped_text(text, table_width())), file=file or sys.stdout)


def print_csv(text: str) -> None:
    """Print CSV as it is."""
    print(visible(text), end="")


def text_stream(file: Path | None) -> TextIO:
    """Return where a command prints text about a file: standard error if the file is standard output."""
    return sys.stderr if file is not None and is_standard_output(file) else sys.stdout


def one_output(**files: Path | None) -> None:
    """Refuse options that send two results to standard output: ``--json``, and files, by the names of their options."""
    taken = ["--json"] * settings().json
    taken += [f"--{name} -" for name, file in files.items() if file is not None and is_standard_output(file)]
    if len(taken) > 1:
        raise OptionError(f"{' and '.join(taken)} both write to standard output", "give a file for one of them")


def no_csv_with_json(csv: bool) -> None:
    """Refuse ``--csv`` with ``--json``."""
    if csv and settings().json:
        raise OptionError("--json and --csv both write to standard output", "give one of them")


def sizes_text(sizes: Mapping[str, Any]) -> str:
    """Return sizes as ``n=1024, m=8``."""
    return ", ".join(f"{name}={value}" for name, value in sizes.items())


def interval_document(interval: tuple[float, float] | None) -> list[float | None] | None:
    """Return an interval for JSON; null replaces an infinite bound."""
    return None if interval is None else [interval[0], interval[1] if isfinite(interval[1]) else None]


def model_document(kernel: Path, model: predicting.FittedModel) -> dict[str, Any]:
    """Return the kernel file, the device, the family and the weights file of a prediction, for JSON."""
    weights = None if model.path is None else str(model.path)
    source = {"transferred_from": model.fitted.transferred_from} if model.fitted.transferred_from else {}
    return {"kernel": str(kernel), "device": model.device, "family": model.family.name, "weights": weights,
            "clock": model.clock, **source}


def variant_document(variant: predicting.RankedVariant) -> dict[str, Any]:
    """Return the prediction of a variant for JSON."""
    return {
        "variant": variant.name, "seconds": variant.seconds, "interval": interval_document(variant.interval),
        "warnings": list(variant.warnings), "relatives": relatives_document(variant.cautions),
        "fastest": variant.fastest, "tied": variant.tied, "to_measure": variant.to_measure,
        **({} if variant.device_s is None else {"device_s": variant.device_s}),
    }  # fmt: skip


def relatives_document(cautions: Iterable[fitting.cautions.Caution]) -> list[dict[str, Any]]:
    """Return the unmeasured quantities whose costs were taken from related ones, for JSON."""
    taken = fitting.cautions.FromRelative
    return [caution.document() for caution in cautions if isinstance(caution, taken)]


def rates_document(point: analyses.roofline.KernelPoint | None) -> dict[str, float | None]:
    """Return the rates that a kernel reaches, for JSON; empty if they are not known."""
    return {} if point is None else point.document


def anchors_document(anchors: Mapping[str, predicting.Anchor]) -> dict[str, Any]:
    """Return the runs that scale predictions, for JSON."""
    runs = [
        {
            "variant": anchor.kernel, "sizes": dict(anchor.sizes), "measured": anchor.measured,
            "predicted": anchor.predicted, "factor": anchor.factor, "flags": list(anchor.flags),
        }
        for anchor in anchors.values()
    ]  # fmt: skip
    return {"anchors": runs}


def withheld_document(withheld: Mapping[str, PerfModelError]) -> dict[str, Any]:
    """Return the variants without a prediction, with the unmeasured features or the error, for JSON."""
    rows: list[dict[str, Any]] = [
        {"variant": name, "unmeasured": list(error.features)} if isinstance(error, errors.UnmeasuredFeatureError)
        else {"variant": name, "unmeasured": [], "error": str(error)}
        for name, error in withheld.items()
    ]  # fmt: skip
    return {"withheld": rows}


def shares(terms: Mapping[str, float], total: float) -> list[tuple[str, float, float | None]]:
    """Return each term of a prediction with its seconds and its share of the total, the largest first."""
    ordered = sorted(terms.items(), key=lambda pair: -abs(pair[1]))
    return [(term, seconds, seconds / total if total > 0 else None) for term, seconds in ordered]


def terms_text(variant: predicting.RankedVariant) -> str:
    """Return the nonzero terms of a prediction as a table, the largest first."""
    rows = [
        (f"  {term}", display.seconds_text(seconds), display.percent(share))
        for term, seconds, share in shares(variant.terms, variant.seconds) if seconds
    ]  # fmt: skip
    return display.columns_text(rows, width=table_width()) if rows else ""


def check_format(path: Path | None, formats: tuple[str, ...] = (".png", ".svg")) -> None:
    """Refuse a picture whose name ends in none of these."""
    if path is not None and path.suffix not in formats:
        raise OptionError(f"'{path}' is not a picture file", f"let its name end in {' or '.join(formats)}")


def of_variant(path: Path, name: str, several: bool) -> Path:
    """Return the file for one variant: with several variants, the name is added before the suffix."""
    return path.with_name(f"{path.stem}-{file_part(name)}{path.suffix}") if several else path
