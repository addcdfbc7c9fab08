"""perfmodel's warnings on the command line: notes of one line each, and no more than two of them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from perfmodel.cli.settings import settings
from perfmodel.documents import shortened
from perfmodel.errors import PerfModelWarning
from perfmodel.io import visible

LONGEST = 300  # characters of each note in a line of several
ALONE = 1000  # characters of a note in a line of its own


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
            _print(str(message) if settings().verbose else shortened(message, ALONE, quoted=False))

    with warnings.catch_warnings():
        warnings.simplefilter("default", PerfModelWarning)
        otherwise = warnings.showwarning
        warnings.showwarning = show  # type: ignore[assignment]  # its other arguments are passed on
        try:
            yield
        finally:
            if rest:
                most = ALONE if len(rest) == 1 else LONGEST
                _print("; ".join(shortened(one, most, quoted=False) for one in rest))


def _print(note: str) -> None:
    print(f"perfmodel: note: {visible(' '.join(note.split()))}", file=sys.stderr)
