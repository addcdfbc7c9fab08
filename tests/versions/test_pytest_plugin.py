"""The fixture ``perf_counts``, in a pytest of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TEST = '''
import loopy as lp
import numpy as np


def test_counts(perf_counts):
    unit = lp.make_kernel("{[i]: 0 <= i < n}", "out[i] = %s", [lp.GlobalArg("a, out", np.float32, shape="n"), "..."],
                          assumptions="n >= 1", lang_version=(2018, 2))
    perf_counts(unit, "copy")
'''


def run(folder: Path, expression: str, *options: str) -> tuple[int, str]:
    (folder / "test_it.py").write_text(TEST % expression)
    command = [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "-p", "no:cacheprovider", "--rootdir=."]
    command += ["-p", "perfmodel.versions.pytest_plugin", *options, "test_it.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout


@pytest.mark.slow
def test_counts_are_stored_compared_and_updated(tmp_path: Path) -> None:
    stored = tmp_path / "perf_counts" / "test_it" / "test_counts-copy.txt"
    status, shown = run(tmp_path, "a[i]")
    assert (1, True) == (status, "no counts of loopy_kernel are stored" in shown)
    assert 0 == run(tmp_path, "a[i]", "--perf-counts-update")[0]
    before = stored.read_text()
    assert 0 == run(tmp_path, "a[0 + i]")[0]
    status, shown = run(tmp_path, "2*a[i]")
    assert (1, True, True) == (status, "float32 mul: 0 -> n" in shown, "--perf-counts-update" in shown)
    assert before == stored.read_text()
    assert 0 == run(tmp_path, "2*a[i]", "--perf-counts-update")[0]
    assert 0 == run(tmp_path, "a[i]*2")[0]
    stored.write_text("other text")
    status, shown = run(tmp_path, "a[i]")
    assert (1, True) == (status, "does not begin with the name of the counted kernel" in shown)
