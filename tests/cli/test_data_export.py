"""``perfmodel export``: files in both formats, and one line where none is asked for."""

from __future__ import annotations

import json
import os

import jsonschema
import pytest
from typer.testing import CliRunner

from perfmodel import store
from perfmodel.cli import application
from tests.store.test_export import T4, examples


@pytest.fixture
def stored(tmp_path):
    for row in examples().rows:
        store.append(tmp_path, row)
    return tmp_path


def export(*arguments):
    return CliRunner().invoke(application(), ["export", *map(str, arguments)])


def test_the_command_writes_both_formats(stored):
    result = export("--from", stored, "--t4", stored / "t4.json", "--csv", stored / "t.csv", "--json")
    assert 0 == result.exit_code, result.output
    jsonschema.validate(json.loads((stored / "t4.json").read_text()), T4)
    assert 8 == len((stored / "t.csv").read_text().splitlines())
    document = json.loads(result.stdout)
    assert ("perfmodel.export/1", 7) == (document["schema"], document["rows"])
    assert {"t4": str(stored / "t4.json"), "csv": str(stored / "t.csv")} == document["files"]


def test_a_dash_is_standard_output(stored):
    assert store.csv_text(store.read(stored).current) == export("--from", stored, "--csv", "-").stdout


def test_a_pipe_stays_a_pipe(stored):
    os.mkfifo(stored / "pipe")
    reading = os.open(stored / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    result = export("--from", stored, "--csv", stored / "pipe")
    assert 0 == result.exit_code, result.stderr
    assert store.csv_text(store.read(stored).current) == os.read(reading, 2**16).decode()
    assert (stored / "pipe").is_fifo()
    os.close(reading)


def test_the_command_without_a_format_says_which_there_are(stored):
    result = export("--from", stored)
    assert 2 == result.exit_code
    assert "--t4" in result.stderr
    assert "--csv" in result.stderr
