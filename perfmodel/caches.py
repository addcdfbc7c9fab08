"""Where the libraries below keep their caches: in a folder that can be written, whatever the surroundings are.

Loopy, pytools, pyopencl and PoCL keep caches below ``$XDG_CACHE_HOME``, else ``~/.cache``.  Loopy opens them when it is
imported, and cannot be imported where that fails.  So ``import perfmodel`` looks at the folder first, and writes nothing.
"""

from __future__ import annotations

import os
import shutil

#: Environment variable: the folder of all caches.
VARIABLE = "XDG_CACHE_HOME"
#: A disk with less room is taken for full: the libraries write their caches without looking [B].
LEAST_BYTES = 32 * 2**20
#: Folders that the libraries make or have in it.
LIBRARIES = ("pytools", "pyopencl", "pocl", "perfmodel")


def settle_caches() -> None:
    """Point this process's caches to a temporary folder, removed at its end, where the usual one cannot be used.

    Call it before Loopy is imported.

    Raises
    ------
    OutputError
        No temporary folder can be used either.
    """
    base = os.environ.get(VARIABLE) or os.path.join(os.path.expanduser("~"), ".cache")
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
        if usable(folder):
            os.environ[VARIABLE] = folder
            return
    from perfmodel.errors import OutputError

    raise OutputError(base, "caches cannot be kept there, nor in a temporary folder")


def usable(base: str) -> bool:
    """Whether a folder of caches can be written, or made, and its disk has room."""
    if base.startswith("~"):  # the system knows no home folder
        return False
    places = [_existing(os.path.abspath(os.path.join(base, name))) for name in LIBRARIES]
    if not all(os.path.isdir(place) and os.access(place, os.R_OK | os.W_OK | os.X_OK) for place in places):
        return False
    try:
        return all(shutil.disk_usage(place).free >= LEAST_BYTES for place in set(places))
    except OSError:
        return False


def _existing(path: str) -> str:
    """Return the path, or the nearest folder above it that is there."""
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    return path
