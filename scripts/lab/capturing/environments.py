"""``python -m scripts.lab.capturing.environments [NAME ...]``: others' packages in environments of their own.

For each suite it installs the package, captures the kernels that its tests or scripts schedule, and checks them there.

Some packages have no version on PyPI that runs with today's Loopy. Their suites are run where a person has made an
environment that has them and `COMMON`, with each package's source folder below ``sources/``, and names its folder in
``PERFMODEL_OTHERS_GIVEN``. Else they are named as not run.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Collection, Mapping
from pathlib import Path

from perfmodel.libraries import BARVINOK
from scripts.lab.capturing.suites import COMMON, SUITES, TABLE, Suite

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PLACE = Path(os.environ.get("PERFMODEL_OTHERS", ROOT / ".venv" / "others"))
CAPTURE_S = 600  # of one file of tests, or of a suite's scripts
CAPTURED = PLACE / "captured"
GIVEN = Path(os.environ.get("PERFMODEL_OTHERS_GIVEN", PLACE / "given"))
UNBUILT = HERE / "unbuilt"  # before pip asks a source distribution for its name


def main(names: list[str]) -> int:
    wanted = [suite for suite in SUITES if not names or suite.name in names]
    say(f"{len(wanted)} suites take about {sum(suite.minutes for suite in wanted)} minutes")
    results = {suite.name: examine(suite) for suite in wanted}
    tables = [CAPTURED / name / TABLE for name, result in results.items() if result is not None]
    lines = [path.read_text(encoding="utf-8").splitlines() for path in tables if path.exists()]
    say("\n".join(["", *(lines[0][:2] if lines else []), *(line for table in lines for line in table[2:])]))
    say(f"not run: {', '.join(name for name, result in results.items() if result is None) or 'none'}")
    return int(any(results.values()))


def examine(suite: Suite) -> int | None:
    """Capture and check the kernels of a suite; return whether one was found wrong, None where it cannot be run."""
    say(f"## {suite.name} {suite.version}")
    for what, why in suite.skipped.items():
        say(f"skipped: {what}: {why}")
    python, why = python_of(suite)
    if python is None:
        say(f"not run: {why}")
        return None
    if not any((CAPTURED / suite.name).glob("*.pickle")):
        capture(suite, python)
    with_old_names = {"PERFMODEL_OLD_NAMES": "1" if "scripts.lab.capturing.old_names" in suite.plugins else ""}
    return run(python, "-W", "ignore", "-m", "tests.others", str(CAPTURED / suite.name), settings=with_old_names)


def python_of(suite: Suite) -> tuple[Path | None, str]:
    if suite.given:
        python = GIVEN / "bin" / "python"
        there = python.exists() and sources(suite, python).exists()
        lacking = f"PyPI has no {suite.name} that runs with {COMMON[2]}, and PERFMODEL_OTHERS_GIVEN has none"
        return (python, "") if there else (None, lacking)
    bare = (f"{suite.package or suite.name}=={suite.version}",) if suite.installed else ()
    made = environment(suite.name, suite.python, (*COMMON, *suite.needs), bare)
    return made, f"it needs Python {'.'.join(map(str, suite.python))}, which is not here"


def environment(
    name: str, oldest: tuple[int, int], requirements: Collection[str], bare: Collection[str] = ()
) -> Path | None:
    """Return the Python of an environment, made unless it is there as wanted; None where no Python is new enough.

    *bare* is installed without what it asks for, because it asks for more than its kernels need.
    """
    folder = PLACE / name
    python, ready, wanted = folder / "bin" / "python", folder / "ready", "\n".join((*requirements, *bare, BARVINOK))
    if ready.exists() and ready.read_text(encoding="utf-8") == wanted:
        return python
    base = sys.executable if sys.version_info >= oldest else shutil.which("python{}.{}".format(*oldest))
    if base is None:
        return None
    subprocess.run([base, "-m", "venv", "--clear", str(folder)], check=True)
    pip(python, "install", *requirements)
    if bare:
        pip(python, "install", "--no-deps", "--no-build-isolation", *bare)
    pip(python, "install", "--force-reinstall", "--no-deps", BARVINOK)
    ready.write_text(wanted, encoding="utf-8")
    return python


def capture(suite: Suite, python: Path) -> None:
    """Run what schedules the suite's kernels; a part that fails ends nothing."""
    source = sources(suite, python) if suite.tests or suite.given or not suite.installed else HERE
    if suite.tests:
        plugins = [word for name in ("scripts.lab.capturing.capture", *suite.plugins) for word in ("-p", name)]
        options = ["-q", "--tb=line", "-p", "no:cacheprovider", "-W", "ignore", *plugins]
        options += ["-k", f"not {suite.without}"] if suite.without else []
        for file in suite.tests:
            run(python, "-m", "pytest", *options, file, suite=suite.name, folder=source)
    if suite.scripts:
        scripts = [shlex.join([located(source, name), *words]) for name, *words in map(shlex.split, suite.scripts)]
        run(python, "-W", "ignore", "-m", "scripts.lab.capturing.capture", *scripts, suite=suite.name, folder=source)


def located(source: Path, script: str) -> str:
    return str(HERE / script if (HERE / script).exists() else source / script)


def sources(suite: Suite, python: Path) -> Path:
    """Return the folder of the unpacked sdist, which has the tests; of a given suite, the folder that was given."""
    package = suite.package or suite.name
    if suite.given:
        return GIVEN / "sources" / package
    folder = PLACE / "sources"
    unpacked = folder / f"{package}-{suite.version}"
    if not unpacked.exists():
        wanted = f"{package}=={suite.version}"
        pip(python, "install", "hatchling")  # pip asks the sdist for its name, and builds nothing
        options = ("--no-deps", "--no-build-isolation", "--no-binary", ":all:", "--dest", str(folder))
        pip(python, "download", *options, wanted, settings={"PYTHONPATH": "" if suite.installed else str(UNBUILT)})
        with tarfile.open(folder / f"{unpacked.name}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
    return unpacked


def pip(python: Path, *arguments: str, settings: Mapping[str, str] | None = None) -> None:
    environ = {**os.environ, **(settings or {})}
    subprocess.run([str(python), "-m", "pip", "--quiet", *arguments], check=True, env=environ)


def run(
    python: Path | None, *arguments: str, suite: str = "", folder: Path = ROOT,
    settings: Mapping[str, str] | None = None,
) -> int:
    """Run an environment's Python in a folder, with this project's modules; its exit status, 1 after too long."""
    tests = [*PLACE.glob("sources/*/test"), *GIVEN.glob("sources/*/test")]  # with classes that kernels refer to
    environ = {
        **os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *map(str, tests)]),
        "XDG_CACHE_HOME": str(PLACE / "cache"), "PYOPENCL_TEST": "portable",
        "PERFMODEL_CAPTURE": str(CAPTURED / suite), **(settings or {}),
    }
    limit = CAPTURE_S if suite else None
    try:
        command = [str(python), *arguments]
        return subprocess.run(command, cwd=folder, env=environ, timeout=limit, check=False).returncode
    except subprocess.TimeoutExpired:
        say(f"stopped after {limit} s; what was captured until then is checked")
        return 1


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
