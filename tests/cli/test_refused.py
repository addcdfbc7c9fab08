"""What commands say about damaged files, and about what the system refuses."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.cli.program import RUN, invoke, refused
from tests.fuzz.workspace import pristine
from tests.recorded import QUICKSTART
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


def test_memory_that_ends_elsewhere_is_one_line(monkeypatch):
    def large(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr("perfmodel.store.read", large)
    done = refused(invoke("data", "export", "x", "-o", "-"))
    assert done.startswith("perfmodel: error: out of memory; give less at once")


@pytest.fixture
def store(tmp_path):
    shutil.copytree(QUICKSTART, tmp_path / "store")
    return tmp_path / "store"


def fit(store):
    found = invoke("fit", "--from", store, "-o", store / "out.json")
    assert isinstance(found.exception, SystemExit | None), found.exception
    return found


def test_a_changed_operation_name_does_not_change_weights_in_silence(store):
    counts = store / "counts.jsonl"
    assert '"kind": "mul"' in counts.read_text()
    counts.write_text(counts.read_text().replace('"kind": "mul"', '"kind": "add"', 1))
    found = fit(store)
    note, error = found.stderr.splitlines()
    assert "was changed: its hash is" in note
    assert note.startswith("perfmodel: note: ")
    assert "are not in the store" in error
    assert (2, False) == (found.exit_code, (store / "out.json").exists())


def test_a_torn_last_line_is_printed_once_and_the_fit_is_made(store):
    rows = store / "measurements.jsonl"
    number = len(rows.read_text().splitlines())
    rows.write_text(rows.read_text()[:-40])
    found = fit(store)
    (note,) = found.stderr.splitlines()
    assert f"line {number} is torn" in note
    assert (0, True) == (found.exit_code, (store / "out.json").exists())
