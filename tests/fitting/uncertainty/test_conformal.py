"""Conformal intervals, rows left out by groups, and what lies far outside of what was measured."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from perfmodel.errors import LevelError
from perfmodel.fitting.design import Design, stack
from perfmodel.fitting.heldout import Refits, Unseen
from perfmodel.fitting.uncertainty.conformal import Conformal, calibrate, scaled
from perfmodel.fitting.uncertainty.measured_range import Measured, measured_range
from perfmodel.models import Family
from perfmodel.models.binding import bind

# Of two groups and the one to come each has a third: a's rows 1/6 each, b's row 1/3.
SCORES = Conformal(scores=(0.1, 0.3, 0.2), groups=("a", "a", "b"))


@pytest.mark.parametrize(
    ("level", "q"), [(0.1, 0.1), (1 / 6, 0.1), (0.2, 0.2), (0.5, 0.2), (0.51, 0.3), (2 / 3, 0.3), (0.67, math.inf)]
)
def test_quantiles_by_hand(level, q):
    assert q == SCORES.quantile(level)


def test_a_prediction_that_is_not_above_zero_has_no_score():
    found = calibrate(
        Unseen(np.array([2.0, -1.0, np.nan, 0.0]), ((), (), ("launches",), ())), [1.0] * 4, ["a", "b", "c", "d"]
    )
    assert Conformal(scores=(math.log(2),), groups=("a",), withheld=3) == found
    assert "1 groups of kernels give bounds up to 50.0%" == found.limits
    assert found == Conformal.model_validate_json(json.dumps(found.model_dump(mode="json")))


def test_the_scores_of_a_group_do_not_judge_itself():
    # without a, b's row has half of what is there, and the group to come the other half
    assert (0.2, math.inf) == (SCORES.without("a").quantile(0.5), SCORES.without("a").quantile(0.51))
    assert SCORES == SCORES.without("nowhere")


def test_without_scores_there_are_no_bounds():
    assert math.inf == Conformal(scores=(), groups=()).quantile(0.5)


@pytest.mark.parametrize("level", [0, 1, -0.5, 90, math.nan])
def test_a_level_that_is_no_probability(level):
    with pytest.raises(LevelError) as caught:
        SCORES.quantile(level)
    assert level is caught.value.found


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
    # the guarantee is 90 % or more; 20 groups make it at most 2/21 more
    assert 0.88 <= np.mean(inside) <= 0.97


TOY = Family("toy", "nowhere", ("a", "b", "c"))


def rows(names, matrix, times, labels) -> Design:
    """A design of the toy with equal weights of its rows."""
    return Design(bind(TOY, names), matrix, times, tuple(labels), 16, np.ones(len(times)))


def table() -> Design:
    """Six rows of three groups; the last group alone exercises the third feature."""
    matrix = np.array([[1, 1, 0], [1, 5, 0], [1, 2, 0], [1, 9, 0], [1, 1, 4], [1, 3, 0]], dtype=float)
    return rows("abc", matrix, matrix @ [1e-5, 2e-6, 3e-6], "uvwxyz")


def test_rows_are_predicted_without_their_group():
    found = Refits(table(), TOY).left_out(["one", "one", "two", "two", "three", "three"])
    assert ((), (), (), (), ("c",), ()) == found.needs
    assert [True] * 4 + [False, True] == found.known.tolist()
    assert pytest.approx(table().times[found.known], rel=1e-9) == found.seconds[found.known]


def test_rows_that_no_fit_may_see():
    """The last rows' times are wrong: a fit that saw them would mispredict the others."""
    wrong = replace(table(), times=table().times * [1, 1, 1, 1, 9, 9])
    found = Refits(wrong, TOY).left_out(["one", "one", "two", "two", "two", "new"], fitted=np.arange(4))
    assert ((), (), (), (), ("c",), ()) == found.needs
    assert pytest.approx(table().times[found.known], rel=1e-9) == found.seconds[found.known]
    assert (("c",), ()) == found.of(np.array([4, 5])).needs


def test_rows_without_a_fold_are_in_every_fit_and_not_predicted():
    found = Refits(table(), TOY).left_out([0, None, None, None, None, None])
    assert pytest.approx(table().times[0], rel=1e-9) == found.seconds[0]
    assert np.isnan(found.seconds[1:]).all()


def test_too_few_rows_to_fit_withhold_everything():
    found = Refits(table(), TOY).left_out([0, 0, 0, 0, 1, 1])  # two rows for three features
    assert (*[("a", "b")] * 4, ("c",), ()) == found.needs


def test_joined_designs_have_the_columns_of_both():
    found = stack(table(), rows("b", np.array([[2.0]]), np.array([1.0]), "p"), TOY)
    assert (7, 3) == found.matrix.shape
    assert [0.0, 2.0, 0.0] == found.matrix[6].tolist()
    assert "p" == found.labels[6]


def test_the_range_of_what_was_measured():
    expected = Measured(seconds=(1.2e-5, 2.8e-5), features={"a": (1, 1), "b": (1, 9), "c": (4, 4)})
    found = measured_range(table())
    assert expected.features == found.features
    assert pytest.approx(expected.seconds) == found.seconds


LIMITS = Measured(seconds=(1e-5, 1e-3), features={"a": (1.0, 1.0), "b": (10.0, 1000.0)})


@pytest.mark.parametrize(
    ("seconds", "b", "expected"),
    [
        (1e-4, 500.0, []),
        (1e-4, 10_000.0, []),  # ten times the largest is not beyond it
        (1e-2, 10_001.0, ["b is 1e+04, measured were 10 to 1e+03"]),
        (1.1e-2, 500.0, ["predicted time is 0.011, measured were 1e-05 to 0.001 [s]"]),
        (0.9e-6, 500.0, ["predicted time is 9e-07, measured were 1e-05 to 0.001 [s]"]),
        (1e-5, 0.5, ["b is 0.5, measured were 10 to 1e+03"]),
        (1e-3, 0.5, []),  # makes up less than 1 % of the time
        (1e-4, 0.0, []),
    ],
)
def test_what_lies_far_outside(seconds, b, expected):
    assert expected == list(LIMITS.far_outside(seconds, {"a": 1e-6, "b": 1e-6}, {"a": 1.0, "b": b}))


def test_what_lies_far_outside_of_many_sizes():
    b = np.array([100.0, 20_000.0, 40_000.0])
    found = list(LIMITS.far_outside(1e-6 * b, {"b": 1e-6}, {"a": np.zeros(3), "b": b}))
    assert [
        "predicted time is 0.02 to 0.04 at 2 of 3 sizes, measured were 1e-05 to 0.001 [s]",
        "b is 2e+04 to 4e+04 at 2 of 3 sizes, measured were 10 to 1e+03",
    ] == found
