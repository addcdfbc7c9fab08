"""Times of the trials that found the sizes, read from the plans beside a store."""

from __future__ import annotations

import json
from pathlib import Path

from perfmodel.calibration.trials import trial_seconds
from perfmodel.store import read

COMMITTED = next(Path(__file__).parents[2].glob("fitted_weights/pocl*"))


def test_each_member_of_a_team_has_its_own_time_at_each_size(tmp_path):
    plan = {
        "schema": "perfmodel.plan/2",
        "key": json.dumps([["d", "p", "1"], [["adds", {"form": "chain"}, "h1"], ["adds", {"form": "tree"}, "h2"]], []]),
        "parameters": [{"n": 16}, {"n": 32}],
        "seconds": [0.25, 0.5],
    }
    (tmp_path / "measurements.plan.jsonl").write_text(json.dumps(plan) + "\n")
    expected = {
        ("d", "p", "adds", '{"form":"chain"}', '{"n":16}', "1", "h1"): 0.25,
        ("d", "p", "adds", '{"form":"chain"}', '{"n":32}', "1", "h1"): 0.5,
        ("d", "p", "adds", '{"form":"tree"}', '{"n":16}', "1", "h2"): 0.25,
        ("d", "p", "adds", '{"form":"tree"}', '{"n":32}', "1", "h2"): 0.5,
    }
    assert expected == trial_seconds(tmp_path)


def test_without_plans_there_are_no_trials(tmp_path):
    assert {} == trial_seconds(tmp_path)


def test_committed_plans_belong_to_committed_records():
    keys = {row.key for row in read(COMMITTED).rows}
    assert len(keys & trial_seconds(COMMITTED).keys()) > 1000
