"""One design for a fit, its cross-fits and its evaluation; rows whose visits disagree weigh less in all of them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from perfmodel import features
from perfmodel.fitting import FamilyFits, FitOptions, fit_linear
from perfmodel.fitting.family_fits import dealt
from perfmodel.fitting.local_scale import fit_local_scale
from perfmodel.fitting.selection import difference_quantile
from perfmodel.models import find_family
from perfmodel.predicting.model import fit
from tests.fitting import by_hand
from tests.fitting.test_family_fits_weights import KERNELS, measurements
from tests.standins import Rows

FAMILY = find_family("stevens_kloeckner_2016")
#: For each kernel the relative difference of its visits; its times are wrong by as much.
DEVIATION = {"empty": 0.0, "add": 0.3, "load": 0.01, "tile": 0.1}


def noisy() -> Rows:
    """Rows wrong by up to a third."""
    rows = []
    for i, row in enumerate(measurements().rows):
        time, spread = row.seconds * (1 + DEVIATION[row.kernel] * math.sin(i + 1)), DEVIATION[row.kernel]
        rows.append(replace(row, seconds=time, kept_s=(time,), disagreement=spread, group=f"g{i % 4}"))
    return Rows(tuple(rows), KERNELS)


def expected_weights(rows) -> np.ndarray:
    return np.array([(0.05 / max(DEVIATION[row.kernel], 0.05)) ** 2 for row in rows])


def predict_by_hand(seen, unseen, weights) -> np.ndarray:
    """Times of rows by a fit to others."""
    values = [features.evaluate(KERNELS[row.counts_hash], row.parameters) for row in (*seen, *unseen)]
    names = FAMILY.select({name for value in values for name in value})
    matrix = np.array([[value.get(name, 0.0) for name in names] for value in values])
    found = fit_linear(matrix[: len(seen)], np.array([row.seconds for row in seen]), weights)
    return found.predict(matrix[len(seen) :])


def test_conformal_scores_are_of_fits_without_the_group():
    rows = noisy().rows
    scores = []
    for row in rows:
        others = [other for other in rows if other.group != row.group]
        predicted = predict_by_hand(others, [row], expected_weights(others))[0]
        scores.append(abs(math.log(row.seconds / predicted)))
    assert pytest.approx(scores, rel=1e-9) == list(fit(noisy()).fitted.conformal.scores)


def test_scores_without_a_group_do_not_depend_on_it():
    measured, tests = noisy(), Rows(tuple(replace(row, group="new") for row in noisy().rows[::3]), KERNELS)
    fits = FamilyFits(measured, FAMILY, tests=tests)
    found = fits.predict_without_group()
    for group in ("g1", "new"):
        places = [i for i, row in enumerate(fits.rows) if row.group != group]
        scores = fits.scores_without(group)
        expected = [abs(math.log(fits.rows[i].seconds / found.seconds[i])) for i in places]
        assert pytest.approx(expected) == list(scores.scores)
        assert [fits.rows[i].group for i in places] == list(scores.groups)
        support = dict(zip(fits.refits.table.names, fits.refits.support(fits.seen).tolist(), strict=True))
        local = fit_local_scale(np.array(expected), scores.groups, found.of(np.array(places)).scale_columns, support)
        assert local is not None
        assert local[0] == scores.scale
        assert pytest.approx(local[1].tolist()) == list(scores.scales)
    assert fits.scores == fits.scores_without("nowhere")


def test_support_is_of_the_fit_that_predicts():
    """A row's own group gives its prediction no support; rows in plain loops."""
    fits = FamilyFits(noisy(), FAMILY)
    found, names = fits.predict_without_group(), fits.design.names
    values = [features.evaluate(KERNELS[row.counts_hash], row.parameters) for row in fits.rows]
    for i, row in enumerate(fits.rows):
        others = [j for j, other in enumerate(fits.rows) if other.group != row.group]
        weights = fits.refits.fit(np.array(others)).coefficients
        parts = [[abs(w * own.get(name, 0.0)) for w, name in zip(weights, names, strict=True)] for own in values]
        shares = [[part / sum(own) for part in own] for own in parts]
        supports = by_hand.support([(fits.rows[j].group, shares[j]) for j in others], len(names))
        assert pytest.approx(by_hand.lack(shares[i], supports)) == found.lack[i]


def test_tests_are_added_without_evaluating_the_measured_rows_again(monkeypatch):
    rows = noisy()
    seen, unseen = Rows(rows.rows[::2], KERNELS), Rows(rows.rows[1::2], KERNELS)
    fits = FamilyFits(seen, FAMILY)
    assert len(seen.rows) == len(fits.design.times)
    asked = []
    evaluate_features = features.evaluate
    monkeypatch.setattr(features, "evaluate", lambda *given: asked.append(1) or evaluate_features(*given))
    joined = fits.with_tests(unseen)
    found = joined.predict_tests().seconds
    assert len(unseen.rows) == len(asked)
    assert FamilyFits(seen, FAMILY, FitOptions(), unseen).predict_tests().seconds.tolist() == found.tolist()
    assert fits.tests is None


def variants() -> Rows:
    """Each row twice, as two variants, of which the second is a third slower than the first."""
    rows = [replace(row, variant={"v": v}, seconds=row.seconds * (1 + v / 3)) for row in noisy().rows for v in (0, 1)]
    return Rows(tuple(rows), KERNELS)


def test_scatter_comes_from_rows_without_their_group():
    """The prediction of both variants is the same, so that their errors differ by log(4/3) in every cell."""
    model = fit(variants())
    expected = math.log(4 / 3) / (0.6744897501960817 * math.sqrt(2))
    assert len(noisy().rows) == model.fitted.scatter.cells
    scale = difference_quantile(model.fitted.scatter.freedom, 0.75)
    assert pytest.approx(math.log(4 / 3)) == model.fitted.scatter.deviation * scale
    assert model.fitted.scatter.freedom is not None or pytest.approx(expected) == model.fitted.scatter.deviation
    # both variants have the same error at their smallest size, so anchored errors differ less
    assert 0 < model.fitted.anchored.carried < 1
    assert model.fitted.anchored.scatter.deviation < model.fitted.scatter.deviation / 2
    assert 2 * (len(noisy().rows) - len(KERNELS)) == len(model.fitted.anchored.conformal.scores)
    single = fit(noisy()).fitted
    assert (None, None) == (single.scatter, single.anchored.scatter)


def test_labels_are_dealt_whole_and_evenly():
    labels = [*"aaaa", *"bbb", *"cc", "d", None]
    # four rows, three, two and one: the folds fill to 4 and 3, then to 4 and 5, then to 5 and 5
    assert [0] * 4 + [1] * 3 + [1] * 2 + [0, None] == dealt(labels, 2)
    # with as many folds as labels, or with no number, each label is a fold
    assert 4 == len(set(dealt(labels[:-1], 9))) == len(set(dealt(labels[:-1], None)))
    assert dealt(labels, 3) == dealt(labels[::-1], 3)[::-1]
