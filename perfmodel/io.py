"""Writing of files, display of untrusted texts (control characters are escaped), and paths of shipped folders."""

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

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})  # errors of a full disk, quota or file system
ADVICE = {
    errno.EISDIR: "name a file in it",
    **dict.fromkeys(FULL, "the earlier content is unchanged: make room, or give a path on another disk"),
}
SAFE = frozenset(" _-+=.,@()[]")  # characters of a user's name, besides letters and digits, that a file name keeps
LONGEST = 160  # bytes of a user's name in a file name, which has at most 255
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """Return a text with escapes for characters that control a terminal or reorder its text."""
    return _CONTROLS.sub(lambda match: ascii(match[0])[1:-1], text)


def shipped(name: str) -> Path:
    """Return a folder that ships with perfmodel: inside the installed package, or next to it in a clone."""
    package = Path(__file__).parent
    inside = package / name
    return inside if inside.is_dir() else package.parent / name


def write_whole(path: str | Path, content: bytes) -> None:
    """Write a file with :func:`replace_file`, or standard output for ``-``. A failure raises an OutputError."""
    try:
        if is_standard_output(path):
            _print(content)
        else:
            replace_file(Path(path), content)
    except OSError as error:
        if error.errno == errno.EPIPE:  # the reader has closed the pipe
            raise
        raise output_error(path, error) from error


def check_output_path(path: str | Path) -> None:
    """Raise an OutputError if a path cannot be a file, before long work for it starts."""
    try:
        Path(path).stat()
    except FileNotFoundError:
        pass  # the file and its folders will be made
    except OSError as error:
        raise output_error(path, error) from error


def output_error(path: str | Path, error: OSError, advice: str = "") -> OutputError:
    """Return the error to raise if the system did not allow a file to be written."""
    if not advice:
        advice = ADVICE.get(error.errno or 0, "give a path that you may write to")
    return OutputError(f"cannot write '{path}': {error.strerror or error}", advice, path=str(path))


def _print(content: bytes) -> None:
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:
        raise OSError(errno.EBADF, "standard output is closed, or does not accept bytes")
    sys.stdout.flush()
    if sys.stdout.isatty():
        sys.stdout.write(visible(content.decode(errors="replace")))
        sys.stdout.flush()
    else:
        stream.write(content)
        stream.flush()


def file_part(name: str) -> str:
    """Return a user's name as a part of a file name without separators. Other names give other parts."""
    safe = "".join(
        letter if letter.isalnum() or letter in SAFE
        else "".join(f"%{byte:02X}" for byte in letter.encode(errors="surrogatepass")) for letter in name
    )
    if len(safe.encode()) <= LONGEST:
        return safe
    digest = hashlib.sha256(safe.encode()).hexdigest()[:16]
    return f"{safe.encode()[: LONGEST - 17].decode(errors='ignore')}-{digest}"


def is_standard_output(path: str | Path) -> bool:
    """Whether a path means standard output."""
    return str(path) in ("-", "/dev/stdout")


def replace_file(path: Path, content: bytes, durable: bool = True) -> None:
    """Replace a file atomically, and make missing folders. An OSError names the file, which is then unchanged.

    Symbolic links are followed, and permissions kept. Devices and pipes are written to. With `durable`, the content is
    on the disk before the old file is replaced.
    """
    try:
        status = None
        with suppress(FileNotFoundError):
            status = path.stat()
        if status is None or stat.S_ISREG(status.st_mode):
            _replace(Path(os.path.realpath(path)), content, status, durable)
        else:
            # The opener does not make a terminal the controlling one.
            flags = os.O_WRONLY | getattr(os, "O_NOCTTY", 0)
            with open(path, "wb", opener=lambda name, _: os.open(name, flags)) as stream:
                stream.write(content)
    except OSError as error:
        error.filename, error.filename2 = str(path), None  # the system names the temporary file, or no file
        raise


def check_regular(path: Path) -> None:
    """Raise an OSError if a path exists and is not a regular file. Records could not be read from it again."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is not a regular file, from which records could be read again")


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
            with suppress(OSError, AttributeError):  # only root may do that; other systems have no owners
                os.chown(temporary, old.st_uid, old.st_gid)
            temporary.chmod(stat.S_IMODE(old.st_mode))
        temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink()
