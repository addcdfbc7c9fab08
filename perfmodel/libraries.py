"""The libraries that work with perfmodel in some versions only: which are installed, and which lie outside.

setup.cfg gives each of them an upper bound. Nothing here imports one, so that what cannot be imported can be named.
"""

from __future__ import annotations

import sys
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from perfmodel.errors import LibraryVersionError, PerfModelError

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_BARVINOK = "islpy-barvinok"
BARVINOK = f"{_BARVINOK}==2025.2.5.post1"
INSTALL = f"{sys.executable} -m pip install" if find_spec("pip") else f"uv pip install --python {sys.executable}"
"""Installs into this environment; one that uv made has no pip."""
MENDING_COMMAND = f"{INSTALL} --force-reinstall --no-deps {BARVINOK}"
"""Puts Barvinok's algorithm into islpy; it is installed last, since it brings the same module."""


def failure_in_library(error: Exception) -> LibraryVersionError | None:
    """Return the error to raise where a library of another version may have failed; None where all are in range."""
    wrong = [wanted for wanted in bounded() if not fits(wanted, installed(wanted.name))]
    if not wrong or isinstance(error, PerfModelError):
        return None
    plain, barvinok = ([one for one in wrong if (one.name == _BARVINOK) is is_it] for is_it in (False, True))
    commands = [f"{INSTALL} {' '.join(repr(str(one)) for one in plain)}"] if plain else []
    if barvinok or any(one.name == "islpy" and installed(_BARVINOK) for one in plain):
        commands.append(MENDING_COMMAND)
    return LibraryVersionError(
        f"{type(error).__name__}: {error}", tuple(f"{one.name} {installed(one.name)}" for one in wrong),
        tuple(map(str, wrong)), " && ".join(commands),
    )  # fmt: skip


def failure_below(error: Exception, path: Path) -> LibraryVersionError | None:
    """Return the same for an error that running a user's file raised; None where the file itself is at fault.

    The file is, unless the error was raised elsewhere than beside it, or says that a library lacks a name.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    beside = trace is not None and Path(trace.tb_frame.f_code.co_filename).parent == path.absolute().parent
    lacking = error.name if isinstance(error, ImportError) else getattr(getattr(error, "obj", None), "__name__", "")
    if beside and str(lacking).partition(".")[0] not in {one.name for one in bounded()}:
        return None
    return failure_in_library(error)


def bounded() -> list[Requirement]:
    """Return what perfmodel requires below some version, and Barvinok; nothing where perfmodel is not installed."""
    from packaging.requirements import Requirement

    try:
        required = [Requirement(text) for text in metadata.requires("perfmodel") or ()]
    except metadata.PackageNotFoundError:
        return []
    return [*(one for one in required if one.marker is None and has_upper_bound(one)), Requirement(BARVINOK)]


def has_upper_bound(wanted: Requirement) -> bool:
    """Whether newer versions fail, or may."""
    return any(part.operator == "<" for part in wanted.specifier)


def fits(wanted: Requirement, version: str) -> bool:
    """Whether an installed version is in range; one that is not installed ("") is none of another version."""
    return not version or wanted.specifier.contains(version, prereleases=True)


def installed(name: str) -> str:
    """Return the installed version of a distribution, "" where it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
