"""Predictions of many variants: the same whoever makes them."""

import math
from dataclasses import replace
from functools import partial

import loopy as lp
import numpy as np
import pytest

from perfmodel import errors
from perfmodel.fitting.anchored import Anchored
from perfmodel.fitting.conformal import Conformal
from perfmodel.predicting.model import FittedModel, fit
from perfmodel.predicting.prediction import Anchor
from perfmodel.predicting.predictions import Predicting, scatter_of, together
from tests.corpus.kernel import make
from tests.fitting.test_weights_file import KERNELS, measurements, seconds
from tests.priced import CUBE, MODEL, STRICT, adding
from tests.processes.variants import double

VARIANTS = {str(width): partial(double, width) for width in (4, 8, 16)} | {"bad": lambda: 1 / 0}
SECONDS = pytest.approx(1000 * 1e-12)  # a multiplication for each number


def predict_each(variants, model, sizes, jobs=1, **asked):
    """Return by name the prediction of each variant, or its error."""
    found = Predicting(model, skipped=errors.PerfModelError, jobs=jobs, **asked).predicted(variants, sizes)
    return {name: one.prediction for name, one in found.variants.items()} | dict(found.errors)


def test_a_loop_here():
    found = predict_each(VARIANTS | {"cube": CUBE}, MODEL, {"n": 1000}, allow_unmeasured=True)
    assert {*VARIANTS, "cube"} == {*found}
    assert SECONDS == found["8"].seconds
    assert pytest.approx(1e9 * 1e-12) == found["cube"].seconds
    assert str(errors.failed("bad", "compile", "ZeroDivisionError: division by zero")) == str(found["bad"])
    assert isinstance(predict_each({"a": double(4)}, MODEL, {"n": 8})["a"], errors.UnmeasuredFeatureError)


@pytest.mark.parametrize("jobs", [None, 2])
def test_a_group_whose_shape_is_a_size(jobs):
    """Each of n groups multiplies m numbers; the prediction needs one value of m."""
    rows = make("{[p, i]: 0 <= p < n and 0 <= i < m}", "out[p, i] = 2*a[p, i]", "a, out: n, m")
    rows = lp.tag_inames(rows, {"p": "g.0", "i": "l.0"})
    found = Predicting(MODEL, jobs=jobs, skipped=errors.CountError, allow_unmeasured=True)
    with pytest.warns(errors.PerfModelWarning, match="for m = 4 only"):
        made = found.predicted({"rows": rows}, {"n": np.array([10, 20]), "m": 4})
    assert pytest.approx([40e-12, 80e-12]) == made.variants["rows"].prediction.seconds
    assert ["rows"] == list(found.predicted({"rows": rows}, {"n": 10, "m": np.array([4, 5])}).errors)
    with pytest.warns(errors.PerfModelWarning, match="for m = 4 only"):
        assert pytest.approx(40e-12) == MODEL.predict(rows, n=10, m=4, allow_unmeasured=True).seconds


EVEN = adding("n", assumptions="[n] -> { : n mod 2 = 0 }")


def test_sizes_that_a_kernel_does_not_allow_have_no_prediction():
    sizes = np.arange(10, 20)
    found = Predicting(MODEL).predicted({"even": EVEN, "cube": CUBE}, {"n": sizes})
    even, cube = found.variants.values()
    assert [0, 2, 4, 6, 8] == np.flatnonzero(even.allowed).tolist()
    assert pytest.approx(np.where(sizes % 2, np.nan, sizes * 1e-12), nan_ok=True) == even.prediction.seconds
    assert ("breaks the kernel's assumptions [n] -> { : n mod 2 = 0 }", "") == (even.problem, cube.problem)
    assert pytest.approx(sizes**3 * 1e-12) == cube.prediction.terms["op_float32_add"]
    assert [{"n": n} for n in range(10, 20)] == list(found.points)
    assert {"even": EVEN, "cube": CUBE} == found.counts


def test_where_nothing_is_predicted_it_says_why():
    found = Predicting(MODEL).predicted({"even": EVEN}, {"n": np.array([1, 3])})
    with pytest.raises(errors.AssumptionError):
        found.required()
    with pytest.raises(errors.AssumptionError):
        Predicting(MODEL).predicted({"even": EVEN}, {"n": 1})
    left_out = Predicting(MODEL, skipped=errors.AssumptionError).predicted({"even": EVEN}, {"n": 1})
    with pytest.raises(errors.AssumptionError):
        left_out.required()
    nothing = Predicting(MODEL).predicted({}, {"n": 1})
    assert nothing is nothing.required()


def test_errors_that_are_raised():
    bad = {"cube": CUBE, "divisions": adding("n", kind="div")}
    with pytest.raises(errors.UnmeasuredFeatureError):
        Predicting(STRICT).predicted(bad, {"n": 1})
    with pytest.raises(ZeroDivisionError):
        Predicting(MODEL, allow_unmeasured=True).predicted(VARIANTS, {"n": 8})
    with pytest.raises(errors.SizeError):  # whatever is spared
        Predicting(MODEL, skipped=errors.PerfModelError).predicted(bad, {"m": 1})
    with pytest.raises(errors.OptionError):
        Predicting(MODEL, level=1.0).predicted({}, {})


def test_processes_give_the_same_at_several_sizes():
    asked = [Predicting(MODEL, skipped=errors.PerfModelError, jobs=jobs, allow_unmeasured=True) for jobs in (1, 2)]
    sizes = together([{"n": n} for n in range(3)])
    here, there = (one.predicted({"8": VARIANTS["8"], "bad": VARIANTS["bad"]}, sizes) for one in asked)
    assert (["8"], [], ["bad"], ["bad"]) == (list(here.counts), list(there.counts), [*here.errors], [*there.errors])
    first, second = here.variants["8"], there.variants["8"]
    assert [False, True, True] == first.allowed.tolist() == second.allowed.tolist()
    np.testing.assert_array_equal(first.prediction.seconds, second.prediction.seconds)
    assert [*first.prediction.terms] == [*second.prediction.terms]


def test_anchors_scale_predictions_and_each_variant_needs_one():
    anchor = Anchor("cube", "stand-in", {"n": 2}, 3e-12, 1e-12)
    asked = Predicting(MODEL, anchors={"cube": anchor})
    found = asked.predicted({"cube": CUBE}, {"n": np.array([10, 20])})
    assert pytest.approx([3e-9, 24e-9]) == found.variants["cube"].prediction.seconds
    assert ({"cube": anchor}, scatter_of(MODEL, anchored=True)) == (found.anchors, found.scatter)
    with pytest.raises(errors.AnchorError, match="'even' cannot be anchored: there are anchors only of cube"):
        asked.predicted({"even": EVEN}, {"n": 10})



FITTED = fit(measurements())
ERRORS = Anchored(conformal=Conformal(scores=(0.1, 0.2), groups=("a", "b")))
SCORED = FittedModel(FITTED.fitted.model_copy(update={"anchored": ERRORS}))
ANCHOR = Anchor("add", "stand-in", {"n": 16}, measured=3e-4, predicted=1e-4)


def test_a_prediction_is_scaled_with_its_terms():
    plain = FITTED.predict(KERNELS["add"], n=64)
    found = SCORED.anchored_by(ANCHOR).predict(KERNELS["add"], n=64, level=0.6)
    assert pytest.approx(3.0) == ANCHOR.factor
    assert pytest.approx(3 * seconds("add", 64)) == found.seconds
    assert isinstance(found.seconds, float)
    assert {name: pytest.approx(3 * part) for name, part in plain.terms.items()} == found.terms
    assert pytest.approx(found.seconds) == sum(found.terms.values())
    assert () == found.warnings


def test_its_interval_is_that_of_anchored_predictions():
    found = SCORED.anchored_by(ANCHOR).predict(KERNELS["add"], {"n": 64}, level=0.6)
    # of two groups and one to come each has a third: 0.6 is reached with the second score
    expected = found.seconds / math.exp(0.2), found.seconds * math.exp(0.2)
    assert pytest.approx(expected) == found.interval
    wide = SCORED.anchored_by(ANCHOR).predict(KERNELS["add"], n=64)
    assert (0.0, math.inf) == wide.interval
    assert ("no bounds can be given at 90%: 2 groups of kernels give bounds up to 66.7%",) == wide.warnings
    older = FittedModel(FITTED.fitted.model_copy(update={"anchored": None}))
    assert older.anchored_by(ANCHOR).predict(KERNELS["add"], n=64).interval is None
    with pytest.raises(errors.OptionError):
        older.anchored_by(ANCHOR).predict(KERNELS["add"], n=64, level=1.5)


def test_other_sizes_have_a_share_of_its_error_and_its_own_size_noise():
    """Three times as long at n=16, of which half the logarithm is carried; one visit is off by 1.1 at most."""
    noise = Conformal(scores=(math.log(1.05), math.log(1.1)), groups=("a", "b"))
    carried = ERRORS.model_copy(update={"carried": 0.5, "noise": noise})
    anchor = replace(ANCHOR, measured=3 * seconds("add", 16), predicted=seconds("add", 16), errors=carried)
    assert pytest.approx(math.sqrt(3)) == anchor.scale
    found = SCORED.anchored_by(anchor).predict(KERNELS["add"], n=np.array([16, 64]), level=0.6)
    expected = [anchor.measured, math.sqrt(3) * seconds("add", 64)]
    assert pytest.approx(expected) == found.seconds
    assert pytest.approx([expected[0] * 1.1, expected[1] * math.exp(0.2)]) == found.interval[1]
    here = SCORED.anchored_by(anchor).predict(KERNELS["add"], n=16, level=0.6)
    assert isinstance(here.seconds, float)
    assert pytest.approx((anchor.measured / 1.1, anchor.measured * 1.1)) == here.interval
