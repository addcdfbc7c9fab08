"""Errors of times, the cost of choices, and the verdict on a device, each worked out by hand."""

import math
from dataclasses import replace

import pytest

from perfmodel.compare import Choice, Comparison, Figures, choices, summarise
from perfmodel.compare.comparison import judge


@pytest.mark.parametrize(("measured", "predicted", "tau", "regret"), [
    ((1.0, 2.0, 3.0), (10.0, 20.0, 30.0), 1.0, 1.0),
    ((1.0, 2.0, 3.0), (3.0, 2.0, 1.0), -1.0, 3.0),
    ((1.0, 2.0, 3.0), (2.0, 1.0, 3.0), 1 / 3, 2.0),  # of three pairs one is wrong
    ((1.0, 2.0, 3.0, 4.0, 5.0), (2.0, 4.0, 1.0, 3.0, 5.0), 4 / 10, 3.0),  # of ten pairs three
    ((1.0, 4.0), (5.0, 5.0), 0.0, 2.0),  # after a tie, one of both is chosen at random
    ((2.0, 1.0, 8.0), (5.0, 6.0, 5.0 + 1e-15), -1 / 3, 4.0),  # sums may differ in the last digit
])  # fmt: skip
def test_one_choice(measured, predicted, tau, regret):
    choice = Choice(measured, predicted)
    assert pytest.approx(tau) == choice.tau
    assert pytest.approx(regret) == choice.regret
    turned = Choice(measured[::-1], predicted[::-1])
    assert pytest.approx((choice.regret, choice.top1)) == (turned.regret, turned.top1)


def test_a_random_choice():
    """Of the times 1, 2 and 4 the geometric mean is 2; of 3 and 12 it is 6, twice the best one."""
    rows = [Comparison("a", {"n": 1}, time, 1.0) for time in (1.0, 2.0, 4.0)]
    rows += [Comparison("a", {"n": 2}, time, time) for time in (3.0, 12.0)]
    rows += [Comparison("b", {"n": 2}, 5.0, 1.0)]  # no choice
    found = summarise(rows)
    assert pytest.approx((2 * 2) ** 0.5) == found.random_regret
    assert pytest.approx((1 / 3 + 1 / 2) / 2) == found.random_top1
    # the first kernel's ties tell nothing: its choice is a random one; that of the second is right
    assert pytest.approx((2**0.5, (1 / 3 + 1) / 2, 0.5)) == (found.regret, found.top1, found.tau)


ROWS = (
    Comparison("a", {"n": 1}, 1.0, 1.1, variant={"v": 1}, interval=(0.55, 2.2)),
    Comparison("a", {"n": 1}, 2.0, 2.2, variant={"v": 2}, interval=(2.1, 2.3)), Comparison("a", {"n": 2}, 4.0, 3.6),
    Comparison("a", {"n": 2}, 2.0, 4.0), Comparison("a", {"n": 2}, 9.0, None, ("op_float32_add",)),
    Comparison("b", {"n": 1}, 1.0, 1.1),
)  # fmt: skip


def test_variants_of_one_kernel_at_the_same_sizes_are_alternatives_if_they_are_ranked():
    assert (Choice((1.0, 2.0), (1.1, 2.2)), Choice((4.0, 2.0), (3.6, 4.0))) == choices(ROWS)
    first, *rows = ROWS
    left = [replace(first, ranked=False), *rows]
    assert (Choice((4.0, 2.0), (3.6, 4.0)),) == choices(left)
    assert (summarise(ROWS).error, 1) == (summarise(left).error, summarise(left).choices)


def test_figures_of_a_few_rows():
    found = summarise(ROWS)
    assert (6, 1, 2) == (found.cases, found.withheld, found.choices)
    assert pytest.approx(5 / 6) == found.coverage
    assert pytest.approx((0.1**4 * 1.0) ** 0.2) == found.error
    assert pytest.approx((0.1**3 * (4 / 3.6 - 1) * 1.0) ** 0.2) == found.factor
    assert pytest.approx(0.1) == found.median
    assert pytest.approx(0.1 + 0.6 * 0.9) == found.p90  # between the fourth and the fifth
    assert (0.0, 0.5) == (found.tau, found.top1)
    assert pytest.approx(math.sqrt(2.0)) == found.regret
    assert 0.5 == found.inside
    assert pytest.approx((4.0 + 2.3 / 2.1) / 2) == found.width


def test_figures_of_a_lucky_hit_of_a_negative_prediction_and_of_nothing():
    assert pytest.approx(1e-3) == summarise([Comparison("a", {}, 1.0, 1.0)]).factor
    found = summarise([Comparison("a", {}, 1.0, 1.1), Comparison("a", {}, 1.0, -0.5)])
    assert math.inf == found.factor
    assert pytest.approx(math.sqrt(0.1 * 1.5)) == found.error
    found = summarise(())
    assert (0, 0, 0, 0.0) == (found.cases, found.withheld, found.choices, found.coverage)
    assert all(math.isnan(value) for value in (found.error, found.factor, found.median, found.tau, found.width))
    # A half and twice the time are both off by 2, and 8 times by 8: the geometric mean is (2*2*8)^(1/3)
    rows = [Comparison("k", {"n": n}, 1.0, predicted) for n, predicted in enumerate((0.5, 2.0, 8.0, None))]
    assert pytest.approx(32 ** (1 / 3)) == summarise(rows).mean_factor
    assert math.isnan(summarise(rows[3:]).mean_factor)


GOOD = Figures(cases=20, withheld=0, error=0.12, choices=5, tau=0.8, top1=0.8, regret=1.02)


def test_reasons_give_the_figures_and_the_thresholds_also_of_nothing():
    verdict = judge(summarise(()))
    assert "usable neither to time nor to rank" == verdict.text
    (reason,) = verdict.reasons
    assert "no test kernel is measured" in reason
    text = "\n".join(judge(GOOD).reasons)
    for part in ("20 of 20 cases", "12.0 %", "at most 25 %", "tau 0.80", "1.02", "at most 1.1", "80 %", "5 choices"):
        assert part in text


@pytest.mark.parametrize(("changes", "expected"), [
    ({}, "usable to time and to rank"), ({"error": 0.25}, "usable to time and to rank"),
    ({"error": 0.2501}, "usable to rank, not to time"), ({"error": math.nan}, "usable to rank, not to time"),
    ({"cases": 7}, "usable to rank, not to time"), ({"tau": 0.59}, "usable to time, not to rank"),
    ({"regret": 1.11}, "usable to time, not to rank"), ({"choices": 2}, "usable to time, not to rank"),
    ({"choices": 0, "tau": math.nan, "regret": math.nan}, "usable to time, not to rank"),
    ({"withheld": 3}, "usable neither to time nor to rank"),
])  # fmt: skip
def test_each_threshold(changes, expected):
    verdict = judge(replace(GOOD, **changes))
    assert expected == verdict.text
    assert (" time" in expected.replace("not to time", "").replace("neither to time", "")) == verdict.to_time


@pytest.mark.parametrize(("error", "to_time"), [(0.25, True), (0.26, False), (math.nan, False)])
def test_random_samples_must_be_predicted_well_too_to_time(error, to_time):
    verdict = judge(GOOD, Figures(cases=300, withheld=10, error=error))
    assert (to_time, True) == (verdict.to_time, verdict.to_rank)
    assert any(reason.startswith("290 of 300 random samples predicted") for reason in verdict.reasons)
