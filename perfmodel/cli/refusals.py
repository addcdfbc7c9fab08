"""How an error is printed: one line, and below it the text at fault with carets where the error underlines it."""

from __future__ import annotations

import os
import re
import sys
import traceback
from shutil import get_terminal_size

from perfmodel.cli.settings import NARROWEST, settings
from perfmodel.errors import PerfModelError
from perfmodel.io import visible

_CARETS = re.compile(r"^ {4,}\^+$")


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
    said = f"{_joined(lines[: place - 1])}; {_joined(lines[place + 1 :])}"
    return "\n".join([said, *_cut(lines[place - 1], lines[place], width)])


def print_refusal(error: PerfModelError) -> None:
    """Print an error on standard error, after its traceback where ``--verbose`` asks for it."""
    if settings().verbose:
        traceback.print_exception(error)
    shown = os.environ.get("COLUMNS", "").isdecimal() or sys.stderr.isatty()
    width = max(get_terminal_size().columns, NARROWEST) if shown else None
    print(f"perfmodel: error: {visible(refusal_text(error, width))}", file=sys.stderr)


def _cut(line: str, carets: str, width: int | None) -> tuple[str, str]:
    """Cut a line and the carets below it to the part around the first caret, so that a terminal does not break them."""
    if width is None or max(len(line), len(carets)) <= width:
        return line, carets
    begin = min(max(0, carets.index("^") - width // 2), max(0, len(line) - width))
    return line[begin : begin + width], carets[begin : begin + width]


def _joined(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())
