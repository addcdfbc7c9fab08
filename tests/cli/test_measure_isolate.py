"""``perfmodel isolate``: proofs in a store, a table, and one line for bad input."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from perfmodel.cli import application
from perfmodel.store.files import read_isolations
from tests.machine import ROOT

pytestmark = [pytest.mark.device, pytest.mark.usefixtures("times_are_believed")]


@pytest.fixture
def kernels(tmp_path):
    """A folder with one class that has few variants."""
    (tmp_path / "kernels").mkdir()
    text = (ROOT / "measurement_kernels" / "stride1.py").read_text()
    (tmp_path / "kernels" / "stride1.py").write_text(text)
    return tmp_path / "kernels"


def isolate(*arguments):
    return CliRunner().invoke(application(), ["isolate", *map(str, arguments)])


@pytest.mark.slow
def test_proofs_are_kept_and_shown(tmp_path, kernels):
    result = isolate("--kernels", kernels, "--class", "stride1", "--out", tmp_path / "s")
    assert 0 == result.exit_code, result.stderr
    proofs = read_isolations(tmp_path / "s")
    assert {"stride1"} == {proof.kernel for proof in proofs}
    assert f"of {len(proofs)} variants proved" in result.stdout
    assert result.stdout.endswith(f"proofs are in {tmp_path / 's' / 'isolation.jsonl'}\n")
    again = isolate("--kernels", kernels, "--out", tmp_path / "s", "--json")
    document = json.loads(again.stdout)
    assert "perfmodel.isolations/1" == document["schema"]
    both = zip(document["proofs"], proofs, strict=True)
    rows = [row for row, proof in both if proof.proved]  # the others are tried again
    assert rows
    assert [(True, proof.taken_at) for proof in proofs if proof.proved] == [(r["proved"], r["taken_at"]) for r in rows]


def test_an_unknown_class_is_one_line(tmp_path, kernels):
    result = isolate("--kernels", kernels, "--class", "gone", "--out", tmp_path / "s")
    assert 2 == result.exit_code
    (line,) = result.stderr.splitlines()
    assert "no kernel class is called 'gone' or has such a tag; choose of stride1" in line
    assert not (tmp_path / "s").exists()


def test_an_unknown_device_is_one_line(tmp_path, kernels):
    result = isolate("--kernels", kernels, "--device", "no such device", "--out", tmp_path / "s")
    assert 2 == result.exit_code
    (line,) = result.stderr.splitlines()
    assert "no such device" in line
