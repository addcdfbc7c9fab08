"""Other tuners on a measured space: how many configurations they try until one is near the best, counted by hand."""

from __future__ import annotations

import json
from itertools import product
from statistics import fmean
from types import SimpleNamespace

import pytest

from scripts.benchmarks.tuner_rivals import (
    DEFAULT,
    RANDOM,
    STRATEGIES,
    Point,
    Run,
    SpaceTable,
    rivals,
    space_table,
    summary,
    write_cache,
)

VALUES = {"tile": (8, 16, 32, 64), "rows": (1, 2, 4, 8), "prefetch": ("none", "a", "b"), "unroll": (False, True)}
POINTS = 4 * 4 * 3 * 2


def table(good: int = 1) -> SpaceTable:
    """96 points of 1 s to 97 s, of which `good` are near the best; the last failed. Each costs 10 s."""
    configs = [dict(zip(VALUES, values, strict=True)) for values in product(*VALUES.values())]
    times = [1.0 if place < good else 2.0 + place for place in range(POINTS)]
    points = [Point(config, "ok", time, 10.0) for config, time in zip(configs, times, strict=True)]
    points[-1] = Point(configs[-1], "compile", None, 10.0)
    return SpaceTable("made up", VALUES, tuple(points))


def test_near_is_a_factor_of_the_best():
    found = SpaceTable("x", {"a": (1, 2, 3)}, tuple(Point({"a": a}, "ok", 1 + a / 100, 1.0) for a in (1, 2, 3)))
    assert [True, True, False] == [found.near(point, 1.01) for point in found.points]
    assert not table().near(table().points[-1], 100.0)


def test_a_table_is_made_of_measured_rows():
    rows = [
        SimpleNamespace(values={"a": 1}, status="ok", seconds=2.0, evaluation_s=3.0),
        SimpleNamespace(values={"a": 2}, status="timeout", seconds=9.0, evaluation_s=60.0),
    ]
    expected = (Point({"a": 1}, "ok", 2.0, 3.0), Point({"a": 2}, "timeout", None, 60.0))
    assert expected == space_table("x", {"a": (1, 2)}, rows).points


def test_random_search_needs_the_number_that_theory_says():
    """Of N points in a random order, of which k are good, the first good one is expected at (N + 1)/(k + 1)."""
    for good in (1, 4):
        runs = rivals(table(good), repeats=1000, strategies=())
        assert {RANDOM} == {run.tuner for run in runs}
        assert (POINTS + 1) / (good + 1) == pytest.approx(fmean(run.evaluations for run in runs), rel=0.06)
        assert all(run.seconds == 10.0 * run.evaluations for run in runs)


def test_the_cache_is_kernel_tuners(tmp_path):
    document = json.loads(write_cache(table(), tmp_path / "cache.json").read_text())
    params = document["tune_params"]
    assert {"tile": [8, 16, 32, 64], "rows": [1, 2, 4, 8], "prefetch": [0, 1, 2], "unroll": [0, 1]} == params
    assert ["tile", "rows", "prefetch", "unroll"] == document["tune_params_keys"]
    assert POINTS == len(document["cache"])
    assert 3000.0 == document["cache"]["8,1,0,1"]["time"]
    assert "CompilationFailedConfig" == document["cache"]["64,8,2,1"]["__error__"]
    assert "time" not in document["cache"]["64,8,2,1"]


def test_a_summary_has_means_and_medians():
    runs = [Run("a", 0, 2, 20.0), Run("a", 1, 3, 30.0), Run("a", 2, 10, 100.0, 2), Run("b", 0, None, None, 50)]
    first, last = summary(runs)
    assert ("a", 3, 0, 5.0, 3, 50.0, 30.0) == tuple(first.values())[:7]
    assert ("b", 1, 1, None) == tuple(last.values())[:4]


@pytest.mark.nightly
def test_kernel_tuners_strategies_search_the_table():
    """Each of them finds the best; the default goes through the space in its order, where the best is the first."""
    runs = rivals(table(), repeats=2)
    assert {RANDOM, *STRATEGIES} == {run.tuner for run in runs}
    (default,) = [run for run in runs if run.tuner == DEFAULT]
    assert (1, 10.0, 0) == (default.evaluations, default.seconds, default.restarts)
    for run in runs:
        assert "" == run.problem
        assert run.evaluations is not None
        assert 1 <= run.evaluations <= POINTS
        assert 10.0 * run.evaluations == run.seconds
