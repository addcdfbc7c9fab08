"""The benchmark of many variants: its space, its table, and one run of it."""

import json
import os
from io import StringIO

import pytest

from scripts.benchmarks import scale
from scripts.benchmarks.scale import Watched, chosen, goals, run_once, text
from tests.machine import ROOT


def test_variants_are_spread_over_the_space():
    assert 4096 == len(chosen(4096))
    few = [*chosen(8)]
    assert 8 == len({*few})
    assert {name.split()[0] for name in few} >= {"width=4", "width=128"}
    with pytest.raises(ValueError, match="ask for fewer"):
        chosen(10**6)


def row(way, workers, variants, seconds, peak=1e8, ranking="a"):
    return {
        "way": way, "workers": workers, "variants": variants, "seconds": [seconds], "median_s": seconds,
        "peaks": [peak], "callers": [2e8], "growth": 3e5 if way == "plain" else None, "processes": [workers],
        "rankings": [ranking],
    }  # fmt: skip


def test_table_and_goals_by_hand():
    runs = [row("plain", 1, 8, 10.0), row("loky", 2, 8, 8.0), row("plain", 1, 64, 100.0), row("loky", 2, 64, 59.0)]
    lines = text({"runs": runs}).splitlines()
    assert ["64", "loky", "2", "1", "59.00", "59%", "15%", "100", "200", "2", "-"] == lines[4].split()
    assert ["8", "plain", "1", "1", "10.00", "100%", "0%", "100", "200", "1", "300"] == lines[1].split()
    assert ["met"] * 3 == [line.split()[0] for line in goals({"runs": runs})]
    bad = [row("plain", 1, 8, 10.0), row("loky", 2, 8, 6.1, 6e8, "b")]
    assert ["MISSED"] * 3 == [line.split()[0] for line in goals({"runs": bad})]


def test_the_memory_of_a_process_and_its_children(monkeypatch):
    watched = Watched()
    watched.look(os.getpid())
    assert watched.peaks[os.getpid()] > 10**7
    with pytest.raises(RuntimeError, match="by odd with 1 workers ended with 1"):
        run_once("odd", 1, 2)


@pytest.mark.nightly
def test_a_short_run(monkeypatch):
    monkeypatch.setattr(scale, "WAYS", {("plain", 1): 2, ("loky", 2): 2, ("dask", 2): 1})
    plain, loky = scale.measure([2], 1, StringIO())["runs"]
    assert plain["rankings"] == loky["rankings"]
    assert all(min(one["seconds"]) > 0 and min(one["peaks"]) > 5e7 for one in (plain, loky))
    assert (True, None) == (plain["growth"] > 0, loky["growth"])
    assert ([1], [2]) == ([*plain["processes"]], [*loky["processes"]])


def test_the_page_shows_what_was_recorded():
    recorded = json.loads((ROOT / "docs" / "data" / "scale.json").read_text())
    assert text(recorded) in (ROOT / "docs" / "lab" / "scale.md").read_text()
    assert {64, 512, 4096} == {row["variants"] for row in recorded["runs"]}
    assert {3} == {len(row["seconds"]) for row in recorded["runs"] if row["variants"] == 4096}
