"""Samples beside groups that are left out: they are in no fit, and half of what errors rest on is theirs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from perfmodel.compare import evaluate
from perfmodel.facts import Fact
from perfmodel.fitting import FamilyFits
from perfmodel.fitting.family_fits import error_of_kernels
from perfmodel.models import find_family
from perfmodel.predicting.model import fit
from perfmodel.quantities.case import Case
from tests.fitting.test_family_fits import noisy
from tests.fitting.test_family_fits_chosen_facts import FAMILY as CHOOSING, KNOWN, measured
from tests.fitting.test_family_fits_weights import KERNELS
from tests.standins import Rows

FAMILY = find_family("stevens_kloeckner_2016")


def samples() -> Rows:
    """Every second row, twice as slow, as kernels of their own: eight samples."""
    rows = [replace(row, seconds=2 * row.seconds, kernel=f"s{i}", group=f"s{i}")
            for i, row in enumerate(noisy().rows[::2])]  # fmt: skip
    return Rows(tuple(rows), KERNELS)


def test_samples_change_no_weight_and_are_predicted_by_the_fit_to_all():
    fits, plain = FamilyFits(noisy(), FAMILY, samples=samples()), FamilyFits(noisy(), FAMILY)
    assert plain.weights.weights == fits.weights.weights
    found = fits.predict_without_group()
    expected = plain.fit_measured().predict(plain.design_of(samples()))
    assert pytest.approx(expected.tolist()) == found.seconds[fits.sampled].tolist()
    assert found.seconds[fits.seen].tolist() == plain.predict_without_group().seconds.tolist()
    assert fits.rows[len(noisy().rows) :] == samples().rows


def test_samples_are_dealt_to_as_many_groups_as_the_other_rows_have():
    fits = FamilyFits(noisy(), FAMILY, tests=Rows(noisy().rows[:1], KERNELS), samples=samples())
    others = len(noisy().rows) + 1
    assert [row.group for row in fits.rows[:others]] == list(fits.groups[:others])
    assert {"g0", "g1", "g2", "g3"} == set(fits.groups[:others])
    assert {f"samples {i}": 2 for i in range(4)} == {name: fits.groups.count(name) for name in fits.groups[others:]}


def test_half_of_the_scores_weight_is_of_samples():
    """Samples miss by more than a factor of 1.2 and the rest by less: the median error parts them."""
    fits, plain = FamilyFits(noisy(), FAMILY, samples=samples()), FamilyFits(noisy(), FAMILY)
    assert 8 == fits.scores.group_count == 2 * plain.scores.group_count
    assert plain.scores.scores == fits.scores.scores[: len(noisy().rows)]
    found = fits.predict_without_group().seconds
    errors = [abs(math.log(row.seconds / found[i])) for i, row in enumerate(fits.rows)]
    assert pytest.approx(errors) == list(fits.scores.scores)
    assert fits.scores_without("samples 1").group_count == 7


def test_a_fit_and_evaluations_take_them():
    model = fit(noisy(), samples=samples())
    assert FamilyFits(noisy(), FAMILY, samples=samples()).scores == model.fitted.conformal
    assert fit(noisy()).weights == model.weights
    (groups,) = evaluate(noisy(), family=FAMILY, protocols=("groups",), folds=4, level=0.5, samples=samples())
    (alone,) = evaluate(noisy(), family=FAMILY, protocols=("groups",), folds=4, level=0.5)
    assert [row.predicted for row in alone.rows] == [row.predicted for row in groups.rows]
    assert [row.interval for row in alone.rows] != [row.interval for row in groups.rows]


def test_errors_of_kernels_by_hand():
    # kernels a and b have means of 0.2 and 0.6, together 0.4; samples s and t of 1 and 2, together 1.5
    errors, kernels = np.array([0.1, 0.3, 0.6, 1.0, 2.0, math.nan]), ["a", "a", "b", "s", "t", "u"]
    assert pytest.approx((0.4 + 1.5) / 2) == error_of_kernels(errors, kernels, measured=3)
    assert pytest.approx((0.2 + 0.6 + 1 + 2) / 4) == error_of_kernels(errors, kernels, measured=6)
    assert pytest.approx(1.5) == error_of_kernels(errors[3:], kernels[3:], measured=0)
    assert math.isnan(error_of_kernels(errors[5:], kernels[5:], measured=0))


@pytest.mark.parametrize("pace", [0.5, 1.5])
def test_facts_that_no_group_tells_are_chosen_by_samples(pace):
    """Rows of one number of work-groups have the same crowd to any power, up to a weight; samples have many numbers."""
    truth = measured(pace, 2.0)
    crowds = [Case(truth.counts[row.counts_hash], row.parameters).total("work_groups") for row in truth.rows]
    common = max(set(crowds), key=crowds.count)
    alike = [row for row, crowd in zip(truth.rows, crowds, strict=True) if crowd == common]
    assert len(alike) > 5
    caught = KNOWN.updated({"resource_sharpness": Fact(2.0, "", "given")})
    few = replace(truth, rows=tuple(replace(row, group=f"g{i % 2}") for i, row in enumerate(alike)), facts=caught)
    assert pace == FamilyFits(few, CHOOSING, samples=truth).known.facts.value("pace")
