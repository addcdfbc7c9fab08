"""Time of a program with and without recording, and whether it prints the same."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, TextIO

from perfmodel.cli.watch import command_of, environment


def measure(program: Sequence[str], repeats: int, notes: TextIO = sys.stderr) -> dict[str, Any]:
    """Run a program in turn without and with recording; return its times [s] and whether its outputs are equal.

    The first run of each writes bytecode and fills caches; it is not counted.
    """
    command = command_of(program)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    plain: list[float] = []
    recorded: list[float] = []
    outputs = set()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        for repeat in range(repeats + 1):
            for times, variables in ((plain, None), (recorded, environment(Path(folder, str(repeat))))):
                began = perf_counter()
                done = subprocess.run(command, env=variables, stdout=subprocess.PIPE, check=True)
                times.append(perf_counter() - began)
                outputs.add(done.stdout)
            notes.write(f"run {repeat} of {repeats}: {plain[-1]:.2f} s, recorded {recorded[-1]:.2f} s\n")
    plain, recorded = plain[1:], recorded[1:]
    return {"plain_s": plain, "recorded_s": recorded, "equal_outputs": len(outputs) == 1,
            "ratio": median(recorded) / median(plain)}  # fmt: skip


def text(result: dict[str, Any]) -> str:
    """Return the result as a sentence."""
    plain, recorded = median(result["plain_s"]), median(result["recorded_s"])
    same = "equal" if result["equal_outputs"] else "DIFFERENT"
    return f"{plain:.2f} s, recorded {recorded:.2f} s: {result['ratio'] - 1:+.1%}; outputs are {same}"
