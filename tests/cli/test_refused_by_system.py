"""What the system refuses in the middle of a command: a disk, memory, the current folder, docstrings."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.cli.program import RUN
from tests.fuzz.workspace import pristine
from tests.shadow import ROOT

FIT = ("fit", "--from", "store", "-o", "new/out.json", "--family", "expr:w_a*launches+w_b*global_load_32_stride1")


@pytest.fixture
def folder(tmp_path):
    for name, content in pristine().items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path


def run(folder, limit, *arguments, **environment):
    """Run a command in a shell that first executes `limit`."""
    return subprocess.run(
        ["sh", "-c", f'{limit}; "$@"', "sh", sys.executable, "-c", RUN, *map(str, arguments)],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("arguments", [FIT, ("data", "export", "store", "-o", "new/out.csv")])
def test_a_full_disk_names_the_file_and_leaves_no_half_one(folder, arguments):
    done = run(folder, "ulimit -f 0", *arguments)
    assert 2 == done.returncode
    path = arguments[arguments.index("-o") + 1]
    message = f"error: cannot write '{path}': File too large; the earlier content is unchanged: make room"
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert [] == [path for path in folder.rglob("*") if path.name not in {name.split("/")[-1] for name in pristine()}
                  and path.is_file()]  # fmt: skip


def test_memory_that_ends_elsewhere_is_one_line(capsys, monkeypatch):
    from typer.testing import CliRunner

    from perfmodel.cli import application

    def large(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr("perfmodel.store.read", large)
    done = CliRunner().invoke(application(), ["data", "export", "x", "-o", "-"])
    assert 2 == done.exit_code
    assert done.stderr.startswith("perfmodel: error: out of memory; give less at once")
