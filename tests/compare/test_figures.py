"""Errors of times and the cost of choices, each worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from perfmodel.compare import Choice, Comparison, choices, summarise


@pytest.mark.parametrize(
    ("measured", "predicted", "tau", "regret"),
    [
        ((1.0, 2.0, 3.0), (10.0, 20.0, 30.0), 1.0, 1.0),
        ((1.0, 2.0, 3.0), (3.0, 2.0, 1.0), -1.0, 3.0),
        ((1.0, 2.0, 3.0), (2.0, 1.0, 3.0), 1 / 3, 2.0),  # of three pairs one is wrong
        ((1.0, 2.0, 3.0, 4.0, 5.0), (2.0, 4.0, 1.0, 3.0, 5.0), 4 / 10, 3.0),  # of ten pairs three
        ((1.0, 4.0), (5.0, 5.0), 0.0, 2.0),  # a tie tells nothing: one of both at random
        ((2.0, 1.0, 8.0), (5.0, 6.0, 5.0 + 1e-15), -1 / 3, 4.0),  # sums may differ in the last digit
    ],
)
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


def test_variants_of_one_kernel_at_the_same_sizes_are_alternatives():
    assert (Choice((1.0, 2.0), (1.1, 2.2)), Choice((4.0, 2.0), (3.6, 4.0))) == choices(ROWS)


def test_a_case_that_is_not_ranked_has_an_error_and_is_no_alternative():
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


def test_a_lucky_hit_counts_as_a_tenth_of_a_per_cent():
    assert pytest.approx(1e-3) == summarise([Comparison("a", {}, 1.0, 1.0)]).factor


def test_a_prediction_at_or_below_zero_has_an_infinite_factor():
    found = summarise([Comparison("a", {}, 1.0, 1.1), Comparison("a", {}, 1.0, -0.5)])
    assert math.inf == found.factor
    assert pytest.approx(math.sqrt(0.1 * 1.5)) == found.error


def test_figures_of_nothing():
    found = summarise(())
    assert (0, 0, 0, 0.0) == (found.cases, found.withheld, found.choices, found.coverage)
    assert all(math.isnan(value) for value in (found.error, found.factor, found.median, found.tau, found.width))


def test_the_mean_factor_is_as_far_above_as_below():
    """A half and twice the time are both off by 2, and 8 times by 8: the geometric mean is (2*2*8)^(1/3)."""
    rows = [Comparison("k", {"n": n}, 1.0, predicted) for n, predicted in enumerate((0.5, 2.0, 8.0, None))]
    assert pytest.approx(32 ** (1 / 3)) == summarise(rows).mean_factor
    assert math.isnan(summarise(rows[3:]).mean_factor)
