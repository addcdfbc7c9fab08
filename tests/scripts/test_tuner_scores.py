"""The score of searches on recorded spaces, held against sums over all orders, and runs on a table made up."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from statistics import fmean

import pytest

from scripts.benchmarks import tuner_scores
from scripts.benchmarks.tuner_recorded import space_of
from scripts.benchmarks.tuner_table import Configuration, Table

TIMES = (3.0, 1.0, 4.0, 1.0, 5.0, 9.0)


def table() -> Table:
    """Sixty configurations that take 1 s, 2 s, ... and are predicted exactly; every seventh failed."""
    rows = [
        Configuration(
            {"tile": place // 6, "order": f"{place % 6}"}, "ok" if place % 7 else "runtime",
            (float(place),) if place % 7 else (), predicted=float(place) if place else 1e3, terms={"t": 1.0},
        )
        for place in range(60)
    ]  # fmt: skip
    return Table("made up", {"n": 64}, "a card", "a family", {"deviation": 0.1, "freedom": 4, "cells": 9}, tuple(rows))


def test_the_expected_best_is_the_mean_over_all_orders():
    found = tuner_scores.expected_best(TIMES, len(TIMES))
    expected = [fmean(min(order[:draws]) for order in permutations(TIMES)) for draws in range(1, len(TIMES) + 1)]
    assert expected == pytest.approx(found.tolist())


def test_a_score_is_zero_for_all_orders_and_one_for_the_best_at_once():
    assert 0.0 == pytest.approx(tuner_scores.score([*permutations(TIMES)], TIMES))
    assert 1.0 == tuner_scores.score([[1.0]], TIMES)
    assert tuner_scores.score([[9.0]], TIMES) < 0


def test_a_space_has_the_configurations_of_its_table():
    found = space_of(table())
    assert [row.values for row in table().rows] == [*found.configurations]
    assert (60, 1 + 6) == found.coordinates.shape  # text has no order


def test_failed_configurations_cost_an_evaluation():
    found = tuner_scores.compared(table(), 1000, ())
    assert (60, 9, 1) == (found["configurations"], found["failed"], found["near"])
    ours, order, random = found["tuners"].values()
    assert (1, 1) == (ours["evaluations"], order["evaluations"])
    assert [1.0, 1.0] == [ours["score"], order["score"]]
    assert 30 == pytest.approx(random["evaluations"], abs=3)
    assert 0 == pytest.approx(random["score"], abs=0.05)


def test_what_was_found_is_kept_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    table().write(tmp_path / "made-up.jsonl.gz")
    found = tuner_scores.compared(table(), 2, ())
    found["tuners"]["perfmodel"]["evaluations"] = None
    (tmp_path / tuner_scores.RESULTS).write_text(json.dumps({"earlier": found}))
    monkeypatch.setattr(tuner_scores, "compared", lambda table, repeats, strategies: found)
    assert {"earlier": found, "made-up": found} == tuner_scores.search(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n\n{tuner_scores.BEGIN}\nold")
    tuner_scores.draw(tmp_path, page)
    assert "old" not in page.read_text()
    assert "| made-up | 60 | 1 | over 200 | 1.0 |" in page.read_text()
    names = ("perfmodel", *found["tuners"], *tuner_scores.STRATEGIES)
    whole = {**found, "tuners": {name: {"score": 0.5} for name in names} | {"bayes_opt": {"score": 0.7}}}
    *_, last = tuner_scores.lines({"a": found, "b": whole}, "score")
    assert ("mean of 1", "", "", *["0.50"] * 4, "0.70", *["0.50"] * 3, "0.70") == last
    assert "made-up" in tuner_scores.text({"made-up": found})
