# ruff: noqa: E501 (tables of inputs are read by columns)
"""Trials of what happens beside a command: files that change between its reads, pipes, other commands, less of a machine."""

from __future__ import annotations

import itertools
import json
import math
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.fuzz import battery, documented
from tests.fuzz.documented import rule
from tests.fuzz.surroundings import COUNT, EXPORT, FIT, OUTLIERS, PREDICT, RANK, READ_BY, Odd, cleared
from tests.fuzz.workspace import FEATURES
from tests.shadow import ROOT


class Reads:
    """Does something just before a file is opened for the k-th time; Python keeps audit hooks, so there is only one."""

    def __init__(self) -> None:
        self.path: str | None = None
        self.left = 0
        self.act: Callable[[], None] = lambda: None

    def __call__(self, event: str, given: tuple[Any, ...]) -> None:
        if self.path is None or event != "open" or not isinstance(given[0], (str, Path)):
            return
        if os.path.realpath(given[0]) == self.path and "w" not in str(given[1]):
            self.left -= 1
            if not self.left:
                self.path = None  # what is done opens files too
                self.act()


READS = Reads()
_hooked: list[bool] = []


def before_read(path: str, number: int, act: Callable[[Path], None]) -> Callable[[Path], AbstractContextManager[None]]:
    @contextmanager
    def beside(folder: Path) -> Iterator[None]:
        if not _hooked:
            sys.addaudithook(READS)
            _hooked.append(True)
        content = (folder / path).read_bytes()
        READS.left, READS.act, READS.path = number, lambda: act(folder / path), os.path.realpath(folder / path)
        try:
            yield
        finally:
            READS.path = None
            cleared(folder)
            with suppress(OSError):
                (folder / path).rmdir()
            (folder / path).write_bytes(content)

    return beside


def _whole(path: Path, content: bytes) -> None:
    """Replace a file at once, as perfmodel does."""
    path.with_name("other").write_bytes(content)
    path.with_name("other").replace(path)


def _become_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


BETWEEN: dict[str, Callable[[Path], None]] = {
    "is replaced by itself": lambda path: _whole(path, path.read_bytes()),
    "is cut in half in place": lambda path: os.truncate(path, path.stat().st_size // 2),
    "is emptied": lambda path: os.truncate(path, 0),
    "is removed": lambda path: path.unlink(),
    "becomes a folder": _become_folder,
    "becomes another file": lambda path: _whole(path, b'{"schema": "other/1"}\n'),
    "gets half a line": lambda path: path.write_bytes(path.read_bytes() + path.read_bytes().splitlines()[0][:40]),
}


#: Files that these commands open twice; the others once, and what they read is of one moment.
READ_TWICE = ("store/counts.jsonl", "store/device.json")


def between_reads() -> Iterator[Odd]:
    for (path, command), (how, act), number in itertools.product(READ_BY.items(), BETWEEN.items(), (1, 2)):
        if path in battery.originals() and (number == 1 or path in READ_TWICE):
            yield Odd("changed between reads", f"{path} {how} before read {number}", command, beside=before_read(path, number, act))


def _double(content: bytes) -> bytes:
    """Return a weights file whose weights are twice as large."""
    document = json.loads(content)
    for weight in document["weights"].values():
        weight["value"] *= 2
    return json.dumps(document, indent=2).encode()


def one_of_two(folder: Path, printed: str) -> None:
    """Check that a prediction is by the weights as they were, or by those twice as large, and never by some of both."""
    weights = json.loads(battery.originals()["weights.json"])["weights"]
    expected = sum(weights[name]["value"] * feature(1024) for name, feature in FEATURES.items())
    (found,) = documented.strict_json(printed.encode())["predictions"]
    rule(any(math.isclose(found["seconds"], n * expected, rel_tol=1e-9) for n in (1, 2)), f"{found['seconds']} s")


def repeatedly(path: str, act: Callable[[Path, int], None]) -> Callable[[Path], AbstractContextManager[None]]:
    """Let a thread change a file again and again while the command runs."""

    @contextmanager
    def beside(folder: Path) -> Iterator[None]:
        content, ended = (folder / path).read_bytes(), threading.Event()

        def work() -> None:
            for turn in itertools.count():
                if ended.wait(0.0005):
                    return
                act(folder / path, turn)

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            _whole(folder / path, content)

    return beside


def _append_piece(path: Path, turn: int) -> None:
    """Append a row of the store in three pieces, one a turn, as a writer without a lock would."""
    line = battery.originals()["store/measurements.jsonl"].splitlines(keepends=True)[turn // 3 % 4]
    third = len(line) // 3
    with path.open("ab") as stream:
        stream.write((line[:third], line[third : 2 * third], line[2 * third :])[turn % 3])


def _fed(path: Path) -> None:
    """Make a named pipe, and let a thread write the file into it once; it ends when the pipe is gone."""
    content = path.read_bytes()
    path.unlink()
    os.mkfifo(path)

    def feed() -> None:
        while path.is_fifo():
            with suppress(OSError):
                with os.fdopen(os.open(path, os.O_WRONLY | os.O_NONBLOCK), "wb") as stream:
                    os.set_blocking(stream.fileno(), True)
                    stream.write(content)
                return
            time.sleep(0.002)

    threading.Thread(target=feed, daemon=True).start()


def _read(path: Path) -> None:
    """Make a named pipe of which a thread reads all."""
    os.mkfifo(path)
    stream = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb")

    def drain() -> None:
        with stream:
            while path.is_fifo():
                stream.read()
                time.sleep(0.002)

    threading.Thread(target=drain, daemon=True).start()


def pipes_and_neighbours() -> Iterator[Odd]:
    once = ("weights.json", "fitted.json", "declared.json")  # documents that are read as a whole, once
    for path in (*once, "kernel.py", "variants.py", "family.py", "store/measurements.jsonl", "store/counts.jsonl"):
        yield Odd("named pipe", f"{path} is one", READ_BY[path], prepare=lambda folder, path=path: _fed(folder / path))
    for command in (("fit", "--from", "store", "--family", "expr:w_a*launches", "-o"), ("export", "--from", "store", "-o"),
                    ("roofline", "--from", "store", "--out"), ("count", "kernel.py", "-p", "n=1024", "--graph")):  # fmt: skip
        yield Odd("named pipe", "output", (*command, "pipe"), prepare=lambda folder: _read(folder / "pipe"))
    weights = battery.originals()["weights.json"]
    contents = weights, _double(weights)
    for turn in range(6):
        yield Odd("another command", f"replaces the weights ({turn})", PREDICT, believed=one_of_two,
                  beside=repeatedly("weights.json", lambda path, turn: _whole(path, contents[turn % 2])))  # fmt: skip
    for number in (1, 2):
        yield Odd("another command", f"replaces the weights before read {number}", PREDICT, believed=one_of_two,
                  beside=before_read("weights.json", number, lambda path: _whole(path, contents[1])))  # fmt: skip
    for command in (FIT, EXPORT, OUTLIERS, READ_BY["family.py"]):
        yield Odd("another command", "appends to the store", command, beside=repeatedly("store/measurements.jsonl", _append_piece))


def _odd_names(folder: Path) -> None:
    for name, given in (("kernel.py", "k\udcff.py"), ("weights.json", "w\udcff.json")):
        shutil.copy(folder / name, folder / given)
    shutil.copytree(folder / "store", folder / "s\udcff")


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Make a folder without the right to write, and a copy of the package likewise."""
    copied, cache = folder / ".cache" / "installed", folder / ".cache" / "locked"
    if not copied.exists():
        shutil.copytree(ROOT / "perfmodel", copied / "perfmodel", ignore=shutil.ignore_patterns("__pycache__"))
    cache.mkdir(exist_ok=True)
    every = [cache, copied, *copied.rglob("*")]
    for path in every:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        yield
    finally:
        for path in every:
            path.chmod(0o755 if path.is_dir() else 0o644)


TWO_AT_ONCE = (
    'mkdir -p .cache; export XDG_CACHE_HOME=$PWD/.cache/cold; "$@" > .cache/a & "$@" > .cache/b || exit 9; '
    "wait $! && cmp .cache/a .cache/b >&2 || exit 9"
)


def programs() -> Iterator[Odd]:
    """Commands as programs of their own, each in a shell that first does something."""
    names = {"kernel.py": "k\udcff.py", "weights.json": "w\udcff.json", "store": "s\udcff", "out.json": "f\udcff.json"}
    for locale, command in itertools.product(("C", "C.UTF-8"), (COUNT, PREDICT, EXPORT, FIT)):
        given = tuple(names.get(one, one) for one in command)
        yield Odd("program", f"surrogates in paths, LC_ALL={locale}", given, prepare=_odd_names, shell=f"export LC_ALL={locale}")
    for number, command in itertools.product((8, 12, 16, 24), (COUNT, PREDICT, EXPORT)):
        yield Odd("program", f"{number} descriptors", command, shell=f"ulimit -n {number}")
    for command in (COUNT, PREDICT, RANK, EXPORT):
        locked = "export XDG_CACHE_HOME=$PWD/.cache/locked XDG_DATA_HOME=$PWD/.cache/locked"
        yield Odd("program", "a cache folder that cannot be written", command, beside=_locked, shell=locked)
        yield Odd("program", "an installation that cannot be written", command, beside=_locked,
                  shell="export PYTHONPATH=$PWD/.cache/installed")  # fmt: skip
    yield Odd("program", "two on one cold cache, then a third", COUNT, shell=TWO_AT_ONCE)


KINDS = (between_reads, pipes_and_neighbours, programs)
