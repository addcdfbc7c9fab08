"""The streams and the processes of a command: standard output and error as they are, and a child that measures."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TextIO

import typer

from perfmodel import measuring
from perfmodel.io import visible

#: Status where standard output cannot be written.
WRITE_ERROR = 2
#: Status where its reader has closed it, as 'head -1' does.
CLOSED = 1


class _Stream(io.FileIO):
    """A standard stream; it keeps the error of a write that failed, and from then on drops what is written."""

    failure: OSError | None = None

    def write(self, data: Any) -> int:
        if self.failure is None:
            try:
                return super().write(data)
            except OSError as error:
                self.failure = error
        return len(data)


class _Text(io.TextIOWrapper):
    """A text stream that shows control characters; ``styled`` sends them, for a progress bar."""

    styled: TextIO

    def write(self, text: str) -> int:
        super().write(visible(text))
        return len(text)


@contextmanager
def careful_streams() -> Iterator[None]:
    """Print what a stream cannot encode, or what controls a terminal, as escapes, and tell where nothing is printed.

    A reader that has closed the pipe ends the program silently, with status 1.  Any other problem of standard output is
    one line on standard error and status 2.  Messages that cannot be written to standard error change nothing: a
    campaign goes on.  What is printed to a stream that was closed before the start goes nowhere.
    """
    _occupy()
    output, sys.stdout = _watched(sys.stdout, 1)
    _, sys.stderr = _watched(sys.stderr, 2)
    try:
        yield
    finally:
        if output is not None:
            sys.stdout.flush()
        if output is not None and output.failure is not None:
            _end(output.failure)


def _occupy() -> None:
    """Open the null device under each standard number that is closed, so that no file of the program gets it.

    Libraries and child processes write to these numbers, and would write into that file.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


def _watched(stream: TextIO | None, number: int) -> tuple[_Stream | None, TextIO]:
    """Return the stream's file, and a text stream that writes to it; a stream of another kind is left as it is."""
    if stream is None:  # closed before the start
        stream = io.TextIOWrapper(io.BufferedWriter(_Stream(number, "wb", closefd=False)), "utf-8")
    if not isinstance(stream, io.TextIOWrapper):  # a program's own
        return None, stream
    with suppress(OSError):
        stream.flush()
    file = _Stream(stream.fileno(), "wb", closefd=False)
    buffer = io.BufferedWriter(file)
    text = _Text(
        buffer,
        stream.encoding,
        "backslashreplace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
    text.styled = io.TextIOWrapper(buffer, stream.encoding, "backslashreplace", write_through=True)
    return file, text


def _end(failure: OSError) -> None:
    if failure.errno == errno.EPIPE:
        sys.exit(CLOSED)
    problem = failure.strerror or str(failure)
    print(f"perfmodel: error: cannot write standard output: {problem}; send it elsewhere.", file=sys.stderr)
    sys.exit(WRITE_ERROR)


#: Environment variable: the folder that holds the records of a command without ``--keep`` until it ends.
SCRATCH = "PERFMODEL_SCRATCH"


def supervise_command(context: typer.Context) -> None:
    """Run this command in a supervised child process, and end with its status; return in the child.

    The context holds the command that runs this program again. It holds none where a test or a
    program calls the application in its own process; no child is started then.
    """
    if context.obj and not measuring.supervised.follow_supervisor():
        raise typer.Exit(measuring.supervised.supervise(context.obj, partial(typer.echo, err=True)))


def begin_result() -> None:
    """Tell a supervisor, if there is one, that the result is printed from now on: no other process does it again."""
    if supervised := sys.modules.get("perfmodel.measuring.supervised"):
        supervised.begin_result()


def tell_status(status: object) -> None:
    """Tell a supervisor, if there is one, the status of this process, once its standard output is written."""
    if supervised := sys.modules.get("perfmodel.measuring.supervised"):
        supervised.end_result(status if isinstance(status, int) else int(status is not None))


def supervised_store(context: typer.Context, keep: Path | None) -> Path | None:
    """Run this command in a child process, which a kernel may end; return the store of its records in the child.

    Without ``--keep`` they lie in a folder that is removed in the end: a child that takes over reads them.
    """
    if keep is not None or not context.obj or SCRATCH in os.environ:
        supervise_command(context)
        return keep or (Path(os.environ[SCRATCH]) if context.obj else None)
    with TemporaryDirectory(prefix="perfmodel-") as folder:
        os.environ[SCRATCH] = folder
        supervise_command(context)  # ends this process's command
    return None
