"""``python -m tests.environments [NAME ...]``: the quick tests with other versions of libraries, and with each Python.

``lowest`` has the lower ends of the ranges of setup.cfg, ``pinned-<python>`` the versions of scripts/constraints.txt,
``highest`` the newest versions in range, and ``newest`` those of PyPI. What is known to fail there is named.
``loopy-main`` has Loopy's main branch: ``PERFMODEL_LOOPY_GIVEN`` names the source folder of a snapshot of it, whose
submodule compyte is in its place or in a folder next to the snapshot.
uv finds the interpreters, in the PATH and of pyenv, or loads them. Where it can do neither, the environment is named as
not run.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from perfmodel.libraries import BARVINOK, NEWER, bounded
from tests.shadow import ROOT

PLACE = Path(os.environ.get("PERFMODEL_ENVIRONMENTS", ROOT / ".venv" / "environments"))
LOOPY_GIVEN = Path(os.environ.get("PERFMODEL_LOOPY_GIVEN", PLACE / "given"))
SOURCE = PLACE / "loopy-main-source"
COMPYTE = Path("loopy", "target", "c", "compyte")
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
#: Tests that take few minutes and touch Loopy, isl, OpenCL and the libraries for numbers.
QUICK = (
    "tests/counts/test_against_oracle.py", "tests/counts/test_kernel.py", "tests/counts/test_counting.py",
    "tests/models", "tests/predicting", "tests/opencl", "tests/test_libraries.py",
)  # fmt: skip
OPTIONS = (
    "-q", "--tb=line", "-W", "ignore", "-p", "no:cacheprovider", "-m", "not nightly and not slow",
    "-k", "not generated and not speaks",  # a warning that is looked for, where all others are ignored
)  # fmt: skip


@dataclass(frozen=True)
class Environment:
    """An interpreter with libraries: what uv is asked for, and why tests may fail there."""

    name: str
    python: str
    options: tuple[str, ...] = ()
    barvinok: str = BARVINOK
    known: str = ""
    with_main: bool = False  # Loopy's main branch


ENVIRONMENTS = (
    Environment("lowest", PYTHONS[0], ("--resolution", "lowest-direct")),
    *(Environment(f"pinned-{python}", python, ("--constraint", "scripts/constraints.txt")) for python in PYTHONS),
    Environment("highest", PYTHONS[-1]),
    Environment(
        "newest", PYTHONS[-1], ("--override", str(PLACE / "newest.txt")), "islpy-barvinok",
        known="islpy 2026.2 lacks Aff.is_equal, BasicSet.dim_min and others that Loopy 2025.2 calls",
    ),
    Environment(
        "loopy-main", "3.12", ("--override", str(PLACE / "main.txt")), "islpy-barvinok==2026.2.2", with_main=True,
    ),
)  # fmt: skip


def main(names: list[str]) -> int:
    """Run the quick tests in each environment, or in those named; 1 where one fails that should not."""
    failed = []
    PLACE.mkdir(parents=True, exist_ok=True)
    (PLACE / "newest.txt").write_text("\n".join(wanted.name for wanted in bounded()) + "\n", encoding="utf-8")
    (PLACE / "main.txt").write_text(f"loopy @ {SOURCE.as_uri()}\n{NEWER['islpy']}\n", encoding="utf-8")
    for wanted in ENVIRONMENTS:
        if names and wanted.name not in names:
            continue
        say(f"## {wanted.name}: Python {wanted.python}{f'; known to fail: {wanted.known}' if wanted.known else ''}")
        if wanted.with_main and not copied(LOOPY_GIVEN, SOURCE):
            say("not run: PERFMODEL_LOOPY_GIVEN names no snapshot of Loopy, or its submodule compyte is missing")
            continue
        python = made(wanted)
        if python is None:
            say(f"not run: uv has no Python {wanted.python}, or the packages are not available")
        elif run(python, "-W", "ignore", "-m", "pytest", *OPTIONS, *QUICK) and not wanted.known:
            failed.append(wanted.name)
    say(f"failed: {', '.join(failed) or 'none'}")
    return int(bool(failed))


def made(wanted: Environment) -> Path | None:
    """Return the Python of an environment, made new; None where it cannot be made."""
    uv, folder = (sys.executable, "-m", "uv", "--quiet"), PLACE / wanted.name
    python = folder / "bin" / "python"
    install = ("pip", "install", "--python", str(python))
    steps = (
        ("venv", "--clear", "--python", wanted.python, str(folder)),
        (*install, *wanted.options, "--editable", ".[test]"), (*install, "--reinstall", "--no-deps", wanted.barvinok),
    )  # fmt: skip
    found = map(str, Path("~/.pyenv/versions").expanduser().glob("*/bin"))  # pyenv's own are in no PATH
    environ = {**os.environ, "PATH": os.pathsep.join([os.environ["PATH"], *found])}
    done = all(subprocess.run([*uv, *step], cwd=ROOT, env=environ, check=False).returncode == 0 for step in steps)
    return python if done else None


def copied(snapshot: Path, target: Path) -> bool:
    """Copy a snapshot of Loopy with its submodule; False where one of the two is missing."""
    folders = (snapshot / COMPYTE, snapshot.parent / "compyte")
    submodule = next((folder for folder in folders if (folder / "dtypes.py").is_file()), None)
    if submodule is None or not (snapshot / "pyproject.toml").is_file():
        return False
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(snapshot, target)
    shutil.copytree(submodule, target / COMPYTE, dirs_exist_ok=True)
    return True


def run(python: Path, *arguments: str) -> int:
    environ = {**os.environ, "MPLBACKEND": "Agg", "XDG_CACHE_HOME": str(PLACE / "cache")}
    return subprocess.run([str(python), *arguments], cwd=ROOT, env=environ, check=False).returncode


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
