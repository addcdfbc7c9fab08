"""Installed versions of libraries, and the ranges in setup.cfg that work with perfmodel.

Loopy's main branch, which has the version of the released one, also works with a newer islpy. This module imports no
library, so that it can report a library whose import fails.
"""

from __future__ import annotations

import sys
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from traceback import walk_tb
from types import MappingProxyType
from typing import TYPE_CHECKING

from perfmodel.errors import PerfModelError, VersionError, listed

if TYPE_CHECKING:
    from packaging.requirements import Requirement

MAIN = "+main"  #: Suffix of the version of Loopy's main branch since July 2026, which uses the sets of namedisl
_BARVINOK = "islpy-barvinok"
INSTALL = f"{sys.executable} -m pip install" if find_spec("pip") else f"uv pip install --python {sys.executable}"
"""The command that installs into this environment; an environment of uv has no pip."""


def installed(name: str) -> str:
    """Return the installed version of a distribution, or "". Loopy's main branch has the version "2025.2+main"."""
    try:
        version = metadata.version(name)
        is_main = name == "loopy" and any(text.startswith("namedisl") for text in metadata.requires(name) or ())
    except metadata.PackageNotFoundError:
        return ""
    return f"{version}{MAIN}" if is_main else version


def with_main() -> bool:
    """Whether Loopy's main branch is installed."""
    return installed("loopy").endswith(MAIN)


_IS_NEW = with_main() and installed("islpy").startswith("2026.2")
BARVINOK = f"{_BARVINOK}=={'2026.2.2' if _IS_NEW else '2025.2.5.post1'}"
#: Ranges that replace those of setup.cfg for Loopy's main branch.
NEWER = MappingProxyType({"islpy": "islpy>=2025.2.5,<2027", _BARVINOK: f"{_BARVINOK}>=2025.2.5.post1,<2027"})
REPAIR_COMMAND = f"{INSTALL} --force-reinstall --no-deps {BARVINOK}"
"""Installs islpy with Barvinok's algorithm; it must run last, since both packages have the same module."""


def failure_in_library(error: Exception) -> VersionError | None:
    """Return an error with libraries outside their ranges as a possible cause, or None if all are in range."""
    wrong = [wanted for wanted in bounded() if not fits(wanted, installed(wanted.name))]
    if not wrong or isinstance(error, PerfModelError):
        return None
    plain, barvinok = ([one for one in wrong if (one.name == _BARVINOK) is is_it] for is_it in (False, True))
    commands = [f"{INSTALL} {' '.join(repr(str(one)) for one in plain)}"] if plain else []
    if barvinok or any(one.name == "islpy" and installed(_BARVINOK) for one in plain):
        commands.append(REPAIR_COMMAND)
    command = " && ".join(commands)
    found = listed(f"{one.name} {installed(one.name)}" for one in wrong)
    problem = f"a library failed ({type(error).__name__}: {error}) with {found}; perfmodel needs {listed(wrong)}"
    return VersionError(problem, f"run {command}", command=command)


def failure_below(error: Exception, path: Path) -> VersionError | None:
    """Return the error of :func:`failure_in_library`, or None if the user's own folder raised the exception."""
    files = [Path(frame.f_code.co_filename) for frame, _ in walk_tb(error.__traceback__)]
    in_folder = bool(files) and files[-1].parent == path.absolute().parent
    lacking = error.name if isinstance(error, ImportError) else getattr(getattr(error, "obj", None), "__name__", "")
    if in_folder and str(lacking).partition(".")[0] not in {one.name for one in bounded()}:
        return None
    return failure_in_library(error)


def bounded() -> list[Requirement]:
    """Return requirements with an upper bound, and Barvinok's. If perfmodel is not installed, return none."""
    try:
        return [*(wanted for wanted in required() if has_upper_bound(wanted)), barvinok()]
    except metadata.PackageNotFoundError:
        return []


def required() -> list[Requirement]:
    """Return the requirements of perfmodel, with ranges for the installed Loopy."""
    from packaging.requirements import Requirement

    wanted = map(Requirement, metadata.requires("perfmodel") or ())
    return [_here(each) for each in wanted if each.marker is None or each.marker.evaluate({"extra": ""})]


def barvinok() -> Requirement:
    """Return the versions of Barvinok that work with the installed Loopy."""
    from packaging.requirements import Requirement

    return _here(Requirement(BARVINOK))


def _here(wanted: Requirement) -> Requirement:
    return type(wanted)(NEWER[wanted.name]) if wanted.name in NEWER and with_main() else wanted


def has_upper_bound(wanted: Requirement) -> bool:
    """Whether newer versions may fail."""
    return any(part.operator == "<" for part in wanted.specifier)


def fits(wanted: Requirement, version: str) -> bool:
    """Whether an installed version is in range. A missing library ("") counts as in range."""
    return not version or wanted.specifier.contains(version, prereleases=True)
