"""The verdict on a device: figures worked out by hand, and each threshold on both sides."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from perfmodel.report import Comparison
from perfmodel.report.verdict import Choice, Figures, choices, figures, judge

GOOD = Figures(cases=20, coverage=1.0, error=0.12, choices=5, tau=0.8, top1=0.8, regret=1.02)


@pytest.mark.parametrize(
    ("measured", "predicted", "tau", "regret"),
    [
        ((1.0, 2.0, 3.0), (10.0, 20.0, 30.0), 1.0, 1.0),
        ((1.0, 2.0, 3.0), (3.0, 2.0, 1.0), -1.0, 3.0),
        ((1.0, 2.0, 3.0), (2.0, 1.0, 3.0), 1 / 3, 2.0),  # of three pairs one is wrong
        ((1.0, 2.0), (5.0, 5.0), 0.0, 1.0),  # a tie tells nothing
    ],
)
def test_one_choice(measured, predicted, tau, regret):
    choice = Choice(measured, predicted)
    assert pytest.approx(tau) == choice.tau
    assert regret == choice.regret


ROWS = (
    Comparison("a", "n=1", 1.0, 1.1),
    Comparison("a", "n=1", 2.0, 2.2),
    Comparison("a", "n=2", 4.0, 3.6),
    Comparison("a", "n=2", 2.0, 4.0),
    Comparison("a", "n=2", 9.0, None, ("op_float32_add",)),
    Comparison("b", "n=1", 1.0, 1.1),
)


def test_variants_of_one_kernel_at_the_same_sizes_are_alternatives():
    assert (Choice((1.0, 2.0), (1.1, 2.2)), Choice((4.0, 2.0), (3.6, 4.0))) == choices(ROWS)


def test_figures_of_a_few_rows():
    found = figures(ROWS)
    assert (6, 2) == (found.cases, found.choices)
    assert pytest.approx(5 / 6) == found.coverage
    assert pytest.approx((0.1**4 * 1.0) ** 0.2) == found.error
    assert (0.0, 0.5) == (found.tau, found.top1)
    assert pytest.approx(math.sqrt(2.0)) == found.regret


def test_figures_of_nothing():
    verdict = judge(figures(()))
    assert "usable neither to time nor to rank" == verdict.text
    assert verdict.reasons[0].startswith("0 of 0 cases predicted")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "usable to time and to rank"),
        ({"error": 0.25}, "usable to time and to rank"),
        ({"error": 0.2501}, "usable to rank, not to time"),
        ({"error": math.nan}, "usable to rank, not to time"),
        ({"cases": 7}, "usable to rank, not to time"),
        ({"tau": 0.59}, "usable to time, not to rank"),
        ({"regret": 1.11}, "usable to time, not to rank"),
        ({"choices": 2}, "usable to time, not to rank"),
        ({"choices": 0, "tau": math.nan, "regret": math.nan}, "usable to time, not to rank"),
        ({"coverage": 0.89}, "usable neither to time nor to rank"),
    ],
)
def test_each_threshold(changes, expected):
    verdict = judge(replace(GOOD, **changes))
    assert expected == verdict.text
    assert (" time" in expected.replace("not to time", "").replace("neither to time", "")) == verdict.to_time


def test_reasons_give_the_figures_and_the_thresholds():
    text = "\n".join(judge(GOOD).reasons)
    for part in ("20 of 20 cases", "12.0 %", "at most 25 %", "tau 0.80", "1.02", "at most 1.1", "80 %", "5 choices"):
        assert part in text
