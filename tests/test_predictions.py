"""Predictions of many variants: the same whoever makes them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from perfmodel import predictions
from perfmodel.errors import AssumptionError, TrialError, UnmeasuredFeatureError
from perfmodel.predictions import predict_allowed, predict_each
from perfmodel.ranking import rank
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
