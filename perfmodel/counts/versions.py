"""The libraries whose versions are pinned: which of them are installed in another version."""

from __future__ import annotations

import sys
from importlib import metadata

from packaging.requirements import Requirement

from perfmodel.counts.points.barvinok import MENDING_COMMAND
from perfmodel.errors import LibraryVersionError


def failure_in_library(error: Exception) -> LibraryVersionError | None:
    """Return the error to raise where one of another version may have failed; None where all are as pinned."""
    wrong = [pin for pin in pinned() if installed(pin.name) not in ("", str(pin.specifier).removeprefix("=="))]
    if not wrong:
        return None
    command = f"{sys.executable} -m pip install {' '.join(map(str, wrong))}"
    if any(pin.name == "islpy" for pin in wrong) and installed("islpy-barvinok"):
        command += f" && {MENDING_COMMAND}"  # which brings islpy's module, too
    return LibraryVersionError(
        f"{type(error).__name__}: {error}", tuple(f"{pin.name} {installed(pin.name)}" for pin in wrong),
        tuple(map(str, wrong)), command,
    )


def pinned() -> list[Requirement]:
    """Return what perfmodel requires in exactly one version; nothing where perfmodel is not installed."""
    try:
        requirements = [Requirement(text) for text in metadata.requires("perfmodel") or ()]
    except metadata.PackageNotFoundError:
        return []
    return [one for one in requirements if str(one.specifier).startswith("==") and one.marker is None]


def installed(name: str) -> str:
    """Return the installed version of a distribution, "" where it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
