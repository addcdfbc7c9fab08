"""Where the libraries below keep their caches: in a folder that can be written, whatever the surroundings are.

Loopy, pytools, pyopencl and PoCL keep caches below ``$XDG_CACHE_HOME``, else ``~/.cache``. Loopy opens them when it is
imported, and cannot be imported where that fails. So ``import perfmodel`` looks at the folder first; it writes nothing
there.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perfmodel.errors import OutputError

#: Environment variable: the folder of all caches.
VARIABLE = "XDG_CACHE_HOME"
#: A disk with less room is taken for full: the libraries write their caches without looking [B].
LEAST_BYTES = 32 * 2**20
#: Folders that the libraries make or have in it.
LIBRARIES = ("pytools", "pyopencl", "pocl", "perfmodel")


def settle_caches() -> None:
    """Point this process's caches to a temporary folder, removed at its end, where the usual one cannot be used.

    Call it before Loopy is imported. It raises OutputError if no temporary folder can be used either.
    """
    base = cache_folder()
    if usable(base):
        return
    import atexit
    from tempfile import mkdtemp

    for place in (None, "/dev/shm"):  # memory still serves where all disks are full or read-only
        try:
            folder = mkdtemp(prefix="perfmodel-caches-", dir=place)
        except OSError:
            continue
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        if usable(Path(folder)):
            os.environ[VARIABLE] = folder
            return
    raise cache_error("caches cannot be kept there or in a temporary folder")


def cache_error(problem: str) -> OutputError:
    """Return the error to raise where no folder of caches can be used."""
    from perfmodel.errors import OutputError  # import perfmodel must not take longer

    advice = f"make room there, or let {VARIABLE} name a folder that you may write to"
    return OutputError(f"cannot write '{cache_folder()}': {problem}", advice)


def cache_folder() -> Path:
    """Return the folder of all caches."""
    base = Path(os.environ.get(VARIABLE) or "~/.cache")
    with suppress(RuntimeError):  # the system knows no home folder
        base = base.expanduser()
    return base


def usable(base: Path) -> bool:
    """Whether a folder of caches can be written, or made, and its disk has room."""
    if base.parts[:1] == ("~",):
        return False
    places = {_existing(base.absolute() / name) for name in LIBRARIES}
    try:
        if not all(place.is_dir() and os.access(place, os.R_OK | os.W_OK | os.X_OK) for place in places):
            return False
        return all(shutil.disk_usage(place).free >= LEAST_BYTES for place in places)
    except OSError:
        return False


def _existing(path: Path) -> Path:
    """Return the path, or the nearest one above it that is there."""
    while not os.path.lexists(path):
        path = path.parent
    return path
