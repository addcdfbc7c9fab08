"""What the command line imports: nothing heavy for help, and neither scikit-learn nor SciPy for a prediction."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shadow import ROOT

HEAVY = {"scipy", "sklearn", "matplotlib", "pandas", "dask", "distributed"}
LIBRARIES = HEAVY | {"numpy", "loopy", "islpy", "pymbolic", "pyopencl"}
#: Whose counts are in the cache: whether they are of the command ``count``, and the kernel file.
COUNTED: set[tuple[bool, str]] = set()
#: Runs a command and prints the libraries of `argv[1]` that were imported, as its last line.
PROGRAM = """
import atexit, sys
names = sys.argv.pop(1).split(",")
sys.argv[0] = "perfmodel"
atexit.register(lambda: print(sorted(name for name in names if name in sys.modules)))
from perfmodel.cli import main
main()
"""


def run(names: set[str], *arguments: str, folder: Path = ROOT) -> tuple[str, float]:
    """Return what a command imported of these libraries, as a line of text, and the CPU time that it took [s]."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, ",".join(names), *arguments], cwd=folder, capture_output=True, text=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert 0 == done.returncode, done.stderr
    return done.stdout.splitlines()[-1], after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize("arguments", [("--help",), ("predict", "--help"), ("--version",)])
def test_help_imports_no_library(arguments):
    imported, seconds = run(LIBRARIES, *arguments)
    assert "[]" == imported
    assert seconds < 1.0  # about 0.15 s, with room for a busy machine


@pytest.mark.parametrize(
    "command",
    [
        ("predict", "kernel.py", "-p", "n=4096", "-w", "weights.json"),
        ("rank", "kernel.py", "-p", "n=4096", "-w", "weights.json", "--json"),
        ("count", "kernel.py", "-p", "n=4096"),
    ],
)
def test_a_counted_kernel_needs_no_scientific_library(perfmodel, tmp_path, command):
    """An inner product needs numpy, and the kernel's own file loopy; what was never measured would need SciPy."""
    counts = command[0] == "count", command[1]
    if counts not in COUNTED:
        perfmodel(*command)  # counts it, here where Loopy is imported already
        COUNTED.add(counts)
    imported, seconds = run(HEAVY, *command, folder=tmp_path)
    assert "[]" == imported
    assert seconds < 3.0  # about 0.7 s, with room for a busy machine
