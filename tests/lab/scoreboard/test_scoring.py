"""Rows of the scoreboard on planted times: which kernels they see, their figures by hand, and noise."""

import math
from dataclasses import replace

import pytest

from perfmodel.compare import Comparison
from perfmodel.models import Family
from perfmodel.models.model import Weight
from scripts.lab.scoreboard.ideas import Idea
from scripts.lab.scoreboard.oracle import oracle_error
from scripts.lab.scoreboard.scored_device import ALL, MEASURED, PAPER, TESTS
from scripts.lab.scoreboard.scoring import SCORED, score
from scripts.lab.scoreboard.top_choices import noise_of, top1_within_noise
from tests.lab.scoreboard.scored import IDEA, STAMP, device
from tests.standins import Row, Rows

NEEDY = Family(
    "needy", "by hand", quantities=lambda case: {"speed": case.fact("unheard_of")}, units={"speed": ""},
    weights=(Weight("w_a", "s"),), expression="w_a * speed",
)  # fmt: skip


def rows(found):
    return {(one.protocol, one.kernels): one for one in found}


def test_figures_by_hand():
    found = rows(score(device(noise={"adding": 0.03}), IDEA, STAMP))
    a, b, groups = found["A", TESTS], found["B", TESTS], found["groups", MEASURED]
    # The fit is exact (which counts as 0.1 %), but for one of four cases, which was planted twice as slow.
    assert pytest.approx((1e-3**3 * 0.5) ** 0.25) == a.error
    assert pytest.approx((1e-3**3 * 1.0) ** 0.25) == a.factor
    # Both orders of "adding" are predicted alike: one at random is chosen; the slower one takes twice as long.
    assert (1, pytest.approx(2**0.5), 0.5, 0.5, 0.0) == (a.choices, a.regret, a.top1, a.top1_tied, a.tau)
    assert pytest.approx(1e-3) == a.oracle  # only "copying" has two sizes
    assert (0, 2) == (a.withheld, b.withheld)  # without sums nothing adds
    assert (0, True) == (groups.choices, math.isnan(groups.regret))
    assert a.weights > 0
    assert all(one.fit_s > 0 and one.predict_s > 0 and one.score_s > one.fit_s for one in found.values())
    assert ("2026-01-02", "abc1234", "toy", False) == (a.date, a.commit, a.device, a.simulated)


def test_the_papers_kernels_change_nothing_unless_they_are_asked_for():
    plain = device()
    slower = tuple(replace(row, seconds=row.seconds * (1 + 9 * (row.kernel == "other"))) for row in plain.tests.rows)
    changed = replace(plain, tests=type(plain.tests)(slower, plain.tests.counts))

    def figures(own):
        return [replace(one, fit_s=0, predict_s=0, score_s=0) for one in score(own, IDEA, STAMP)]

    assert repr(figures(plain)) == repr(figures(changed))  # NaN is not equal to itself


def test_the_papers_kernels_when_they_are_asked_for():
    found = rows(score(device(), IDEA, STAMP, paper=True))
    assert [(name, kernels) for name in SCORED for kernels in (PAPER, ALL)] == list(found)
    assert (1, 5) == (found["A", PAPER].cases, found["A", ALL].cases)
    assert pytest.approx(1e-3) == found["A", PAPER].error
    assert pytest.approx((1e-3**4 * 0.5) ** 0.2) == found["A", ALL].error


def test_a_model_that_cannot_be_fitted_has_its_problem():
    (only,) = score(device(), Idea("needy", NEEDY), STAMP)
    assert "unheard_of" in only.problem
    assert ("needy", "", True) == (only.model, only.protocol, math.isnan(only.error))


def test_a_factor_mends_the_price_of_each_variant_and_not_the_scaling():
    # t/p is 1 and 4: the factor is their geometric mean, 2. Then 2 instead of 1 errs by 1, and 2 instead of 4 by 1/2.
    rows = [Comparison("a", {"n": 1}, 1.0, 1.0), Comparison("a", {"n": 2}, 4.0, 1.0)]
    assert pytest.approx(math.sqrt(1 * 0.5)) == oracle_error(rows)
    rows = [
        Comparison("a", {"n": n}, factor * n, float(n), variant={"tile": tile})
        for tile, factor in ((8, 3.0), (16, 0.2))
        for n in (1, 2)
    ]
    assert pytest.approx(1e-3) == oracle_error(rows)  # nothing is left, which counts as 0.1 %


def test_what_has_no_factor_is_left_out():
    single = Comparison("b", {"n": 1}, 5.0, 1.0)
    withheld = Comparison("a", {"n": 4}, 5.0, None, ("op_float32_add",))
    below = Comparison("a", {"n": 8}, 5.0, -1.0)
    pair = [Comparison("a", {"n": 1}, 1.0, 1.0), Comparison("a", {"n": 2}, 4.0, 1.0)]
    assert oracle_error(pair) == oracle_error([*pair, single, withheld, below])
    assert math.isnan(oracle_error([single, withheld, below]))


def variants_of(*pairs: tuple[float, float]) -> list[Comparison]:
    return [
        Comparison("a", {"n": 1}, measured, predicted, variant={"v": place})
        for place, (measured, predicted) in enumerate(pairs)
    ]


def noise(*shares: float) -> dict[tuple[str, str, str], float]:
    return {("a", f"v={place}", "n=1"): share for place, share in enumerate(shares)}


@pytest.mark.parametrize(("shares", "expected"), [
    ((0.0, 0.0), 0.0), ((0.04, 0.0), 0.0), ((0.05, 0.0), 1.0), ((0.0, 0.05), 1.0),
])  # fmt: skip
def test_the_chosen_one_may_be_slower_by_the_larger_noise(shares, expected):
    # the second one is chosen, and takes 4.5 % longer
    assert expected == top1_within_noise(variants_of((1.0, 2.0), (1.045, 1.0)), noise(*shares))


def test_noise_is_at_least_the_usual_disagreement_of_visits():
    shares = (0.01, 0.02, 0.09, math.nan)
    measured = Rows(
        tuple(Row("a", {"n": 1}, 1.0, "", {"v": i}, disagreement=share) for i, share in enumerate(shares)), {}
    )
    # the median of 0.01, 0.02 and 0.09 is 0.02
    assert noise(0.02, 0.02, 0.09, 0.02) == noise_of(measured)
    once = Rows((Row("a", {"n": 1}, 1.0, "", {"v": 0}),), {})
    assert noise(0.0) == noise_of(once)
