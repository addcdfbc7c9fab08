"""``perfmodel measure``: one document, one summary, one line for bad input."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from perfmodel.cli import application
from tests.machine import ROOT

pytestmark = pytest.mark.device


@pytest.fixture
def kernels(tmp_path):
    """A folder with the empty kernel only."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "empty.py").write_text((ROOT / "measurement_kernels" / "empty.py").read_text())
    return folder


def perfmodel(*arguments):
    return CliRunner().invoke(application(), ["measure", *map(str, arguments)])


def test_json_is_one_document_and_nothing_else(tmp_path, kernels):
    result = perfmodel("--quick", "--store", tmp_path / "s", "--kernels", kernels, "--json")
    assert 0 == result.exit_code, result.output
    document = json.loads(result.stdout)
    assert "perfmodel.measure/1" == document["schema"]
    assert {"ok"} == set(document["statuses"])
    assert all(row["seconds"] > 0 for row in document["rows"])


def test_a_second_call_has_nothing_to_do(tmp_path, kernels):
    for _ in "ab":
        result = perfmodel("--quick", "--store", tmp_path / "m.jsonl", "--kernels", kernels)
    assert "configurations measured" in result.stdout
    assert "measuring: 0 steps" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--device", "no such device"), "no such device"),
        (("--kernels", "nowhere"), "nowhere"),
        (("--store", ROOT / "setup.cfg" / "below"), "setup.cfg"),
    ],
)
def test_bad_input_is_one_line_and_status_two(tmp_path, kernels, arguments, said):
    given = ("--quick", "--store", tmp_path / "s", "--kernels", kernels, *arguments)
    result = perfmodel(*given)
    assert 2 == result.exit_code
    (line,) = [line for line in result.stderr.splitlines() if line]
    assert line.startswith("perfmodel: error:")
    assert said in line
