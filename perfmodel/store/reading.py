"""Reading JSON Lines files: whole lines are used, and damaged ones are left out with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from perfmodel.documents import LIMITS, reading
from perfmodel.errors import (
    DocumentError,
    NewerDocumentError,
    NewerSchemaError,
    SetAsideWarning,
    StoreFormatError,
)

Value = TypeVar("Value")
Lines = tuple[tuple[int, Value], ...]
_SHOWN = 3  # damaged lines that a message names


def read_lines(
    path: Path, read: Callable[[bytes], Value], needed: bool = True
) -> tuple[Lines[Value], tuple[str, ...]]:
    """Values of a JSON Lines file with their line numbers, and a sentence if lines are damaged and were left out.

    The sentence is also given as a :class:`~perfmodel.errors.SetAsideWarning`. Empty lines say nothing.

    Parameters
    ----------
    path
        The file.
    read
        Gives the value of a line, or raises :class:`~perfmodel.errors.DocumentError`.
    needed
        Whether it is an error if every line is damaged.

    Raises
    ------
    NewerSchemaError
        A newer version of perfmodel wrote a line.
    OutOfMemoryError
        Memory ends.
    StoreFormatError
        The lines are needed and none can be read, though one ends as a whole line does; or the file cannot be read.
    """
    found: list[tuple[int, Value]] = []
    damaged: list[tuple[int, str]] = []
    whole = False  # whether a damaged line ends as a whole line does
    with reading(path):
        for number, line in enumerate(_lines(path), start=1):
            if not line.strip():
                continue
            try:
                found.append((number, _read_line(path, number, line.removesuffix(b"\n"), read)))
            except DocumentError as error:
                torn = not line.endswith(b"\n")
                whole = whole or not torn
                damaged.append((number, f"is torn: it {error.problem}" if torn else error.problem))
    if needed and whole and not found:
        raise StoreFormatError(path, *damaged[0])
    return tuple(found), _told(path, damaged)


def _lines(path: Path) -> Iterator[bytes]:
    """Yield the lines; of one that is longer than any that is read only the begin and the end are kept."""
    try:
        with path.open("rb") as stream:
            while line := stream.readline(LIMITS.bytes + 1):
                if len(line) > LIMITS.bytes and not line.endswith(b"\n"):
                    rest = line
                    while rest and not rest.endswith(b"\n"):
                        rest = stream.readline(LIMITS.bytes)
                    line += rest[-1:]
                yield line
    except OSError as error:
        raise StoreFormatError(path, 1, f"cannot be read ({error.strerror})") from error


def _read_line(path: Path, number: int, line: bytes, read: Callable[[bytes], Value]) -> Value:
    if len(line) > LIMITS.bytes:
        raise DocumentError(f"has more than {LIMITS.bytes} bytes, the most that is read")
    try:
        return read(line)
    except NewerDocumentError as error:
        raise NewerSchemaError(path, number, error.found, error.known) from error


def _told(path: Path, damaged: list[tuple[int, str]]) -> tuple[str, ...]:
    """Say which lines were left out, once for a file; nothing where none is damaged."""
    if not damaged:
        return ()
    shown = "; ".join(f"line {number} {problem}" for number, problem in damaged[:_SHOWN])
    more = f"; and {len(damaged) - _SHOWN} more" * (len(damaged) > _SHOWN)
    sentence = (
        f"'{path}': {len(damaged)} line{'s' * (len(damaged) > 1)} of it cannot be used and "
        f"{'were' if len(damaged) > 1 else 'was'} left out ({shown}{more}); "
        "mend or remove what is damaged, or measure it again"
    )
    warnings.warn(sentence, SetAsideWarning, stacklevel=3)
    return (sentence,)
