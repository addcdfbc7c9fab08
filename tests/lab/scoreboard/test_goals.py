"""Figures held against goals: each limit from both sides."""

from __future__ import annotations

import math

import pytest

from scripts.lab.scoreboard.goals import hold
from tests.lab.scoreboard.scored import scoring


def met(found):
    return {one.name: one.met for one in found}


@pytest.mark.parametrize(
    ("name", "kept", "missed"),
    [
        ("error", {"error": 0.12}, {"error": 0.121}),
        ("factor - 1", {"factor": 0.15}, {"factor": math.inf}),
        ("regret", {"regret": 1.05}, {"regret": 1.051}),
        ("top-1", {"top1_tied": 0.7, "top1": 0.1}, {"top1_tied": 0.69, "top1": 0.9}),
        ("tau", {"tau": 0.8}, {"tau": 0.79}),
        ("coverage", {"inside": 0.85}, {"inside": 0.96}),
        ("coverage", {"inside": 0.95}, {"inside": 0.84}),
        ("width", {"width": 1.99}, {"width": 2.0}),
        ("withheld", {"withheld": 0}, {"withheld": 1}),
        ("fit", {"fit_s": 29.0}, {"fit_s": 30.0}),
        ("predict", {"predict_s": 9.9e-5}, {"predict_s": 1e-4}),
        ("error", {"error": 0.05}, {"error": math.nan}),
    ],
)
def test_limits(name, kept, missed):
    assert met(hold(scoring(**kept)))[name]
    assert not met(hold(scoring(**missed)))[name]


def test_the_error_may_be_half_as_large_again_as_what_oracle_factors_leave():
    assert not met(hold(scoring(error=0.14)))["error"]
    found = hold(scoring(error=0.14), floor=0.1)[0]
    assert (True, "at most 15.0 %") == (found.met, found.goal)
    assert "at most 12.0 %" == hold(scoring(), floor=0.05)[0].goal
