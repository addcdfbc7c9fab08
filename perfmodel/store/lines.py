"""JSON Lines files that stay readable if their writer is stopped at any instant.

A reader uses whole lines and leaves damaged ones out with a warning. A line of a store is a record of a known schema,
or counts that have their hash.
"""

from __future__ import annotations

import errno
import gc
import gzip
import hashlib
import lzma
import os
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BufferedIOBase, FileIO
from pathlib import Path
from time import monotonic, sleep
from types import MappingProxyType
from typing import Any, TypeVar

from perfmodel import errors
from perfmodel.documents import LIMITS, Schema, json_document, json_text, reading, shortened, value_of
from perfmodel.errors import DocumentError, OutputError, StoreFormatError
from perfmodel.io import FULL, check_regular, output_error
from perfmodel.store.measurement import SCHEMA, Measurement, canonical

#: How long to wait for another process that writes [s]; one line takes milliseconds.
WAIT_S = 60.0
_READ_ONLY = {errno.EACCES, errno.EPERM, errno.EROFS}
_BLOCK = 2**16


def append_line(path: Path, document: Any) -> None:
    """Write one line whole or not at all; a torn line before it goes to a file ``*.torn`` first.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    with opened(path) as file:
        write_line(path, file, document)


@contextmanager
def opened(path: Path) -> Iterator[FileIO]:
    """Open a file to read and append, locked against other processes, or raise OutputError; make its folder first.

    While it is locked, its holder may replace the file too (:func:`perfmodel.io.replace_file`): who waited for the lock
    opens the new one.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        check_regular(path)
        with _current(path) as file:
            yield file
    except OSError as error:
        if isinstance(error, errors.PerfModelError):
            raise
        raise failure(path, error) from error


def write_line(path: Path, file: FileIO, document: Any) -> None:
    """Append one line to a file that :func:`opened` gave; see :func:`append_line`."""
    end = _mend(path, file)
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
    """Turn a system error into an error that names why the file cannot be written."""
    if error.errno in FULL:
        return output_error(path, error, "make room and run the same command again; earlier records are kept")
    if error.errno in _READ_ONLY:
        return output_error(path, error, "the store is read-only and unchanged: copy its folder to a writable path")
    return output_error(path, error)


def _current(path: Path) -> FileIO:
    """Return the file at a path, locked; another process may replace it while this one waits for the lock."""
    while True:
        file = FileIO(path, "ab+")
        try:
            _lock(file)
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        except FileNotFoundError:
            pass
        except BaseException:
            file.close()
            raise
        file.close()


def _lock(file: FileIO) -> None:
    """Wait until no other process writes, but not for ever; released when the file is closed."""
    try:
        import fcntl
    except ImportError:  # not a POSIX system: two campaigns there need two stores
        return
    end = monotonic() + WAIT_S
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if monotonic() > end:
                raise TimeoutError(errno.ETIMEDOUT, f"another process has locked it for {WAIT_S:g} s") from None
            sleep(0.005)


def _mend(path: Path, file: FileIO) -> int:
    """Make the file end with a whole line, and return where it ends [bytes]."""
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
    """Where the last line starts [bytes], and the line with its newlines, if it has any."""
    start, tail, block = end, b"", _BLOCK
    while start > 0 and b"\n" not in tail.rstrip(b"\n"):
        start, block = max(0, start - block), 2 * block
        file.seek(start)
        tail = file.read(end - start) or b""
    offset = tail.rstrip(b"\n").rfind(b"\n") + 1
    return start + offset, tail[offset:]


Value = TypeVar("Value")
Lines = tuple[tuple[int, Value], ...]
_SHOWN = 3  # damaged lines that a message names


def read_lines(path: Path, read: Callable[[bytes], Value], needed: bool = True) -> tuple[Lines[Value], tuple[str, ...]]:
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
    StoreFormatError
        A newer version of perfmodel wrote a line.
    OutOfMemoryError
        Memory ends.
    StoreFormatError
        The lines are needed and none can be read, though one ends as a whole line does; or the file cannot be read.
    """
    values: list[tuple[int, Value]] = []
    damaged: list[tuple[int, str]] = []
    whole = False  # whether a damaged line ends as a whole line does
    with reading(path), uncollected():
        for number, line in enumerate(_lines(path), start=1):
            if not line.strip():
                continue
            try:
                values.append((number, _read_line(path, number, line.removesuffix(b"\n"), read)))
            except DocumentError as error:
                torn = not line.endswith(b"\n")
                whole = whole or not torn
                damaged.append((number, f"is torn: it {error.problem}" if torn else error.problem))
    if needed and whole and not values:
        raise StoreFormatError(path, *damaged[0])
    return tuple(values), _told(path, damaged)


@contextmanager
def uncollected() -> Iterator[None]:
    """Read without garbage collection: JSON makes no cycles, and each collection visits all that was read before."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


#: How a packed file of lines is opened, by the end of its name.
PACKED: Mapping[str, Callable[[Path], BufferedIOBase]] = MappingProxyType({".xz": lzma.open, ".gz": gzip.open})
_DAMAGED = (lzma.LZMAError, zlib.error, gzip.BadGzipFile, EOFError)


def _lines(path: Path) -> Iterator[bytes]:
    """Yield the lines; of one that is longer than any that is read only the begin and the end are kept."""
    try:
        with PACKED.get(path.suffix, _open_plain)(path) as stream:
            while line := stream.readline(LIMITS.bytes + 1):
                if len(line) > LIMITS.bytes and not line.endswith(b"\n"):
                    rest = line
                    while rest and not rest.endswith(b"\n"):
                        rest = stream.readline(LIMITS.bytes)
                    line += rest[-1:]
                yield line
    except _DAMAGED as error:
        raise errors.DamagedPackError(path, str(error)) from error
    except OSError as error:
        raise StoreFormatError(path, 1, f"cannot be read ({error.strerror})") from error


def _open_plain(path: Path) -> BufferedIOBase:
    return path.open("rb")


def _read_line(path: Path, number: int, line: bytes, read: Callable[[bytes], Value]) -> Value:
    if len(line) > LIMITS.bytes:
        raise DocumentError(f"has more than {LIMITS.bytes} bytes, the most that is read")
    try:
        return read(line)
    except DocumentError as error:
        if error.newer:
            raise StoreFormatError(path, number, error.problem) from error
        raise


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
    warnings.warn(sentence, errors.SetAsideWarning, stacklevel=3)
    return (sentence,)


RECORD = Schema(SCHEMA, "measure again: perfmodel measure --store FOLDER")


@dataclass(frozen=True)
class StoredCounts:
    """A line of ``counts.jsonl``: the JSON of a :class:`~perfmodel.counts.KernelCounts`, and its SHA-256."""

    hash: str
    counts: dict[str, Any]


def read_row(line: bytes) -> Measurement:
    """Return the record of a line of ``measurements.jsonl``; DocumentError names the kernel, where the line does."""
    with _named(line, "kernel"):
        row = value_of(Measurement, line, RECORD)
        runs = len(row.samples_s)
        if row.status == "ok" and runs <= row.dropped:
            raise DocumentError(
                f"has {runs} samples, of which {row.dropped} are dropped; a record that is ok needs more"
            )
        if row.device_samples_s and len(row.device_samples_s) != runs:
            raise DocumentError(f"has {runs} samples_s, and {len(row.device_samples_s)} device_samples_s of these runs")
    return row


def read_counts(line: bytes) -> StoredCounts:
    """Return the counts of a line of ``counts.jsonl``; DocumentError where they do not have their hash, for example."""
    with _named(line, "counts", "name"):
        stored = value_of(StoredCounts, line)
        digest = hashlib.sha256(canonical(stored.counts).encode()).hexdigest()
        if digest != stored.hash:
            raise DocumentError(f"was changed: its hash is {stored.hash:.12}, and that of its counts {digest:.12}")
    return stored


@contextmanager
def _named(line: bytes, *keys: str) -> Iterator[None]:
    """Let an error about a line name the kernel that stands under these keys in it."""
    try:
        yield
    except DocumentError as error:
        if error.newer:
            raise
        try:
            name = json_document(line)
        except DocumentError:
            raise error from None
        for key in keys:
            name = name.get(key) if isinstance(name, dict) else None
        if not isinstance(name, str):
            raise
        raise DocumentError(f"(kernel {shortened(name)}) {error.problem}") from error
