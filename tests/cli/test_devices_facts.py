"""``perfmodel devices --from``: all facts of a measured device, each with its source."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from perfmodel import store
from perfmodel.cli import application
from perfmodel.store.files import append_probe
from tests.facts.test_probed import capacity
from tests.store.test_files_packed import CPU


@pytest.fixture
def folder(tmp_path):
    store.prepare(tmp_path, CPU)
    append_probe(tmp_path, capacity())
    return tmp_path


def devices(*arguments):
    return CliRunner().invoke(application(), ["devices", *map(str, arguments)])


def test_a_table_with_what_is_reported_measured_and_assumed(folder):
    result = devices("--from", folder)
    assert 0 == result.exit_code
    rows = {line.split()[0]: line for line in result.stdout.splitlines() if line}
    assert "CL_DEVICE_TYPE" in rows["device_type"]
    assert "48 KiB" in rows["l1_bytes"]
    assert "measured, pointer chase" in rows["l1_bytes"]
    assert "assumed: a core of a CPU runs one work-group at a time" in rows["max_groups_per_unit"]


def test_one_document(folder):
    document = json.loads(devices("--from", folder, "--json").stdout)
    assert ("perfmodel.facts/1", "a device") == (document["schema"], document["name"])
    assert {"value": 49152, "unit": "B"}.items() <= document["facts"]["l1_bytes"].items()


def test_bad_input_is_answered_in_one_line(folder, tmp_path):
    result = devices("--from", tmp_path / "none")
    assert (2, 1) == (result.exit_code, len(result.stderr.splitlines()))
    assert "no measurements at" in result.stderr
    (folder / "device.json").unlink()
    assert "give a folder with a device.json" in devices("--from", folder).stderr
