"""A writable folder for the caches of the libraries that perfmodel uses.

The import of Loopy fails if its caches below ``$XDG_CACHE_HOME`` or ``~/.cache`` cannot be opened. Therefore ``import
perfmodel`` checks the folder first, without writing there.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perfmodel.errors import OutputError

VARIABLE = "XDG_CACHE_HOME"
LEAST_BYTES = 32 * 2**20  # a disk with less free space counts as full, since the libraries do not check it
LIBRARIES = ("pytools", "pyopencl", "pocl", "perfmodel")


def settle_caches() -> None:
    """Use a temporary folder for caches if the usual folder is unusable. Call this before Loopy is imported.

    Raise an OutputError if no temporary folder can be used either.
    """
    if usable(cache_folder()):
        return
    import atexit
    from tempfile import mkdtemp

    for parent in (None, "/dev/shm"):  # memory works if all disks are full or read-only
        try:
            folder = mkdtemp(prefix="perfmodel-caches-", dir=parent)
        except OSError:
            continue
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        if usable(Path(folder)):
            os.environ[VARIABLE] = folder
            return
    raise cache_error("caches cannot be kept there or in a temporary folder")


def cache_error(problem: str) -> OutputError:
    """Return the error to raise if no cache folder can be used."""
    from perfmodel.errors import OutputError  # keeps `import perfmodel` fast

    advice = f"make room there, or let {VARIABLE} name a folder that you may write to"
    return OutputError(f"cannot write '{cache_folder()}': {problem}", advice)


def cache_folder() -> Path:
    """Return the folder of all caches."""
    base = Path(os.environ.get(VARIABLE) or "~/.cache")
    with suppress(RuntimeError):  # there is no home folder
        base = base.expanduser()
    return base


def usable(base: Path) -> bool:
    """Whether a cache folder can be written or made, and its disk has free space."""
    if base.parts[:1] == ("~",):
        return False
    paths = (base.absolute() / name for name in LIBRARIES)
    folders = {next(each for each in (path, *path.parents) if os.path.lexists(each)) for path in paths}
    with suppress(OSError):
        allowed = all(folder.is_dir() and os.access(folder, os.R_OK | os.W_OK | os.X_OK) for folder in folders)
        return allowed and all(shutil.disk_usage(folder).free >= LEAST_BYTES for folder in folders)
    return False
