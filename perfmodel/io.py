"""Files are written in one way, texts of others are shown in one way, and folders that ship are found in one way.

A regular file is replaced as a whole, anything else is written into. Control characters are shown as escapes.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import stat
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path

from perfmodel.errors import OutputError

STANDARD_OUTPUT = "-"
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""System errors of a full disk, or of a user's full share of it."""
ADVICE = {
    errno.EISDIR: "name a file in it",
    **dict.fromkeys(FULL, "the earlier content is unchanged: make room, or give a path on another disk"),
}
SAFE = frozenset(" _-+=.,@()[]")
"""Characters of a user's name that a file's name keeps, beside letters and digits."""
LONGEST = 160
"""Bytes of a user's name in a file's name, which may have 255 with all else in it."""


_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    r"""Return a text with escapes in place of what controls a terminal or reorders what it shows.

    These are control characters other than line breaks and tabs, marks of the writing direction, separators of lines
    and paragraphs, and surrogates.

    Examples
    --------
    >>> print(visible("a kernel\x1b[2Jof another name\u202e"))
    a kernel\x1b[2Jof another name\u202e
    """
    return _CONTROLS.sub(lambda match: ascii(match[0])[1:-1], text)


def shipped(name: str) -> Path:
    """Return a folder that ships with perfmodel: inside the installed package, in a clone beside it."""
    package = Path(__file__).parent
    inside = package / name
    return inside if inside.is_dir() else package.parent / name


def write_whole(path: str | Path, content: bytes) -> None:
    """Write a file as :func:`replace_file` does, with an error that says what to do; ``-`` is standard output.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    try:
        if is_standard_output(path):
            _print(content)
        else:
            replace_file(Path(path), content)
    except OSError as error:
        raise output_error(path, error) from error


def check_place(path: str | Path) -> None:
    """Raise an OutputError where no file can be at a path, before anything that takes long is done for it."""
    try:
        Path(path).stat()
    except FileNotFoundError:
        pass  # it is made, with its folders
    except OSError as error:
        raise output_error(path, error) from error


def output_error(path: str | Path, error: OSError, advice: str = "") -> OutputError:
    """Return the error to raise where the system did not allow a file to be written, with the reason."""
    if not advice:
        advice = ADVICE.get(error.errno or 0, "give a path that you may write to")
    return OutputError(f"cannot write '{path}': {error.strerror or error}", advice, path=str(path))


def _print(content: bytes) -> None:
    """Write to standard output; what is in its buffer goes out before and after, so that an error is raised here."""
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:
        raise OSError(errno.EBADF, "standard output is closed, or takes no bytes")
    sys.stdout.flush()
    if sys.stdout.isatty():
        sys.stdout.write(visible(content.decode(errors="replace")))
        sys.stdout.flush()
    else:
        stream.write(content)
        stream.flush()


def file_part(name: str) -> str:
    """Return a name that a user gave as a part of a file's name: it leads into no other folder, and no two are alike.

    What is no letter, digit or one of ``_-+=.,@()[]`` and the blank becomes ``%`` and the number of each of its bytes.
    Of a long name the end is replaced by a digest.

    Examples
    --------
    >>> file_part("tile=8 unroll=2"), file_part("../a"), file_part("a%b")
    ('tile=8 unroll=2', '..%2Fa', 'a%25b')
    """
    safe = "".join(letter if letter.isalnum() or letter in SAFE else _escaped(letter) for letter in name)
    if len(safe.encode()) <= LONGEST:
        return safe
    digest = hashlib.sha256(safe.encode()).hexdigest()[:16]
    return f"{safe.encode()[: LONGEST - 17].decode(errors='ignore')}-{digest}"


def _escaped(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode(errors="surrogatepass"))


def is_standard_output(path: str | Path) -> bool:
    """Return whether a path that a user gave stands for standard output."""
    return str(path) == STANDARD_OUTPUT


def replace_file(path: Path, content: bytes, durable: bool = True) -> None:
    """Write a file so that no reader ever finds half of it; make its folders where needed.

    The content goes to a temporary file in the same folder, which then takes the place of the old file and keeps its
    permissions. A symbolic link is followed. A device or a pipe is written into, and so is a file that standard output
    or standard error is redirected to. With `durable`, the content is on the disk before the old file goes.

    Raises
    ------
    OSError
        If it cannot be written; it names the file. The old file is unchanged, and no temporary file is left.
    """
    try:
        try:
            status = path.stat()
        except FileNotFoundError:
            status = None
        stream = None if status is None else _standard_stream(status)
        if stream is not None or not (status is None or stat.S_ISREG(status.st_mode)):
            _write_into(path if stream is None else stream, content)
        else:
            _replace(Path(os.path.realpath(path)), content, status, durable)
    except OSError as error:
        error.filename, error.filename2 = str(path), None  # the system names the temporary file, or none
        raise


def check_regular(path: Path) -> None:
    """Refuse a path that leads to something other than a regular file, which records cannot be read from again.

    Raises
    ------
    OSError
        If it does.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is no regular file, and what is appended is read again")


def _standard_stream(status: os.stat_result) -> int | None:
    """Return the number of the standard stream that writes to a file already, as for ``/dev/stdout``."""
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        with suppress(OSError):  # nothing is open under this number
            if stream is not None and os.path.samestat(status, os.fstat(number)):
                stream.flush()
                return number
    return None


def _write_into(place: Path | int, content: bytes) -> None:
    # The opener neither makes nor empties a file, and no terminal becomes this process's own.
    flags = os.O_WRONLY | getattr(os, "O_NOCTTY", 0)
    with open(place, "wb", closefd=isinstance(place, Path), opener=lambda path, _: os.open(path, flags)) as stream:
        stream.write(content)


def _replace(path: Path, content: bytes, old: os.stat_result | None, durable: bool) -> None:
    if old is not None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "the file may not be written")
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{secrets.token_hex(8)}.new")
    try:
        with open(temporary, "xb", opener=partial(os.open, mode=0o666 if old is None else 0o600)) as stream:
            stream.write(content)
            if durable:
                stream.flush()
                os.fsync(stream.fileno())
        if old is not None:
            with suppress(OSError, AttributeError):  # only root gives files away; other systems have no owners
                os.chown(temporary, old.st_uid, old.st_gid)
            temporary.chmod(stat.S_IMODE(old.st_mode))
        temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink()
