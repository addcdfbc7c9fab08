"""Scales of conformal scores: by hand, and on drawn groups whose kernels differ in how well they are predicted."""

from __future__ import annotations

import math

import numpy as np
import pytest

from perfmodel.fitting.conformal import LocalScale, Unseen, WeightScale, calibrate, fit_local_scale
from tests.fitting import by_hand

SUPPORT = {"launches": 1.5, "op_float32_add": 0.2}


def drawn(generator, groups: int, spread: tuple[float, float] = (0.05, 0.5)):
    """Rows that rest on two weights, with errors that have the standard deviation of their shares.

    Half of their variance is of their group. Each group has a lack of support of its own, which says nothing.
    """
    own = np.repeat(np.arange(groups), generator.integers(2, 12, groups))
    share = np.clip(generator.uniform(-0.3, 1.3, groups)[own] + generator.uniform(-0.2, 0.2, len(own)), 0, 1)
    error = (generator.standard_normal(groups)[own] + generator.standard_normal(len(own))) / math.sqrt(2)
    lack = generator.uniform(0.5, 1.5, groups)[own]
    return own, share, error * (share * spread[0] + (1 - share) * spread[1]), lack


def scores_of(own, share, errors, lack):
    """Conformal scores of rows that are predicted at one second."""
    unseen = Unseen(np.ones(len(own)), ((),) * len(own), np.stack([share, 1 - share], axis=1), lack)
    return calibrate(unseen, np.exp(errors), [f"g{i}" for i in own], SUPPORT)


@pytest.mark.parametrize("seed", range(4))
def test_in_plain_loops(seed):
    own, share, errors, lack = drawn(np.random.default_rng(seed), 9)
    if seed == 1:
        lack = 0.1 + abs(errors)  # so that it tells how wrong a row is
    rows = [
        (max(abs(e), 1e-3), f"g{g}", (s, 1 - s), u)
        for e, g, s, u in zip(errors.tolist(), own, share.tolist(), lack.tolist(), strict=True)
    ]
    groups, by_weight = [row[1] for row in rows], 1e-6 * np.array([row[2] for row in rows])
    found = fit_local_scale(abs(errors), groups, by_weight, lack, SUPPORT)
    assert found is not None
    powers = by_hand.powers(rows, 2)
    assert powers == (found[0].error_power, found[0].support_power)
    assert seed != 1 or powers[1] > 0
    assert pytest.approx(by_hand.typical_errors(rows, 2)) == [found[0].weights[name].error for name in SUPPORT]
    assert pytest.approx(by_hand.scales(rows, 2, powers)) == found[1].tolist()
    conformal = scores_of(own, share, errors, lack)
    q, expected = conformal.quantile(0.8), by_hand.half_width(rows, 2, 0.8)
    for shares in ((0.75, 0.25), (0.1, 0.9)):
        missing = by_hand.lack(shares, tuple(SUPPORT.values()))
        width = conformal.half_width(q, {"launches": 4e-6 * shares[0], "op_float32_add": -4e-6 * shares[1]})
        assert pytest.approx(expected(shares, missing)) == width


def test_typical_errors_of_three_groups_by_hand():
    by_weight = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 2.0]])
    found = fit_local_scale(np.array([0.1, 0.1, 0.7]), ["a", "b", "c"], by_weight, np.ones(3), SUPPORT)
    assert found is not None
    # mean error 0.3; launches has a share of 1.5 groups, with errors 0.1 and 0.1
    expected = {"launches": (0.3 + 0.15) / 2.5 / 0.3, "op_float32_add": (0.3 + 0.05 + 0.7) / 2.5 / 0.3}
    assert pytest.approx(expected) == {name: own.error for name, own in found[0].weights.items()}
    # for the last row: mean error 0.1 of the others, and their errors are the mean
    assert pytest.approx(1.0) == found[1][2]


def test_one_width_for_all_where_nothing_tells_them_apart():
    by_weight, lack = np.array([[1.0, 3.0]] * 4), np.ones(4)
    assert fit_local_scale(np.array([0.1, 0.4, 0.2, 0.3]), ["a", "a", "b", "c"], by_weight, lack, SUPPORT) is None
    assert fit_local_scale(np.array([0.1, 0.4]), ["a", "a"], by_weight[:2], lack[:2], SUPPORT) is None
    assert fit_local_scale(np.zeros(0), [], by_weight[:0], lack[:0], SUPPORT) is None


def test_perfect_predictions_have_scales():
    unseen = Unseen(np.ones(3), ((),) * 3, np.eye(3)[:, :2], np.ones(3))
    found = calibrate(unseen, np.ones(3), ["a", "b", "c"], SUPPORT)
    assert (0.0, 0.0, 0.0) == found.scores
    assert 0.0 == found.quantile(0.7)


def known(**weights: tuple[float, float]) -> dict[str, WeightScale]:
    return {name: WeightScale(error=error, support=support) for name, (error, support) in weights.items()}


SCALE = LocalScale(error_power=0.5, support_power=1.0, weights=known(launches=(0.25, 3.7), op_float32_add=(4.0, 0.7)))


def test_arrays_equal_points():
    launches, added = np.array([1.0, 0.0, 2.0, 0.0, np.inf, np.nan]), np.array([0.0, 3.0, -2.0, 0.0, 1.0, 1.0])
    found = SCALE.of({"launches": launches, "op_float32_add": added, "known": 7.0})
    one_each = [
        SCALE.of({"launches": float(a), "op_float32_add": float(b), "known": 7.0})
        for a, b in zip(launches, added, strict=True)
    ]
    mixed, unknown = math.sqrt(4.25 / 2) * math.sqrt(0.25 / 4 + 0.25), 0.3**-0.5
    assert pytest.approx([0.5 * 0.5, 2.0 * 1.0, mixed, unknown, unknown, unknown]) == found.tolist()
    assert found.tolist() == pytest.approx(one_each)
    assert found.tolist() == SCALE.of({"launches": launches, "op_float32_add": added}).tolist()
    given = SCALE.of({"launches": launches, "op_float32_add": added}, lack=np.full(6, 2.0))
    assert pytest.approx([1.0, 4.0, 2 * math.sqrt(4.25 / 2), 2.0, 2.0, 2.0]) == given.tolist()
    assert pytest.approx(4.0) == SCALE.of({"op_float32_add": 3.0}, lack=2.0)


def test_the_more_a_prediction_rests_on_a_bad_weight_the_wider():
    shares = np.linspace(0, 1, 11)
    alone = SCALE.model_copy(update={"support_power": 0.0})
    assert (np.diff(alone.of({"launches": 1 - shares, "op_float32_add": shares})) > 0).all()


def test_the_width_rises_with_the_level():
    scores = scores_of(*drawn(np.random.default_rng(7), 20))
    by_weight = {"launches": np.array([1.0, 0.1]), "op_float32_add": np.array([0.1, 1.0])}
    widths = [scores.half_width(scores.quantile(level), by_weight) for level in np.linspace(0.05, 0.95, 19)]
    assert (np.diff(widths, axis=0) >= 0).all()
    assert widths[10][1] > widths[10][0]
    assert math.isinf(scores.half_width(scores.quantile(0.96), by_weight))


def test_coverage_and_width_on_groups_that_differ():
    """New groups are drawn as the measured ones were; what rests on launches is predicted ten times better."""
    generator = np.random.default_rng(11)
    inside, plainly, ratios, bad, plainly_bad = [], [], [], [], []
    for _ in range(300):
        own, share, errors, lack = drawn(generator, 31)
        old, new = own < 30, own == 30
        scores = scores_of(own[old], share[old], errors[old], lack[old])
        plain = scores.model_copy(update={"scales": None, "scale": None})
        by_weight = {"launches": share[new], "op_float32_add": 1 - share[new]}
        half, wide = (each.half_width(each.quantile(0.9), by_weight, lack[new]) for each in (scores, plain))
        hits, plain_hits = abs(errors[new]) <= half, abs(errors[new]) <= wide
        inside.append(hits.mean())
        plainly.append(plain_hits.mean())
        ratios.append(np.mean(np.log(half / wide)))
        bad += hits[share[new] < 0.2].tolist()
        plainly_bad += plain_hits[share[new] < 0.2].tolist()
    assert 0.88 <= np.mean(inside) <= 0.96
    assert 0.88 <= np.mean(plainly) <= 0.96
    assert np.mean(ratios) < math.log(0.85)  # narrower in the geometric mean, with the same coverage
    assert np.mean(plainly_bad) + 0.03 < np.mean(bad) <= 0.95  # and fewer of the bad kernels are outside


@pytest.mark.parametrize("groups", [3, 8])
def test_no_bounds_from_too_few_groups(groups):
    scores = scores_of(*drawn(np.random.default_rng(1), groups))
    assert math.inf == scores.half_width(scores.quantile(0.9), {"launches": np.ones(3), "op_float32_add": np.ones(3)})
    assert math.isfinite(scores.half_width(scores.quantile(0.5), {"launches": 1.0, "op_float32_add": 1.0}))
