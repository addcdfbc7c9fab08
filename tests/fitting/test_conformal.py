"""Conformal intervals and their scales: by hand, and on drawn groups that differ."""

import json
import math

import numpy as np
import pytest

from perfmodel.errors import OptionError
from perfmodel.fitting import conformal
from tests.fitting import by_hand

# Of two groups each has a half: a's rows 1/4 each, b's row 1/2. They give bounds up to 2/3.
SCORES = conformal.Conformal(scores=(0.1, 0.3, 0.2), groups=("a", "a", "b"))


@pytest.mark.parametrize(("level", "q"), [(0.1, 0.1), (1 / 4, 0.1), (0.26, 0.2), (2 / 3, 0.2), (0.67, math.inf)])
def test_quantiles_by_hand(level, q):
    assert q == SCORES.quantile(level)


def test_bounds_are_factors_of_a_prediction_and_one_that_is_not_positive_has_no_score():
    unseen = conformal.Unseen(np.array([2.0, -1.0, np.nan, 0.0]), ((), (), ("launches",), ()))
    found = conformal.calibrate(unseen, [1.0] * 4, ["a", "b", "c", "d"])
    assert conformal.Conformal(scores=(math.log(2),), groups=("a",), withheld=3) == found
    assert found == conformal.Conformal.model_validate_json(json.dumps(found.model_dump(mode="json")))
    low, high = conformal.scaled([1.0, 8.0, 0.0, -1.0], SCORES.quantile(0.5))
    factor = math.exp(0.2)
    assert pytest.approx([1 / factor, 8 / factor, 0, 0]) == low
    assert pytest.approx([factor, 8 * factor, math.inf, math.inf]) == high
    assert [0.0, math.inf] == [float(bound) for bound in conformal.scaled(3.0, math.inf)]


def test_the_scores_of_a_group_do_not_judge_itself():
    # without a, one group is left, which gives bounds up to a half
    assert (0.2, math.inf) == (SCORES.without("a").quantile(0.5), SCORES.without("a").quantile(0.51))
    assert SCORES == SCORES.without("nowhere")
    assert math.inf == conformal.Conformal(scores=(), groups=()).quantile(0.5)


@pytest.mark.parametrize("level", [0, 1, -0.5, 90, math.nan])
def test_a_level_outside_of_0_to_1_is_refused(level):
    with pytest.raises(OptionError, match="level is"):
        SCORES.quantile(level)


def test_coverage_on_groups_that_differ():
    """New groups are drawn as the measured ones were: their rows share an error of their group."""
    generator = np.random.default_rng(5)
    inside = []
    for _ in range(400):
        sizes = generator.integers(1, 12, 21)
        groups = np.repeat(np.arange(21), sizes)
        errors = 0.4 * generator.standard_normal(21)[groups] + 0.1 * generator.standard_normal(len(groups))
        known = groups < 20
        scores = conformal.Conformal(scores=tuple(abs(errors[known]).tolist()), groups=tuple(map(str, groups[known])))
        inside.append(np.mean(abs(errors[~known]) <= scores.quantile(0.9)))
    # the guarantee is 90 % times 20/21 or more; 20 groups make it at most 2/21 more
    assert 0.857 <= np.mean(inside) <= 0.95


SUPPORT = {"launches": 1.5, "op_float32_add": 0.2}


def drawn(generator, groups: int, slopes: tuple[float, float, float] = (-1.0, 1.0, 0.0)):
    """Rows that rest on two weights and on private data, with exponential errors of mean exp(slopes times these) / 10.

    Each group has a lack of support of its own, which says nothing.
    """
    own = np.repeat(np.arange(groups), generator.integers(2, 12, groups))
    share = np.clip(generator.uniform(-0.3, 1.3, groups)[own] + generator.uniform(-0.2, 0.2, len(own)), 0, 1)
    private = 1024 * generator.uniform(0, 1.2, groups)[own]
    lack = generator.uniform(0.5, 1.5, groups)[own]
    scale = np.exp(slopes[0] * share + slopes[1] * (1 - share) + slopes[2] * np.minimum(private / 1024, 1)) / 10
    return own, share, private, lack, generator.exponential(scale)


def scores_of(own, share, private, lack, errors) -> conformal.Conformal:
    """Conformal scores of rows that are predicted at one second."""
    unseen = conformal.Unseen(np.ones(len(own)), ((),) * len(own), np.stack([share, 1 - share], axis=1), lack, private)
    return conformal.calibrate(unseen, np.exp(errors), [f"g{i}" for i in own], SUPPORT)


@pytest.mark.parametrize("seed", range(3))
def test_in_plain_loops(seed):
    own, share, private, lack, errors = drawn(np.random.default_rng(seed), 9)
    rows = [
        (max(e, 1e-3), f"g{g}", by_hand.columns((s, 1 - s), u, v))
        for e, g, s, u, v in zip(errors.tolist(), own, share.tolist(), lack.tolist(), private.tolist(), strict=True)
    ]
    scores, ridge = scores_of(own, share, private, lack, errors), by_hand.best_ridge(rows)
    assert ridge is not None
    assert scores.scale is not None
    expected = by_hand.slopes(rows, ridge)
    found = [*(weight.slope for weight in scores.scale.weights.values()), scores.scale.lack, scores.scale.private]
    assert pytest.approx(expected, abs=1e-7) == found
    assert pytest.approx(by_hand.scales(rows, ridge), abs=1e-6) == np.log(scores.scales).tolist()
    q, half = scores.quantile(0.8), by_hand.half_width(rows, 0.8)
    for shares in ((0.75, 0.25), (0.1, 0.9)):
        at = by_hand.columns(shares, by_hand.lack(shares, tuple(SUPPORT.values())), 300.0)
        by_weight = {"launches": 4e-6 * shares[0], "op_float32_add": -4e-6 * shares[1]}
        assert pytest.approx(half(at), rel=1e-6) == scores.half_width(q, by_weight, 300.0)


def test_planted_scales_come_out():
    """Of exponential errors of mean m, 90 % are below m log(10): the width is known, and so is what it depends on."""
    scores = scores_of(*drawn(np.random.default_rng(3), 600, slopes=(-1.0, 0.5, 1.0)))
    assert scores.scale is not None
    slope = {name: weight.slope for name, weight in scores.scale.weights.items()}
    assert pytest.approx(1.5, abs=0.15) == slope["op_float32_add"] - slope["launches"]  # shares add up to 1
    assert pytest.approx(1.0, abs=0.15) == scores.scale.private
    assert pytest.approx(0.0, abs=0.15) == scores.scale.lack
    for share, private in ((0.0, 0.0), (0.5, 512.0), (1.0, 2048.0)):
        mean = math.exp(-share + 0.5 * (1 - share) + min(private / 1024, 1)) / 10
        by_weight = {"launches": share, "op_float32_add": 1 - share}
        found = scores.half_width(scores.quantile(0.9), by_weight, private, lack=1.0)
        assert pytest.approx(mean * math.log(10), rel=0.12) == found


def test_one_width_for_all_where_nothing_tells_them_apart():
    columns = np.array([[0.25, 0.75, 0.0, 0.0]] * 4)
    assert conformal.fit_local_scale(np.array([0.1, 0.4, 0.2, 0.3]), ["a", "a", "b", "c"], columns, SUPPORT) is None
    assert conformal.fit_local_scale(np.array([0.1, 0.4]), ["a", "a"], columns[:2], SUPPORT) is None
    assert conformal.fit_local_scale(np.zeros(0), [], columns[:0], SUPPORT) is None


KNOWN = {
    "launches": conformal.WeightScale(slope=-1.0, support=3.7),
    "op_float32_add": conformal.WeightScale(slope=2.0, support=0.7),
}
SCALE = conformal.LocalScale(constant=0.25, lack=0.5, private=1.5, weights=KNOWN)


def test_arrays_equal_points():
    launches, added = np.array([1.0, 0.0, 2.0, 0.0, np.inf, np.nan]), np.array([0.0, 3.0, -2.0, 0.0, 1.0, 1.0])
    found = SCALE.of({"launches": launches, "op_float32_add": added, "known": 7.0}, 512)
    one_each = [
        SCALE.of({"launches": float(a), "op_float32_add": float(b), "known": 7.0}, 512)
        for a, b in zip(launches, added, strict=True)
    ]
    mixed, unknown = 0.5 + 0.25 * math.log(0.25 / 4 + 0.25), -0.25 * math.log(0.3)
    expected = np.array([-1 + 0.5 * math.log(0.5), 2.0, mixed, unknown, unknown, unknown]) + 0.75 - 0.25
    assert pytest.approx(np.exp(expected)) == found
    assert found.tolist() == pytest.approx(one_each)
    given = SCALE.of({"launches": launches, "op_float32_add": added}, lack=np.full(6, 4.0))
    assert pytest.approx(np.exp(np.array([-1, 2, 0.5, 0, 0, 0]) + 0.5 * math.log(4) - 0.25)) == given
    assert pytest.approx(math.exp(2 + 0.5 * math.log(4) - 0.25)) == SCALE.of({"op_float32_add": 3.0}, lack=4.0)


def test_the_reason_is_what_adds_most():
    """Slopes times shares, lack and private data, by hand; a lack counts from the least that there can be."""
    assert "op_float32_add are predicted badly" in SCALE.reason({"op_float32_add": 1.0}, 512)  # 2, 0.35, 0.75
    assert "hold 2048 bytes of private data" in SCALE.reason({"launches": 1.0}, 2048)  # -1, 0, 1.5
    thin = SCALE.model_copy(update={"lack": 4.0})
    assert "few measured kernels are like this one" == thin.reason({"op_float32_add": 1.0}, 512)  # 2, 2.8, 0.75


def test_coverage_and_width_on_groups_that_differ():
    """New groups are drawn as the measured ones were; launches are predicted seven times better."""
    generator = np.random.default_rng(11)
    inside, plainly, ratios, bad, plainly_bad = [], [], [], [], []
    for _ in range(120):
        own, share, private, lack, errors = drawn(generator, 31)
        old, new = own < 30, own == 30
        scores = scores_of(own[old], share[old], private[old], lack[old], errors[old])
        plain = scores.model_copy(update={"scales": None, "scale": None})
        given = {"launches": share[new], "op_float32_add": 1 - share[new]}, private[new], lack[new]
        half, wide = (each.half_width(each.quantile(0.9), *given) for each in (scores, plain))
        hits, plain_hits = errors[new] <= half, errors[new] <= wide
        inside.append(hits.mean())
        plainly.append(plain_hits.mean())
        ratios.append(np.mean(np.log(half / wide)))
        bad += hits[share[new] < 0.2].tolist()
        plainly_bad += plain_hits[share[new] < 0.2].tolist()
    assert 0.85 <= np.mean(inside) <= 0.95
    assert 0.85 <= np.mean(plainly) <= 0.95
    assert np.mean(ratios) < math.log(0.85)  # narrower in the geometric mean, with the same coverage
    assert np.mean(plainly_bad) + 0.03 < np.mean(bad) <= 0.95  # and fewer of the bad kernels are outside


@pytest.mark.parametrize("groups", [3, 8])
def test_no_bounds_from_too_few_groups(groups):
    scores = scores_of(*drawn(np.random.default_rng(1), groups))
    assert math.inf == scores.half_width(scores.quantile(0.9), {"launches": np.ones(3), "op_float32_add": np.ones(3)})
    assert math.isfinite(scores.half_width(scores.quantile(0.5), {"launches": 1.0, "op_float32_add": 1.0}))


def test_support_is_the_number_of_groups_that_determine_a_weight():
    by_weight = np.array([[1.0, 0.0], [-2.0, 2.0], [3.0, 0.0], [0.0, 0.0], [np.nan, 1.0]])
    groups = ["a", "a", "b", "c", "c"]
    shares = [(1.0, 0.0), (0.5, 0.5), (1.0, 0.0), (0.0, 0.0), (0.0, 0.0)]
    expected = by_hand.support(list(zip(groups, shares, strict=True)), 2)
    assert [(1 + 0.25) / 2 + 1, 0.25 / 2] == expected == conformal.support_of(by_weight, groups).tolist()
    # shares of well supported weights lack less; unknown shares lack most
    lacks = conformal.lack_of_support(by_weight, np.array([3.7, 0.7]))
    assert pytest.approx([0.5, math.sqrt(0.25 / 4 + 0.25 / 1), 0.5, 0.3**-0.5, 0.3**-0.5]) == lacks.tolist()
