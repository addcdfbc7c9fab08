"""``perfmodel data``: files of other programs in both directions, and the archived recipes."""

import json
import os
from functools import partial
from pathlib import Path

import jsonschema
import pytest

from perfmodel import store
from perfmodel.recipes.archive import kernel_key, record
from tests.cli.program import invoke, ran, refused
from tests.hooks.spaces import FILE
from tests.recipes.test_archive import CARD, LARGE, PLAIN, scaling
from tests.store.test_exchange import ENTRIES, HEAD, T4, cache, examples


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("kernel.py").write_text(FILE)
    Path("cache.json").write_text(cache(*ENTRIES))


def run(*arguments: str, file: str = "cache.json"):
    return invoke("data", "import", file, "--kernel", "kernel.py", "--store", "store", *arguments)


def test_it_shows_what_was_added(files):
    result = ran(run("-p", "n=4Ki"))
    assert [
        "cache.json: Kernel Tuner cache, A device",
        "added 4 records to store (1 ok, 1 compile, 1 runtime, 1 constraint)",
    ] == result.stdout.splitlines()
    assert {"n": 4096} == store.read("store").rows[0].parameters
    assert ["added 0 records to store", "4 results were in it before"] == run("-p", "n=4Ki").stdout.splitlines()[1:]


def test_it_names_what_was_refused(files):
    refused = [f'"{group},1": {{"group": {group}, "terms": 1, "time": 0}},' for group in range(7)]
    Path("cache.json").write_text(cache(*ENTRIES, *refused))
    lines = run("-p", "n=4096").stdout.splitlines()
    assert "7 results were refused:" == lines[2]
    assert "  the entry '0,1' has the time 0, which is not a number above 0" == lines[3]
    assert "  and 2 more (--json lists all)" == lines[-1]


def test_json_is_complete(files):
    Path("torn.json").write_text("\n".join((HEAD, *ENTRIES[:2], ENTRIES[2][:30])))
    document = json.loads(run("-p", "n=4096", "--json", file="torn.json").stdout)
    assert ("perfmodel.import/1", 2, {"ok": 1, "compile": 1}) == (
        document["schema"], document["added"], document["statuses"]
    )  # fmt: skip
    assert ("A device", [], 1) == (document["device"], document["refused"], len(document["notes"]))


def test_a_file_that_is_none_is_one_line_and_no_store(files):
    Path("other.json").write_text('{"rows": []}')
    result = refused(run("-p", "n=4096", file="other.json"))
    assert 1 == len(result.splitlines())
    assert "'other.json' is an object with 'rows': it has neither 'cache' nor 'results'" in result
    assert not Path("store").exists()


@pytest.fixture
def stored(tmp_path):
    for row in examples().rows:
        store.append(tmp_path, row)
    return tmp_path


export, recipes = (partial(invoke, "data", name) for name in ("export", "recipes"))


def test_the_command_writes_both_formats(stored):
    for form, path in (("t4", stored / "t4.json"), ("csv", stored / "t.csv")):
        result = ran(export(stored, "-o", path, "--json"))
        document = json.loads(result.stdout)
        assert ("perfmodel.export/1", 7) == (document["schema"], document["rows"])
        assert {form: str(path)} == document["files"]
    jsonschema.validate(json.loads((stored / "t4.json").read_text()), T4)
    assert 8 == len((stored / "t.csv").read_text().splitlines())


def test_a_pipe_stays_a_pipe_and_a_dash_is_standard_output(stored):
    os.mkfifo(stored / "pipe")
    reading = os.open(stored / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    ran(export(stored, "-o", stored / "pipe"))
    assert store.csv_text(store.read(stored).current) == os.read(reading, 2**16).decode()
    assert (stored / "pipe").is_fifo()
    os.close(reading)
    assert store.csv_text(store.read(stored).current) == export(stored, "-o", "-").stdout


@pytest.mark.parametrize(("options", "message"), [
    ((), "Missing option"),
    (("-o", "-", "--json"), "--json and --out - both write to standard output; give a file for one of them"),
])  # fmt: skip
def test_what_is_refused(stored, options, message):
    result = export(stored, *options)
    assert (2, "") == (result.exit_code, result.stdout)
    assert message in result.stderr


@pytest.fixture
def archived(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    for n, seconds in ((16, {PLAIN: 8e-3, LARGE: 2e-3}), (32, {LARGE: 4e-3})):
        record(scaling(), {"n": n}, seconds, CARD)
    record(scaling(3), {"n": 16}, {LARGE: 1e-3}, CARD, measured=False)
    return tmp_path / "perfmodel" / "recipes" / "makers-card.sqlite"


def test_recipes_are_listed_by_kernel_and_size(archived):
    lines = recipes("CARD").stdout.splitlines()
    assert f"{archived}: 4 entries" == lines[0]
    key, other = kernel_key(scaling())[:8], kernel_key(scaling(3))[:8]
    wanted = [
        (key, f"scaling n=16 {LARGE} 2 ms measured 1.0"), (key, "scaling n=16 untransformed 8 ms measured 1.0"),
        (key, f"scaling n=32 {LARGE} 4 ms measured 1.0"), (other, f"scaling n=16 {LARGE} 1 ms predicted 1.0"),
    ]  # fmt: skip
    texts = sorted(" ".join(line.split()[:-1]) for line in lines[2:])
    assert sorted(f"{first} {rest}" for first, rest in wanted) == texts


def test_recipes_of_a_kernel_are_removed(archived):
    assert "removed 3 entries\n" == invoke("data", "forget", kernel_key(scaling())[:12]).stdout
    document = json.loads(recipes("--json").stdout)
    assert "perfmodel.recipes/1" == document["schema"]
    (entry,) = document["entries"]
    assert ({"n": 16}, LARGE.to_json(), 1e-3, str(archived)) == (
        entry["sizes"], entry["recipe"], entry["seconds"], entry["file"]
    )  # fmt: skip
    result = refused(invoke("data", "forget", "0000"))
    assert "no archived kernel has a key that begins with '0000'; see `perfmodel data recipes`" in result


def test_no_archive_is_no_error(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert "no recipes are archived\n" == recipes().stdout
    assert "no recipes are archived\n" == recipes("other").stdout
