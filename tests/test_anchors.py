"""Anchored predictions: the factor, terms, intervals and warnings, by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from perfmodel.anchors import Anchor, AnchoredModel
from perfmodel.errors import LevelError
from perfmodel.fitting.uncertainty.anchored import Anchored
from perfmodel.fitting.uncertainty.conformal import Conformal
from perfmodel.predict import FittedModel, fit
from tests.fitting.test_weights import KERNELS, measurements, seconds

MODEL = fit(measurements())
ERRORS = Anchored(conformal=Conformal(scores=(0.1, 0.2), groups=("a", "b")))
SCORED = FittedModel(MODEL.fitted.model_copy(update={"anchored": ERRORS}))
ANCHOR = Anchor("add", "stand-in", {"n": 16}, measured=3e-4, predicted=1e-4)


def test_a_prediction_is_scaled_with_its_terms():
    plain = MODEL.predict(KERNELS["add"], n=64)
    found = AnchoredModel(SCORED, ANCHOR).predict(KERNELS["add"], n=64, level=0.6)
    assert pytest.approx(3.0) == ANCHOR.factor
    assert pytest.approx(3 * seconds("add", 64)) == found.seconds
    assert isinstance(found.seconds, float)
    assert {name: pytest.approx(3 * part) for name, part in plain.terms.items()} == found.terms
    assert pytest.approx(found.seconds) == sum(found.terms.values())
    assert () == found.warnings


def test_its_interval_is_that_of_anchored_predictions():
    found = AnchoredModel(SCORED, ANCHOR).predict(KERNELS["add"], {"n": 64}, level=0.6)
    # of two groups and one to come each has a third: 0.6 is reached with the second score
    expected = found.seconds / math.exp(0.2), found.seconds * math.exp(0.2)
    assert pytest.approx(expected) == found.interval
    wide = AnchoredModel(SCORED, ANCHOR).predict(KERNELS["add"], n=64)
    assert (0.0, math.inf) == wide.interval
    assert ("no bounds can be given at 90%: 2 groups of kernels give bounds up to 66.7%",) == wide.warnings
    older = FittedModel(MODEL.fitted.model_copy(update={"anchored": None}))
    assert AnchoredModel(older, ANCHOR).predict(KERNELS["add"], n=64).interval is None
    with pytest.raises(LevelError):
        AnchoredModel(older, ANCHOR).predict(KERNELS["add"], n=64, level=1.5)


def test_arrays_of_sizes():
    sizes = np.array([16, 64, 256])
    found = AnchoredModel(SCORED, ANCHOR).predict(KERNELS["add"], n=sizes, level=0.3)
    np.testing.assert_allclose([3 * seconds("add", n) for n in sizes.tolist()], found.seconds)
    np.testing.assert_allclose(found.seconds * math.exp(0.1), found.interval[1])


def test_a_suspicious_run_is_a_warning():
    flagged = replace(ANCHOR, flags=("spread", "clock"))
    found = AnchoredModel(SCORED, flagged).predict(KERNELS["add"], n=64, level=0.6)
    assert ("the run that anchors it is suspicious (spread, clock): run it again",) == found.warnings
