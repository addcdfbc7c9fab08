"""JSON Lines files that stay readable if their writer is stopped at any instant."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from perfmodel.documents import json_document, json_text
from perfmodel.errors import DiskFullError, DocumentError, OutputError, PerfModelError, StoreReadOnlyError
from perfmodel.io import FULL, check_regular

#: How long to wait for another process that writes [s]; one line takes milliseconds.
WAIT_S = 60.0
_READ_ONLY = {errno.EACCES, errno.EPERM, errno.EROFS}
_BLOCK = 2**16


def append_line(path: Path, document: Any) -> None:
    """Write one line whole or not at all; a torn line before it goes to a file ``*.torn`` first.

    Raises
    ------
    OutputError
        The file cannot be written; :class:`~perfmodel.errors.StoreReadOnlyError` and
        :class:`~perfmodel.errors.DiskFullError` name the cause.
    """
    with opened(path) as file:
        write_line(path, file, document)


@contextmanager
def opened(path: Path) -> Iterator[FileIO]:
    """Open a file to read and append, locked against other processes; make its folder first.

    While it is locked, its holder may replace the file too (:func:`perfmodel.io.replace_file`): who waited for the
    lock opens the new one.

    Raises
    ------
    OutputError
        As :func:`append_line`.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        check_regular(path)
        with _current(path) as file:
            yield file
    except OSError as error:
        if isinstance(error, PerfModelError):
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
    problem = error.strerror or str(error)
    if error.errno in FULL:
        return DiskFullError(str(path), problem)
    if error.errno in _READ_ONLY:
        return StoreReadOnlyError(str(path), problem)
    return OutputError(str(path), problem)


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
