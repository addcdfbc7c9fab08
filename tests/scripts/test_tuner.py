"""perfmodel's search on a measured space: what it pays, when it is near the best, and the table of tuners."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.benchmarks import tuner
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


def test_exact_predictions_need_one_run_and_all_counts():
    found = tuner.replay(table(), STENCIL.space)
    assert found["counting_s"] == pytest.approx(110 * 0.75)
    assert (found["near"].evaluations, found["near"].seconds) == (1, pytest.approx(110 * 0.75 + 11.0))
    assert found["end"]["times_the_best"] == 1.0
    assert found["end"]["evaluations"] <= 3


def test_wrong_predictions_need_more():
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
    from dataclasses import replace

    from perfmodel.kernels.space import Space
    from perfmodel.tuning.tuning import TUNE

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
