"""``perfmodel export``: files in both formats, by the ending of their names."""

from __future__ import annotations

import json
import os

import jsonschema
import pytest
from typer.testing import CliRunner

from perfmodel import store
from perfmodel.cli import application
from tests.store.test_exchange import T4, examples


@pytest.fixture
def stored(tmp_path):
    for row in examples().rows:
        store.append(tmp_path, row)
    return tmp_path


def export(*arguments):
    return CliRunner().invoke(application(), ["export", *map(str, arguments)])


def test_the_command_writes_both_formats(stored):
    for form, path in (("t4", stored / "t4.json"), ("csv", stored / "t.csv")):
        result = export("--from", stored, "-o", path, "--json")
        assert 0 == result.exit_code, result.output
        document = json.loads(result.stdout)
        assert ("perfmodel.export/1", 7) == (document["schema"], document["rows"])
        assert {form: str(path)} == document["files"]
    jsonschema.validate(json.loads((stored / "t4.json").read_text()), T4)
    assert 8 == len((stored / "t.csv").read_text().splitlines())


def test_a_dash_is_standard_output(stored):
    assert store.csv_text(store.read(stored).current) == export("--from", stored, "-o", "-").stdout


def test_a_pipe_stays_a_pipe(stored):
    os.mkfifo(stored / "pipe")
    reading = os.open(stored / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    result = export("--from", stored, "-o", stored / "pipe")
    assert 0 == result.exit_code, result.stderr
    assert store.csv_text(store.read(stored).current) == os.read(reading, 2**16).decode()
    assert (stored / "pipe").is_fifo()
    os.close(reading)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "Missing option"),
        (("--csv", "-"), "--csv is no option of export any more; give -o FILE."),
        (("--t4", "-"), "--t4 is no option of export any more; give -o FILE.json."),
        (("-o", "-", "--json"), "--json and --out - both write to standard output; give a file for one of them"),
    ],
)
def test_what_is_refused(stored, options, said):
    result = export("--from", stored, *options)
    assert (2, "") == (result.exit_code, result.stdout)
    assert said in result.stderr
