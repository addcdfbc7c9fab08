"""JSON Lines files that stay readable if their writer is stopped at any instant: damaged lines are left out."""

import errno
import gc
import lzma
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock

from perfmodel.documents import MOST_BYTES, Schema, digest_of, json_document, json_text, reading, shortened, value_of
from perfmodel.errors import DocumentError, OutputError, PerfModelError, SetAsideWarning, StoreError
from perfmodel.io import FULL, check_regular, output_error
from perfmodel.store.measurement import SCHEMA, Measurement

WAIT_S = 60.0  # how long to wait for another process that writes [s]; one line takes milliseconds
LOCK_FILE = ".lock"  # file in the folder of a store; a process that writes locks it
PACKED = ".xz"  # end of the name of a packed file
_READ_ONLY = {errno.EACCES, errno.EPERM, errno.EROFS}
_BLOCK = 2**16
_SHOWN = 3  # damaged lines that a message names


def append_line(path: Path, document: Any) -> None:
    """Append one line atomically, or raise OutputError. A torn last line is moved to ``*.torn`` first."""
    with opened(path) as file:
        write_line(path, file, document)


@contextmanager
def opened(path: Path) -> Iterator[FileIO]:
    """Open a file to read and append, with its folder made and locked. Raise OutputError if that fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        check_regular(path)
        lock = FileLock(path.with_name(LOCK_FILE), timeout=WAIT_S, poll_interval=0.01, is_singleton=True)
        with lock, FileIO(path, "ab+") as file:
            yield file
    except OSError as error:
        if isinstance(error, PerfModelError):
            raise
        raise failure(path, error) from error


def write_line(path: Path, file: FileIO, document: Any) -> None:
    """Append one line to a file that :func:`opened` gave, as :func:`append_line` does."""
    end = _without_torn_line(path, file)
    rest = memoryview((json_text(document) + "\n").encode())
    try:
        while rest:
            rest = rest[file.write(rest) :]
        os.fsync(file.fileno())
    except OSError:
        with suppress(OSError):  # removes the part of the line that a full disk took
            file.truncate(end)
        raise


def failure(path: Path, error: OSError) -> OutputError:
    """Translate a system error into an OutputError that names the reason and the remedy."""
    if error.errno in FULL:
        return output_error(path, error, "make room and run the same command again; earlier records are kept")
    if error.errno in _READ_ONLY:
        return output_error(path, error, "the store is read-only and unchanged: copy its folder to a writable path")
    return output_error(path, error)


def _without_torn_line(path: Path, file: FileIO) -> int:
    end = file.seek(0, os.SEEK_END)
    if end == 0:
        return 0
    start, last = _last_line(file, end)
    try:
        json_document(last)
    except DocumentError:
        torn = path.with_name(path.name + ".torn")
        check_regular(torn)
        with torn.open("ab") as aside:
            aside.write(last.rstrip(b"\n") + b"\n")
        file.truncate(start)
        return start
    if not last.endswith(b"\n"):
        file.write(b"\n")
        return end + 1
    return end


def _last_line(file: FileIO, end: int) -> tuple[int, bytes]:
    start, tail, block = end, b"", _BLOCK
    while start > 0 and b"\n" not in tail.rstrip(b"\n"):
        start, block = max(0, start - block), 2 * block
        file.seek(start)
        tail = file.read(end - start) or b""
    offset = tail.rstrip(b"\n").rfind(b"\n") + 1
    return start + offset, tail[offset:]


Value = TypeVar("Value")
Lines = tuple[tuple[int, Value], ...]


def read_lines(path: Path, read: Callable[[bytes], Value], needed: bool = True) -> tuple[Lines[Value], tuple[str, ...]]:
    """Return the values of a JSON Lines file with their line numbers, and a sentence about any damaged lines.

    `read` returns the value of a line, or raises :class:`~perfmodel.errors.DocumentError`. A file ``.xz`` is unpacked.
    Damaged lines are left out with a SetAsideWarning. Raise StoreError if a newer version of perfmodel wrote a line, if
    the file is damaged, or if lines are `needed` and none can be read.
    """
    values: list[tuple[int, Value]] = []
    damaged: list[tuple[int, str]] = []
    whole = False  # whether a damaged line has its end
    with reading(path), uncollected():  # JSON has no cycles, and each collection visits all values read so far
        for number, line in enumerate(_lines(path), start=1):
            if not line.strip():
                continue
            text = line.removesuffix(b"\n")
            try:
                if len(text) > MOST_BYTES:
                    raise DocumentError(f"has more than {MOST_BYTES} bytes, the allowed size")
                values.append((number, read(text)))
            except DocumentError as error:
                if error.newer:
                    raise wrong_line(path, number, error.problem) from error
                torn = text == line
                whole = whole or not torn
                damaged.append((number, f"is torn: it {error.problem}" if torn else error.problem))
    if needed and whole and not values:
        raise wrong_line(path, *damaged[0])
    return tuple(values), _warned(path, damaged)


def wrong_line(path: Path, number: int, problem: str) -> StoreError:
    """Return the error for a line that cannot be read."""
    advice = "fix or remove that line, or read the file with the version of perfmodel that wrote it"
    return StoreError(f"'{path}' line {number}: {problem}", advice)


@contextmanager
def uncollected() -> Iterator[None]:
    """Switch off Python's garbage collector in the block."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _lines(path: Path) -> Iterator[bytes]:
    """Yield the lines. If a line exceeds the limit of length, yield only its start and its end."""
    try:
        with lzma.open(path) if path.suffix == PACKED else path.open("rb") as stream:
            while line := stream.readline(MOST_BYTES + 1):
                rest = line
                while len(rest) >= MOST_BYTES and not rest.endswith(b"\n"):
                    rest = stream.readline(MOST_BYTES)
                yield line if rest is line else line + rest[-1:]
    except (lzma.LZMAError, EOFError) as error:
        problem = f"'{path}' is damaged and cannot be unpacked ({error})"
        advice = f"restore it ('git checkout {path}' if it is committed), or remove it and measure again"
        raise StoreError(problem, advice) from error
    except OSError as error:
        raise wrong_line(path, 1, f"cannot be read ({error.strerror})") from error


def _warned(path: Path, damaged: list[tuple[int, str]]) -> tuple[str, ...]:
    if not damaged:
        return ()
    shown = "; ".join(f"line {number} {problem}" for number, problem in damaged[:_SHOWN])
    more = f"; and {len(damaged) - _SHOWN} more" * (len(damaged) > _SHOWN)
    lines = "1 line is damaged and was" if len(damaged) == 1 else f"{len(damaged)} lines are damaged and were"
    sentence = f"'{path}': {lines} left out ({shown}{more}); fix or remove what is damaged, or measure it again"
    warnings.warn(sentence, SetAsideWarning, stacklevel=3)
    return (sentence,)


RECORD = Schema(SCHEMA, "measure again: perfmodel measure --store FOLDER")


@dataclass(frozen=True)
class StoredCounts:
    """A line of ``counts.jsonl``: the JSON of a :class:`~perfmodel.counts.KernelCounts`, and its SHA-256."""

    hash: str
    counts: dict[str, Any]


def read_row(line: bytes) -> Measurement:
    """Return the record of a line of ``measurements.jsonl``, or raise DocumentError."""
    with _named(line, "kernel"):
        row = value_of(Measurement, line, RECORD)
        runs = len(row.samples_s)
        if row.status == "ok" and runs <= row.dropped:
            problem = f"has {runs} samples, of which {row.dropped} are dropped; a record that is ok needs more"
            raise DocumentError(problem)
        if row.device_samples_s and len(row.device_samples_s) != runs:
            raise DocumentError(f"has {runs} samples_s, and {len(row.device_samples_s)} device_samples_s of these runs")
    return row


def read_counts(line: bytes) -> StoredCounts:
    """Return the counts of a line of ``counts.jsonl``. Raise DocumentError, also if their hash differs."""
    with _named(line, "counts", "name"):
        stored = value_of(StoredCounts, line)
        digest = digest_of(stored.counts)
        if digest != stored.hash:
            raise DocumentError(f"was changed: its hash is {stored.hash:.12}, and its counts have {digest:.12}")
    return stored


@contextmanager
def _named(line: bytes, *keys: str) -> Iterator[None]:
    try:
        yield
    except DocumentError as error:
        if error.newer:
            raise
        name: Any = None
        with suppress(DocumentError):
            name = json_document(line)
        for key in keys:
            name = name.get(key) if isinstance(name, dict) else None
        if not isinstance(name, str):
            raise
        raise DocumentError(f"(kernel {shortened(name)}) {error.problem}") from error
