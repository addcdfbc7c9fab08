"""Files that are written completely or not at all."""

from __future__ import annotations

import secrets
from contextlib import suppress
from pathlib import Path

from perfmodel.errors import OutputError


def write_whole(path: str | Path, content: bytes) -> None:
    """Write a file as :func:`replace_file` does, with an error that says what to do.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    try:
        replace_file(Path(path), content)
    except OSError as error:
        raise OutputError(path, error.strerror or str(error)) from error


def replace_file(path: Path, content: bytes) -> None:
    """Write a file so that no reader ever finds half of it; make its folders where needed.

    The content goes to a temporary file in the same folder, which then takes the place of the old file.

    Raises
    ------
    OSError
        If it cannot be written. The old file is unchanged, and no temporary file is left.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as stream:
            stream.write(content)
        temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink()
