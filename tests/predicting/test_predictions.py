"""Predictions of many variants: the same whoever makes them."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from perfmodel.errors import AssumptionError, LevelError, TrialError, UnmeasuredFeatureError
from perfmodel.fitting.uncertainty.anchored import Anchored
from perfmodel.fitting.uncertainty.conformal import Conformal
from perfmodel.predicting import predictions
from perfmodel.predicting.model import FittedModel, fit
from perfmodel.predicting.predictions import Anchor, AnchoredModel, predict_allowed, predict_each
from perfmodel.predicting.ranking import rank
from tests.fitting.test_weights import KERNELS, measurements, seconds
from tests.priced import CUBE, MODEL, adding
from tests.processes.variants import double

VARIANTS = {str(width): partial(double, width) for width in (4, 8, 16)} | {"bad": lambda: 1 / 0}
SECONDS = pytest.approx(1000 * 1e-12)  # a multiplication for each number


def test_a_loop_here():
    found = predict_each(VARIANTS | {"cube": CUBE}, MODEL, {"n": 1000}, allow_unmeasured=True)
    assert [*VARIANTS, "cube"] == [*found]
    assert SECONDS == found["8"].seconds
    assert pytest.approx(1e9 * 1e-12) == found["cube"].seconds
    assert TrialError("bad", "compile", "ZeroDivisionError: division by zero") == found["bad"]
    assert isinstance(predict_each({"a": double(4)}, MODEL, {"n": 8})["a"], UnmeasuredFeatureError)


@pytest.mark.slow
def test_processes_predict_what_a_loop_predicts():
    plain = rank(VARIANTS, MODEL, n=1000, jobs=1, allow_unmeasured=True)
    found = rank(VARIANTS, MODEL, n=1000, jobs=2, allow_unmeasured=True)
    assert plain == found
    assert [SECONDS] * 3 == [one.seconds for one in found]
    assert {*plain.errors} == {*found.errors} == {"bad"}


@pytest.mark.slow
def test_a_family_in_a_file_predicts_here(monkeypatch):
    """Its functions are in a module that no other process has: the prediction is not pickled."""
    own = replace(MODEL, given=replace(MODEL.family, definition="/somewhere/own.py"))
    monkeypatch.setattr(predictions.Predicting, "__reduce__", lambda self: pytest.fail("it travels"), raising=False)
    found = predict_each(VARIANTS, own, {"n": 1000}, 2, allow_unmeasured=True)
    assert [*VARIANTS] == [*found]
    assert TrialError("bad", "compile", "ZeroDivisionError: division by zero") == found.pop("bad")
    assert [SECONDS] * 3 == [one.seconds for one in found.values()]


def test_sizes_that_a_kernel_does_not_allow_are_left_out():
    even = adding("n", assumptions="[n] -> { : n mod 2 = 0 }")
    sizes = np.arange(10, 20)
    kept, found = predict_allowed(MODEL, even, {"n": sizes}, 0.9, False)
    assert [0, 2, 4, 6, 8] == kept.tolist()
    assert pytest.approx(sizes[kept] * 1e-12) == found.seconds
    with pytest.raises(AssumptionError):
        predict_allowed(MODEL, even, {"n": np.array([1, 3])}, 0.9, False)


FITTED = fit(measurements())
ERRORS = Anchored(conformal=Conformal(scores=(0.1, 0.2), groups=("a", "b")))
SCORED = FittedModel(FITTED.fitted.model_copy(update={"anchored": ERRORS}))
ANCHOR = Anchor("add", "stand-in", {"n": 16}, measured=3e-4, predicted=1e-4)


def test_a_prediction_is_scaled_with_its_terms():
    plain = FITTED.predict(KERNELS["add"], n=64)
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
    older = FittedModel(FITTED.fitted.model_copy(update={"anchored": None}))
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
