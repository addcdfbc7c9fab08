"""Standard output and standard error as they are: of any encoding, full, or closed by their reader."""

from __future__ import annotations

import errno
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

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


@contextmanager
def careful_streams() -> Iterator[None]:
    """Print what a stream cannot encode as escapes, and end the program where its standard output cannot be written.

    A reader that has closed the pipe ends it silently, with status 1.  Any other problem is one line on standard error
    and status 2.  Messages that cannot be written to standard error change nothing: a campaign goes on.
    """
    output, sys.stdout = _watched(sys.stdout)
    _, sys.stderr = _watched(sys.stderr)
    try:
        yield
    finally:
        if output is not None:
            sys.stdout.flush()
        if output is not None and output.failure is not None:
            _end(output.failure)


def _watched(stream: TextIO) -> tuple[_Stream | None, TextIO]:
    """Return the stream's file, and a text stream that writes to it; a stream of another kind is left as it is."""
    if not isinstance(stream, io.TextIOWrapper):  # closed before the start, or a program's own
        return None, stream
    with suppress(OSError):
        stream.flush()
    file = _Stream(stream.fileno(), "wb", closefd=False)
    text = io.TextIOWrapper(
        io.BufferedWriter(file),
        stream.encoding,
        "backslashreplace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
    return file, text


def _end(failure: OSError) -> None:
    if failure.errno == errno.EPIPE:
        sys.exit(CLOSED)
    problem = failure.strerror or str(failure)
    print(f"perfmodel: error: cannot write standard output: {problem}; send it elsewhere.", file=sys.stderr)
    sys.exit(WRITE_ERROR)
