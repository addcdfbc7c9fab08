"""Keeps every translation unit that a program schedules with Loopy, one pickle each.

As a plug-in of pytest, ``PERFMODEL_CAPTURE=FOLDER pytest -p scripts.lab.capturing.capture``; as a runner of scripts,
``PERFMODEL_CAPTURE=FOLDER python -m scripts.lab.capturing.capture SCRIPT ...``. It imports nothing of perfmodel.
"""

import functools
import hashlib
import os
import pickle
import runpy
import shlex
import sys
import traceback
from pathlib import Path
from typing import Any

import loopy.auto_test
import loopy.preprocess
import loopy.schedule
from loopy.tools import LoopyKeyBuilder

VARIABLE = "PERFMODEL_CAPTURE"
_source: list[str] = ["unknown"]  # the test or script that runs


class Capture:
    """Wraps Loopy's preprocessing and scheduling; what was scheduled without an error is kept as it was handed in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # By identity of a preprocessed unit: it, and what it was made of.
        self.origins: dict[int, tuple[Any, Any]] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def install(self) -> None:
        """Keep each unit that Loopy schedules from now on."""
        loopy.set_caching_enabled(False)  # what Loopy remembers it does not schedule again
        preprocess, linearize = loopy.preprocess.preprocess_program, loopy.schedule.linearize

        @functools.wraps(preprocess)
        def preprocess_and_note(unit: Any) -> Any:
            made = preprocess(unit)
            if made is not unit:
                self.origins[id(made)] = (made, unit)
            return made

        @functools.wraps(linearize)
        def linearize_and_keep(unit: Any) -> Any:
            made = linearize(unit)
            self.keep(self.origins.get(id(unit), (unit, unit))[1])
            return made

        for module in (loopy, loopy.preprocess):
            for name in ("preprocess_program", "preprocess_kernel"):
                setattr(module, name, preprocess_and_note)
        for module in (loopy, loopy.schedule):
            module.linearize = linearize_and_keep
        for module in (loopy, loopy.auto_test):  # it compiles and times both; their results are not asked here
            module.auto_test_vs_ref = schedule_both

    def keep(self, unit: Any) -> None:
        """Write a unit into a file of its own, unless there is one."""
        try:
            key = LoopyKeyBuilder()(unit)
        except Exception:  # an unknown type in it: then it is known by its text
            key = hashlib.sha256(str(unit).encode()).hexdigest()
        path = self.folder / f"{key[:16]}.pickle"
        if path.exists():
            return
        try:
            content = pickle.dumps({"source": _source[-1], "unit": unit})
        except Exception as error:  # a function defined inside a test, for instance
            with (self.folder / "unpicklable.txt").open("a", encoding="utf-8") as log:
                log.write(f"{_source[-1]}\t{type(error).__name__}: {' '.join(str(error).split())[:200]}\n")
            return
        path.write_bytes(content)


def schedule_both(reference: Any, context: Any = None, unit: Any = None, *rest: Any, **options: Any) -> None:
    """Schedule a reference and the unit that is to give the same results, in place of running them."""
    for one in (reference, options.get("test_prog", unit)):
        if one is not None:
            loopy.generate_code_v2(one)


def pytest_configure(config: Any) -> None:
    Capture(Path(os.environ[VARIABLE])).install()


def pytest_runtest_setup(item: Any) -> None:
    _source.append(item.nodeid)


def main(scripts: list[str]) -> None:
    """Run scripts, each with its arguments, one after the other; one that fails is named, and the next begins."""
    Capture(Path(os.environ[VARIABLE])).install()
    for script in scripts:
        sys.argv = shlex.split(script)
        _source.append(" ".join([Path(sys.argv[0]).name, *sys.argv[1:]]))
        try:
            runpy.run_path(sys.argv[0], run_name="__main__")
        except (Exception, SystemExit):
            sys.stderr.write(f"{script}: {traceback.format_exc().splitlines()[-1]}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
