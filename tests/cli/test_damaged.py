"""What commands say about damaged files: one line, with what was left out and what to do."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perfmodel.cli import application

DATA = Path(__file__).parents[2] / "docs" / "data" / "quickstart"


@pytest.fixture
def store(tmp_path):
    shutil.copytree(DATA, tmp_path / "store")
    return tmp_path / "store"


def fit(store):
    found = CliRunner().invoke(application(), ["fit", "--from", str(store), "-o", str(store / "out.json")])
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
