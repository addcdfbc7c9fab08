"""The verdict on a device: figures worked out by hand, and each threshold on both sides."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from perfmodel.compare import Figures, summarise
from perfmodel.compare.figures import judge

GOOD = Figures(cases=20, withheld=0, error=0.12, choices=5, tau=0.8, top1=0.8, regret=1.02)


def test_figures_of_nothing():
    verdict = judge(summarise(()))
    assert "usable neither to time nor to rank" == verdict.text
    (reason,) = verdict.reasons
    assert "no test kernel is measured" in reason


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "usable to time and to rank"), ({"error": 0.25}, "usable to time and to rank"),
        ({"error": 0.2501}, "usable to rank, not to time"), ({"error": math.nan}, "usable to rank, not to time"),
        ({"cases": 7}, "usable to rank, not to time"), ({"tau": 0.59}, "usable to time, not to rank"),
        ({"regret": 1.11}, "usable to time, not to rank"), ({"choices": 2}, "usable to time, not to rank"),
        ({"choices": 0, "tau": math.nan, "regret": math.nan}, "usable to time, not to rank"),
        ({"withheld": 3}, "usable neither to time nor to rank"),
    ],
)  # fmt: skip
def test_each_threshold(changes, expected):
    verdict = judge(replace(GOOD, **changes))
    assert expected == verdict.text
    assert (" time" in expected.replace("not to time", "").replace("neither to time", "")) == verdict.to_time


@pytest.mark.parametrize(("error", "to_time"), [(0.25, True), (0.26, False), (math.nan, False)])
def test_random_samples_must_be_predicted_well_too_to_time(error, to_time):
    verdict = judge(GOOD, Figures(cases=300, withheld=10, error=error))
    assert (to_time, True) == (verdict.to_time, verdict.to_rank)
    assert any(reason.startswith("290 of 300 random samples predicted") for reason in verdict.reasons)


def test_reasons_give_the_figures_and_the_thresholds():
    text = "\n".join(judge(GOOD).reasons)
    for part in ("20 of 20 cases", "12.0 %", "at most 25 %", "tau 0.80", "1.02", "at most 1.1", "80 %", "5 choices"):
        assert part in text
