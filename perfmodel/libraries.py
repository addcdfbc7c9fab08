"""The libraries that work with perfmodel in some versions only: which are installed, and which lie outside.

setup.cfg gives each of them an upper bound. Its ranges suit the released Loopy and Loopy's main branch, which both call
themselves 2025.2; the main branch works with a newer islpy too. Nothing here imports a library, so that what cannot be
imported can be named.
"""

from __future__ import annotations

import sys
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from perfmodel.errors import PerfModelError, VersionError, listed

if TYPE_CHECKING:
    from packaging.requirements import Requirement

MAIN = "+main"
"""Ends the version of a Loopy of its main branch since July 2026, whose sets are those of namedisl."""
_BARVINOK = "islpy-barvinok"
INSTALL = f"{sys.executable} -m pip install" if find_spec("pip") else f"uv pip install --python {sys.executable}"
"""Installs into this environment; one that uv made has no pip."""


def installed(name: str) -> str:
    """Return the installed version of a distribution, "" where it is not installed; "2025.2+main" of Loopy's main."""
    try:
        version = metadata.version(name)
        is_main = name == "loopy" and any(text.startswith("namedisl") for text in metadata.requires(name) or ())
    except metadata.PackageNotFoundError:
        return ""
    return f"{version}{MAIN}" if is_main else version


def with_main() -> bool:
    """Whether the installed Loopy is of its main branch."""
    return installed("loopy").endswith(MAIN)


_IS_NEW = with_main() and installed("islpy").startswith("2026.2")
BARVINOK = f"{_BARVINOK}=={'2026.2.2' if _IS_NEW else '2025.2.5.post1'}"
#: What works in place of the ranges of setup.cfg where Loopy is of its main branch.
NEWER = MappingProxyType({"islpy": "islpy>=2025.2.5,<2027", _BARVINOK: f"{_BARVINOK}>=2025.2.5.post1,<2027"})
MENDING_COMMAND = f"{INSTALL} --force-reinstall --no-deps {BARVINOK}"
"""Puts Barvinok's algorithm into islpy; it is installed last, since it brings the same module."""


def failure_in_library(error: Exception) -> VersionError | None:
    """Return the error to raise where a library of another version may have failed; None where all are in range."""
    wrong = [wanted for wanted in bounded() if not fits(wanted, installed(wanted.name))]
    if not wrong or isinstance(error, PerfModelError):
        return None
    plain, barvinok = ([one for one in wrong if (one.name == _BARVINOK) is is_it] for is_it in (False, True))
    commands = [f"{INSTALL} {' '.join(repr(str(one)) for one in plain)}"] if plain else []
    if barvinok or any(one.name == "islpy" and installed(_BARVINOK) for one in plain):
        commands.append(MENDING_COMMAND)
    command = " && ".join(commands)
    found = listed(f"{one.name} {installed(one.name)}" for one in wrong)
    return VersionError(
        f"a library failed ({type(error).__name__}: {error}) with {found}; perfmodel needs {listed(wrong)}",
        f"run {command}", command=command,
    )  # fmt: skip


def failure_below(error: Exception, path: Path) -> VersionError | None:
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
    try:
        return [*(wanted for wanted in required() if has_upper_bound(wanted)), barvinok()]
    except metadata.PackageNotFoundError:
        return []


def required() -> list[Requirement]:
    """Return what perfmodel requires here, in the ranges that work with the installed Loopy."""
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
    """Whether newer versions fail, or may."""
    return any(part.operator == "<" for part in wanted.specifier)


def fits(wanted: Requirement, version: str) -> bool:
    """Whether an installed version is in range; one that is not installed ("") is none of another version."""
    return not version or wanted.specifier.contains(version, prereleases=True)
