"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from perfmodel.errors import OutputError


def write_whole(path: str | Path, content: bytes) -> None:
    """Write a file so that nobody ever sees half of it; folders are made where needed.

    The content goes to a temporary file beside it, which then takes its place.

    Raises
    ------
    OutputError
        If it cannot be written. What was there before is then untouched, and no temporary file
        is left.
    """
    target = Path(path)
    temporary = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(
            dir=target.parent, prefix=f".{target.name}.", delete=False
        ) as stream:
            temporary = Path(stream.name)
            stream.write(content)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(target)
    except OSError as error:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink()
        raise OutputError(str(path), error.strerror or str(error)) from error


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
