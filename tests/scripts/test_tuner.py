"""perfmodel's search on a measured space, other tuners on it, and the score of searches."""

import json
from dataclasses import replace
from itertools import permutations, product
from pathlib import Path
from statistics import fmean
from types import SimpleNamespace

import pytest

from perfmodel.kernels.space import Space
from perfmodel.tuning.tuning import TUNE
from scripts.benchmarks import tuner, tuner_rivals, tuner_scores
from scripts.benchmarks.tuner_recorded import space_of
from scripts.benchmarks.tuner_rivals import RANDOM, STRATEGIES, Point, Run, SpaceTable, rivals, space_table
from scripts.benchmarks.tuner_spaces import STENCIL
from scripts.benchmarks.tuner_table import Configuration, Table, measure_table, predicted_again, read_table
from tests.tuning.test_anchoring import model


def table(factor: float = 1.0) -> Table:
    """The stencil's configurations take 1 s, 2 s, ... and are predicted exactly, or those at odd places too slow."""
    rows = [
        Configuration(
            values, "ok", (9e9, 1.0 + place), terms={"t": 1.0},
            predicted=(1.0 + place) * (factor if place % 2 == 0 else 1.0),
            build_s=0.25, count_s=0.5, code_s=1.0, run_s=10.0,
        )
        for place, values in enumerate(STENCIL.space.configurations)
    ]  # fmt: skip
    scatter = {"deviation": 0.1, "freedom": 4, "cells": 9}
    return Table("stencil", {"n": 64}, "a device", "a family", scatter, tuple(rows))


def test_exact_predictions_need_one_run_and_wrong_ones_more():
    found = tuner.replay(table(), STENCIL.space)
    assert found["counting_s"] == pytest.approx(110 * 0.75)
    assert (found["near"].evaluations, found["near"].seconds) == (1, pytest.approx(110 * 0.75 + 11.0))
    assert found["end"]["times_the_best"] == 1.0
    assert found["end"]["evaluations"] <= 3
    found = tuner.replay(table(4.0), STENCIL.space)
    assert 1 < found["near"].evaluations < 20
    assert found["near"].seconds == pytest.approx(110 * 0.75 + 11.0 * found["near"].evaluations)


def test_a_table_is_written_and_read(tmp_path: Path):
    table().write(tmp_path / "some" / "space.jsonl")
    assert read_table(tmp_path / "some" / "space.jsonl") == table()
    assert [row.times_s for row in table().after(table()).rows[:2]] == [(9e9, 1.0) * 2, (9e9, 2.0) * 2]
    result = tuner.compare(tmp_path / "some", 200, ())
    (found,) = result["spaces"].values()
    named = {one["tuner"]: one for one in found["tuners"]}
    assert list(named) == ["perfmodel", "random search"]
    assert named["random search"]["evaluations_mean"] == pytest.approx(111 / 2, rel=0.15)  # one of 110 is near
    assert "met: 1.0 evaluations, at most a fifth of random search's" in tuner.text(result)
    assert json.dumps(result)


@pytest.mark.device
def test_a_space_is_counted_and_measured(monkeypatch):
    """Two configurations of the stencil at a small size."""
    values = {"width": (16,), "height": (4, 8), "rows": (1,), "prefetch": (False,), "unroll": (False,)}
    small = replace(STENCIL, space=Space(STENCIL.space.build, values), sizes={"n": 256})
    found = measure_table(small, model(), replace(TUNE, runs=4, dropped=1))
    assert [row.status for row in found.rows] == ["ok", "ok"]
    again = predicted_again(found, small.space, model())
    assert [row.predicted for row in again.rows] == [row.predicted for row in found.rows]
    assert [row.times_s for row in again.rows] == [row.times_s for row in found.rows]
    for row in found.rows:
        assert row.predicted == pytest.approx(1e-5 + 256**2 // (16 * row.values["height"]) * 1e-8)
        assert 0 < (row.seconds or 0) < row.run_s
        assert min(row.build_s, row.count_s, row.code_s) > 0


TIMES = (3.0, 1.0, 4.0, 1.0, 5.0, 9.0)


def scored() -> Table:
    """Sixty configurations that take 1 s, 2 s, ... and are predicted exactly; every seventh failed."""
    rows = [
        Configuration(
            {"tile": place // 6, "order": f"{place % 6}"}, "ok" if place % 7 else "runtime",
            (float(place),) if place % 7 else (), predicted=float(place) if place else 1e3, terms={"t": 1.0},
        )
        for place in range(60)
    ]  # fmt: skip
    return Table("made up", {"n": 64}, "a card", "a family", {"deviation": 0.1, "freedom": 4, "cells": 9}, tuple(rows))


def test_the_expected_best_is_the_mean_over_all_orders_which_scores_zero():
    found = tuner_scores.expected_best(TIMES, len(TIMES))
    expected = [fmean(min(order[:draws]) for order in permutations(TIMES)) for draws in range(1, len(TIMES) + 1)]
    assert expected == pytest.approx(found.tolist())
    assert 0.0 == pytest.approx(tuner_scores.score([*permutations(TIMES)], TIMES))
    assert 1.0 == tuner_scores.score([[1.0]], TIMES)
    assert tuner_scores.score([[9.0]], TIMES) < 0


def test_a_space_has_the_configurations_of_its_table_and_failed_ones_cost_an_evaluation():
    found = tuner_scores.compared(scored(), 1000, ())
    assert (60, 9, 1) == (found["configurations"], found["failed"], found["near"])
    ours, order, random = found["tuners"].values()
    assert (1, 1) == (ours["evaluations"], order["evaluations"])
    assert [1.0, 1.0] == [ours["score"], order["score"]]
    assert 30 == pytest.approx(random["evaluations"], abs=3)
    assert 0 == pytest.approx(random["score"], abs=0.05)
    found = space_of(scored())
    assert [row.values for row in scored().rows] == [*found.configurations]
    assert (60, 1 + 6) == found.coordinates.shape  # text has no order


def test_what_was_found_is_kept_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    scored().write(tmp_path / "made-up.jsonl.gz")
    found = tuner_scores.compared(scored(), 2, ())
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


VALUES = {"tile": (8, 16, 32, 64), "rows": (1, 2, 4, 8), "prefetch": ("none", "a", "b"), "unroll": (False, True)}
POINTS = 4 * 4 * 3 * 2


def measured_table(good: int = 1) -> SpaceTable:
    """96 points of 1 s to 97 s, of which `good` are near the best; the last failed. Each costs 10 s."""
    configs = [dict(zip(VALUES, values, strict=True)) for values in product(*VALUES.values())]
    times = [1.0 if place < good else 2.0 + place for place in range(POINTS)]
    points = [Point(config, "ok", time, 10.0) for config, time in zip(configs, times, strict=True)]
    points[-1] = Point(configs[-1], "compile", None, 10.0)
    return SpaceTable("made up", VALUES, tuple(points))


def test_near_is_a_factor_of_the_best_and_a_table_is_made_of_measured_rows():
    found = SpaceTable("x", {"a": (1, 2, 3)}, tuple(Point({"a": a}, "ok", 1 + a / 100, 1.0) for a in (1, 2, 3)))
    assert [True, True, False] == [found.near(point, 1.01) for point in found.points]
    assert not measured_table().near(measured_table().points[-1], 100.0)
    rows = [
        SimpleNamespace(values={"a": 1}, status="ok", seconds=2.0, evaluation_s=3.0),
        SimpleNamespace(values={"a": 2}, status="timeout", seconds=9.0, evaluation_s=60.0),
    ]
    expected = (Point({"a": 1}, "ok", 2.0, 3.0), Point({"a": 2}, "timeout", None, 60.0))
    assert expected == space_table("x", {"a": (1, 2)}, rows).points


def test_random_search_needs_the_number_that_theory_says():
    """Of N points in a random order, of which k are good, the first good one is expected at (N + 1)/(k + 1)."""
    for good in (1, 4):
        runs = rivals(measured_table(good), repeats=1000, strategies=())
        assert {RANDOM} == {run.tuner for run in runs}
        assert (POINTS + 1) / (good + 1) == pytest.approx(fmean(run.evaluations for run in runs), rel=0.06)
        assert all(run.seconds == 10.0 * run.evaluations for run in runs)


def test_the_cache_is_kernel_tuners(tmp_path):
    document = json.loads(tuner_rivals.write_cache(measured_table(), tmp_path / "cache.json").read_text())
    params = document["tune_params"]
    assert {"tile": [8, 16, 32, 64], "rows": [1, 2, 4, 8], "prefetch": [0, 1, 2], "unroll": [0, 1]} == params
    assert ["tile", "rows", "prefetch", "unroll"] == document["tune_params_keys"]
    assert POINTS == len(document["cache"])
    assert 3000.0 == document["cache"]["8,1,0,1"]["time"]
    assert "CompilationFailedConfig" == document["cache"]["64,8,2,1"]["__error__"]
    assert "time" not in document["cache"]["64,8,2,1"]


def test_a_summary_has_means_and_medians():
    runs = [Run("a", 0, 2, 20.0), Run("a", 1, 3, 30.0), Run("a", 2, 10, 100.0, 2), Run("b", 0, None, None, 50)]
    first, last = tuner_rivals.summary(runs)
    assert ("a", 3, 0, 5.0, 3, 50.0, 30.0) == tuple(first.values())[:7]
    assert ("b", 1, 1, None) == tuple(last.values())[:4]


@pytest.mark.nightly
def test_kernel_tuners_strategies_search_the_table():
    """Each of them finds the best; the default goes through the space in its order, where the best is the first."""
    runs = rivals(measured_table(), repeats=2)
    assert {RANDOM, *STRATEGIES} == {run.tuner for run in runs}
    (default,) = [run for run in runs if run.tuner == tuner_rivals.DEFAULT]
    assert (1, 10.0, 0) == (default.evaluations, default.seconds, default.restarts)
    for run in runs:
        assert "" == run.problem
        assert run.evaluations is not None
        assert 1 <= run.evaluations <= POINTS
        assert 10.0 * run.evaluations == run.seconds
