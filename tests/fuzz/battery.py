"""One trial of the battery: a damaged file or an odd option, a command in this process, and its judgement."""

import json
import os
import random
import re
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner

from perfmodel.cli import application
from perfmodel.errors import PerfModelError
from tests.fuzz.cases import FILES, OPTIONS, Case
from tests.fuzz.documented import InvalidError
from tests.fuzz.mutations import mutated
from tests.fuzz.workspace import FEATURES, pristine

#: What a trial may take [s]: of the processor, and by the clock, as machines are loaded.
CPU_S, WALL_S = 10.0, 120.0
STATUSES = (0, 1, 2, 130)
LINES = 3
LONGEST = 6000  # typer repeats an argument, and the longest has 5,000 characters
#: Lines about the steps of a command that goes on; the others report errors.
PROGRESS = ("families of devices: ",)
NOT_OURS = re.compile(r"Traceback|\b(?!Syntax)\w*Warning\b")
#: Values of options that commands misjudge.
ODD = (
    "", " ", "-", "--", "0", "-1", "1", "2", "0.5", "1e999", "-1e999", "nan", "inf", "1e-400", "9" * 17, "9" * 400,
    "9" * 5000, "n", "n=", "=1", "n=0", "n=-1", "n=1", "n=1.5", "n=1e3", "n=9007199254740993", "n=" + "9" * 5000,
    "n = 7", "m=1", "n=7,m=8", "n=1:2", "n=2:1", "n=0:0", "n=-5:5", "n=1:" + "9" * 30, "i=0.5", "i=-1", "i=nan",
    "i=inf", "a=float32", "a=float99", "a=", "é", "\udcff", "a\nb", "a\tb", "x" * 300, "x" * 5000, "..", ".", "/",
    "store", "kernel.py", "weights.json", "missing/x", "expr:", "expr:1", "expr:w_a", "expr:w_a*launches",
    "expr:" + "(" * 500 + "w_a" + ")" * 500, "expr:w_a*launches/0", "expr:w_a**launches**launches**99",
    "expr:" + "9" * 400, "family.py", "kernel.py:1", "id:*", "id:(", "not", "writes:out", "x.png", "x.dot", "x.svg",
    "x.unknown", ".png", "é.dot", "gtx-480", "facts.yaml", "paper", "stride1", "101%", "25%", "1%", "{}", "'; DROP",
    "%s", "{0}", "*", "?", "~", "$HOME", "NaN", "None", "true"
)  # fmt: skip


@dataclass(frozen=True)
class Trial:
    """What is run: files in place of the undamaged ones, and arguments."""

    seed: int
    case: Case
    how: str
    arguments: tuple[str, ...]
    files: dict[str, bytes]

    def __str__(self) -> str:
        shown = [one if len(one) < 80 else f"{one[:40]}...({len(one)})" for one in self.arguments]
        return f"seed {self.seed}: {self.case.name}, {self.how}: {shown}"


def trial(seed: int) -> Trial:
    """Return the trial of a seed; the cases take turns."""
    rng = random.Random(seed)
    turn, kind = divmod(seed, 3)
    if kind == 0:
        return _odd_options(seed, OPTIONS[turn % len(OPTIONS)], rng)
    case = FILES[(2 * turn + kind - 1) % len(FILES)]
    path = rng.choice(case.damaged)
    how, content = mutated(path, originals()[path], rng)
    return Trial(seed, case, f"{path} {how}", case.arguments, {path: content})


@cache
def originals() -> dict[str, bytes]:
    features = sorted(FEATURES, key=lambda name: name in ("launches", "work_groups"))  # which no class is made for
    return {**pristine(), "feature.txt": "\n".join(features).encode()}


def _odd_options(seed: int, case: Case, rng: random.Random) -> Trial:
    command = commands()[command_of(case)]
    options = [one for one in command.params if one.param_type_name == "option"]
    arguments = list(case.arguments)
    for _ in range(rng.choice((1, 1, 2))):
        option = rng.choice(options)
        given = rng.choice((*option.opts, "--surprise"))
        arguments += [given] if option.is_flag else [given, rng.choice(ODD)]
    if rng.random() < 0.2:
        arguments[rng.randrange(1, len(arguments))] = rng.choice(ODD)
    if case.name == "doctor":  # never runs here: it starts processes
        arguments.append("--surprise")
    return Trial(seed, case, "options", tuple(arguments), {})


@cache
def commands() -> dict[str, Any]:
    found = typer.main.get_group(application()).commands
    groups = {name: command.commands for name, command in found.items() if hasattr(command, "commands")}
    inner = {f"{name} {one}": command for name, group in groups.items() for one, command in group.items()}
    return {name: command for name, command in found.items() if name not in groups} | inner


def command_of(case: Case) -> str:
    first, second = (*case.arguments, "")[:2]
    return first if first in commands() else f"{first} {second}"


@dataclass(frozen=True)
class Ended:
    status: int
    printed: str
    said: str
    trace: str = ""


def run(arguments: tuple[str, ...]) -> Ended:
    """Run a command, or a reader of the library, in this process."""
    if arguments[0] == "read":
        return _read(*arguments[1:])
    done = CliRunner().invoke(_application(), list(arguments))
    trace = ""
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        trace = "".join(traceback.format_exception(done.exception)[-8:])
    return Ended(done.exit_code, done.stdout, done.stderr, trace)


@cache
def _application() -> typer.Typer:
    return application()


def _read(what: str, path: str) -> Ended:
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        try:
            printed = READERS[what](Path(path))
        except PerfModelError as error:
            return Ended(2, "", f"perfmodel: error: {' '.join(str(error).split())}\n")
        except Exception:
            return Ended(1, "", "", traceback.format_exc())
    return Ended(0, printed, "".join(f"perfmodel: note: {one.message}\n" for one in noted))


def _facts(path: Path) -> str:
    from perfmodel import store

    facts = store.read(path).facts
    return json.dumps(None if facts is None else facts.to_json())


def _plans(path: Path) -> str:
    from perfmodel.measuring.size_plan import read_plans

    return json.dumps([[plan.parameters, plan.seconds] for plan in read_plans(path).values()])


def _entry(path: Path) -> str:
    from perfmodel.counts import KernelCounts, cache

    found = cache._read(path, KernelCounts)
    return "" if found is None else cache._digest(found.to_json())


def _made(path: Path) -> str:
    from perfmodel.calibration.kernel_choice import synthesise

    text = path.read_bytes().decode(errors="surrogateescape").split("\n")[0]
    return str(synthesise(text).isolated({"work_group": ()}))


READERS: dict[str, Callable[[Path], str]] = {"facts": _facts, "plans": _plans, "entry": _entry, "made": _made}


def problems(one: Trial, folder: Path) -> list[str]:
    """Run a trial in a folder, and return what is wrong with how it ended; the folder is left undamaged."""
    place(folder, one.files)
    began = time.process_time()
    try:
        with limited():
            ended = run(one.arguments)
    except TimeoutError as error:
        return [str(error)]
    else:
        spent = time.process_time() - began
        return [*([f"{spent:.1f} s of the processor"] * (spent > CPU_S)), *judged(one, ended, folder)]
    finally:
        restore(folder)


def judged(one: Trial, ended: Ended, folder: Path) -> list[str]:
    if ended.trace:
        return [ended.trace]
    found = []
    lines = [line for line in ended.said.splitlines() if line.strip() and not line.startswith(PROGRESS)]
    if ended.status not in STATUSES or (ended.status == 1 and one.case.name != "doctor"):
        found.append(f"status {ended.status}")
    if {"-v", "--verbose"} & {*one.arguments}:
        lines = _without_traceback(lines)
    if len(lines) > LINES:
        found.append(f"{len(lines)} lines on standard error")
    if any(NOT_OURS.search(line) or len(line) > LONGEST for line in lines):
        found.append("a traceback, a warning of Python, or a line without end on standard error")
    if ended.status and not lines and not ended.printed:
        found.append("no message")
    found += unwanted(one, ended.status, folder)
    if not ended.status:
        try:
            one.case.accepted(folder, ended.printed)
        except InvalidError as error:
            found.append(f"accepted: {error}")
        except Exception:
            found.append(f"what was printed is not as expected: {traceback.format_exc()}")
    return [f"{problem}\n{ended.said[:2000]}" for problem in found]


def _without_traceback(lines: list[str]) -> list[str]:
    """Leave out the traceback that ``--verbose`` asks for: it ends where perfmodel's own line begins."""
    first = next((i for i, line in enumerate(lines) if line.startswith("Traceback ")), len(lines))
    ours = next((i for i, line in enumerate(lines) if i > first and line.startswith("perfmodel: error: ")), len(lines))
    notes = [line for line in lines[:first] if not line.startswith("perfmodel: note: ")]  # each has a line of its own
    return notes + lines[ours:]


def unwanted(one: Trial, status: int, folder: Path) -> list[str]:
    expected = {**originals(), **one.files}
    found = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not path.is_file() or name.startswith(CACHES):
            continue
        content = path.read_bytes()
        if path.name.endswith((".new", ".torn")):
            found.append(f"{name!r} was left")
        elif name in expected and content != expected[name] and not named(name, one.arguments):
            found.append(f"{name!r} was changed")
        elif name not in expected and status and one.how != "options" and content:
            found.append(f"{name!r} was written, with status {status}")
    return found


CACHES = (".cache/", "__pycache__/", "classes/__pycache__/")


def named(name: str, arguments: tuple[str, ...]) -> bool:
    outputs = ("-o", "--out", "--output", "--picture")
    given = any(option in outputs and Path(value).as_posix() == name for option, value in pairwise(arguments))
    return given or "--write" in arguments


def place(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def restore(folder: Path) -> None:
    """Put the undamaged files into a folder, and remove all others."""
    expected = originals()
    for path in sorted(folder.rglob("*"), reverse=True):
        name = path.relative_to(folder).as_posix()
        if name.startswith(".cache"):
            continue
        if path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()):
                path.rmdir()
        elif name not in expected:
            path.unlink()
    place(folder, {name: content for name, content in expected.items() if not _is(folder / name, content)})


def _is(path: Path, content: bytes) -> bool:
    return path.is_file() and path.read_bytes() == content


@contextmanager
def limited() -> Iterator[None]:
    """Raise TimeoutError where a block takes too much of the processor, or does not end by the clock."""

    def overran(number: int, frame: Any) -> None:
        where = "".join(traceback.format_stack(frame)[-6:])
        raise _Overran(f"no end after {CPU_S:g} s of the processor or {WALL_S:g} s by the clock:\n{where}")

    before = {which: signal.signal(which, overran) for which in (signal.SIGPROF, signal.SIGALRM)}
    signal.setitimer(signal.ITIMER_PROF, CPU_S)
    signal.setitimer(signal.ITIMER_REAL, WALL_S)
    try:
        yield
    except _Overran as error:
        raise TimeoutError(str(error)) from None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for which, handler in before.items():
            signal.signal(which, handler)


class _Overran(BaseException):
    pass


@contextmanager
def no_devices() -> Iterator[None]:
    """Let commands that measure end where they look for a device."""
    from perfmodel import opencl
    from perfmodel.opencl import device, health

    whole = health.devices, device.devices, opencl.devices
    health.devices = device.devices = opencl.devices = lambda: ()  # type: ignore[assignment]
    try:
        yield
    finally:
        health.devices, device.devices, opencl.devices = whole


def main() -> None:
    """Run trials: ``python -m tests.fuzz.battery FIRST END`` prints which fail, and how."""
    first, end = map(int, sys.argv[1:3])
    with tempfile.TemporaryDirectory() as name, no_devices():
        restore(Path(name))
        os.chdir(name)
        for seed in range(first, end):
            one = trial(seed)
            for problem in problems(one, Path(name)):
                sys.__stdout__.write(f"{one}\n    {problem}\n")
        os.chdir("/")


if __name__ == "__main__":
    main()
