"""Conformal intervals, by hand and on drawn groups."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from perfmodel.errors import OptionError
from perfmodel.fitting.conformal import Conformal, Unseen, calibrate, scaled

# Of two groups each has a half: a's rows 1/4 each, b's row 1/2. They give bounds up to 2/3.
SCORES = Conformal(scores=(0.1, 0.3, 0.2), groups=("a", "a", "b"))


@pytest.mark.parametrize(
    ("level", "q"), [(0.1, 0.1), (1 / 4, 0.1), (0.26, 0.2), (2 / 3, 0.2), (0.67, math.inf)]
)
def test_quantiles_by_hand(level, q):
    assert q == SCORES.quantile(level)


def test_a_prediction_that_is_not_positive_has_no_score():
    found = calibrate(
        Unseen(np.array([2.0, -1.0, np.nan, 0.0]), ((), (), ("launches",), ())), [1.0] * 4, ["a", "b", "c", "d"]
    )
    assert Conformal(scores=(math.log(2),), groups=("a",), withheld=3) == found
    assert found == Conformal.model_validate_json(json.dumps(found.model_dump(mode="json")))


def test_the_scores_of_a_group_do_not_judge_itself():
    # without a, one group is left, which gives bounds up to a half
    assert (0.2, math.inf) == (SCORES.without("a").quantile(0.5), SCORES.without("a").quantile(0.51))
    assert SCORES == SCORES.without("nowhere")
    assert math.inf == Conformal(scores=(), groups=()).quantile(0.5)


@pytest.mark.parametrize("level", [0, 1, -0.5, 90, math.nan])
def test_a_level_outside_of_0_to_1_is_refused(level):
    with pytest.raises(OptionError, match="level is"):
        SCORES.quantile(level)


def test_bounds_are_factors_of_the_prediction():
    low, high = scaled([1.0, 8.0, 0.0, -1.0], SCORES.quantile(0.5))
    factor = math.exp(0.2)
    assert pytest.approx([1 / factor, 8 / factor, 0, 0]) == low
    assert pytest.approx([factor, 8 * factor, math.inf, math.inf]) == high
    assert [0.0, math.inf] == [float(bound) for bound in scaled(3.0, math.inf)]


def test_coverage_on_groups_that_differ():
    """New groups are drawn as the measured ones were: their rows share an error of their group."""
    generator = np.random.default_rng(5)
    inside = []
    for _ in range(400):
        sizes = generator.integers(1, 12, 21)
        groups = np.repeat(np.arange(21), sizes)
        errors = 0.4 * generator.standard_normal(21)[groups] + 0.1 * generator.standard_normal(len(groups))
        known = groups < 20
        scores = Conformal(scores=tuple(abs(errors[known]).tolist()), groups=tuple(map(str, groups[known])))
        inside.append(np.mean(abs(errors[~known]) <= scores.quantile(0.9)))
    # the guarantee is 90 % times 20/21 or more; 20 groups make it at most 2/21 more
    assert 0.857 <= np.mean(inside) <= 0.95
