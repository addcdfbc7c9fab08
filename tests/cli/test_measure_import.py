"""``perfmodel import``: what it prints, and that a refusal is one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perfmodel import store
from perfmodel.cli import application
from tests.hooks.spaces import FILE
from tests.store.test_exchange_tuner_files import ENTRIES, HEAD, cache


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("kernel.py").write_text(FILE)
    Path("cache.json").write_text(cache(*ENTRIES))


def run(*arguments: str, file: str = "cache.json"):
    given = ["import", file, "--kernel", "kernel.py", "--store", "store", *arguments]
    return CliRunner().invoke(application(), given)


def test_it_says_what_was_added():
    result = run("-p", "n=4Ki")
    assert 0 == result.exit_code, result.stderr
    assert [
        "cache.json: Kernel Tuner cache, A device",
        "added 4 records to store (1 ok, 1 compile, 1 runtime, 1 constraint)",
    ] == result.stdout.splitlines()
    assert {"n": 4096} == store.read("store").rows[0].parameters
    assert ["added 0 records to store", "4 results were in it before"] == run("-p", "n=4Ki").stdout.splitlines()[1:]


def test_it_names_what_was_refused():
    refused = [f'"{group},1": {{"group": {group}, "terms": 1, "time": 0}},' for group in range(7)]
    Path("cache.json").write_text(cache(*ENTRIES, *refused))
    lines = run("-p", "n=4096").stdout.splitlines()
    assert "7 results were refused:" == lines[2]
    assert "  the entry '0,1' has the time 0, which is no number above 0" == lines[3]
    assert "  and 2 more (--json names all)" == lines[-1]


def test_json_is_complete():
    Path("torn.json").write_text("\n".join((HEAD, *ENTRIES[:2], ENTRIES[2][:30])))
    document = json.loads(run("-p", "n=4096", "--json", file="torn.json").stdout)
    assert ("perfmodel.import/1", 2, {"ok": 1, "compile": 1}) == (
        document["schema"], document["added"], document["statuses"]
    )  # fmt: skip
    assert ("A device", [], 1) == (document["device"], document["refused"], len(document["notes"]))


def test_a_file_that_is_none_is_one_line_and_no_store():
    Path("other.json").write_text('{"rows": []}')
    result = run("-p", "n=4096", file="other.json")
    assert 2 == result.exit_code
    assert 1 == len(result.stderr.splitlines())
    assert "'other.json' is an object with 'rows': neither 'cache' nor 'results' is in it" in result.stderr
    assert not Path("store").exists()
