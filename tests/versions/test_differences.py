"""Ratios of predicted times with their intervals, and the verdicts that follow."""

from dataclasses import replace
from xml.etree import ElementTree as ET

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.errors import ArgumentError, PerfModelError, PredictionError, SizeError, SlowerError
from perfmodel.fitting.selection import Scatter
from perfmodel.predicting import FittedModel, Prediction
from perfmodel.predicting.model import fit
from perfmodel.versions import Difference, assert_not_slower, difference
from perfmodel.versions.differences import TimeChange, changed_share
from perfmodel.versions.sides import Side, Version
from perfmodel.versions.tables import document, junit, markdown, text
from tests.fitting.test_weights_file import measurements
from tests.versions.test_formulas import unit

OLD, MORE = "out[i, j] = a[i, j] + b[0]", "out[i, j] = a[i, j] + 1 + b[0]*b[1]"


@pytest.fixture(scope="module")
def model() -> FittedModel:
    fitted = fit(measurements())  # type: ignore[arg-type]  # rows with counts, not a whole store
    scatter = Scatter(deviation=0.1, freedom=None, cells=9)
    return replace(fitted, fitted=fitted.fitted.model_copy(update={"scatter": scatter}))


def side(label: str, **texts: str) -> Side:
    return Side(label, {name: Version(count(unit(text))) for name, text in texts.items()})


def with_terms(**terms: float) -> Prediction:
    return Prediction(sum(terms.values()), terms)


def change(old: float, new: float, scale: float) -> TimeChange:
    return TimeChange({}, with_terms(x=old), with_terms(x=new), scale, None, ("", ""))


def test_changed_share() -> None:
    """Of terms 3+1 and 3+2 the largest add up to 5, and differ by 1."""
    assert 1 / 5 == changed_share(with_terms(a=3.0, b=1.0), with_terms(a=3.0, b=2.0))
    assert (0.0, 1.0) == (
        changed_share(with_terms(a=2.0), with_terms(a=2.0)), changed_share(with_terms(a=2.0), with_terms(b=2.0))
    )  # fmt: skip


def test_the_ratio_of_normal_errors() -> None:
    """The difference of two normal errors of scale s has the standard deviation s*sqrt(2)."""
    found = change(1.0, 2.0, 0.3)
    low, high = found.interval
    assert np.allclose([2 / np.exp(0.3 * 2**0.5 * 1.6448536), 2 * np.exp(0.3 * 2**0.5 * 1.6448536)], [low, high])
    generator = np.random.default_rng(0)
    logs = np.log(2.0) + 0.3 * np.subtract(*generator.normal(size=(2, 400_000)))
    assert np.mean(logs > np.log(1.5)) == pytest.approx(found.slower(0.5), abs=0.005)
    assert 0.5 == pytest.approx(change(1.0, 1.25, 0.1).slower(0.25))


def compared(model: FittedModel | None, old: str = OLD, new: str = MORE, n: int = 1024) -> Difference:
    return difference(side("old", k=old), side("new", k=new), model, [{"n": n}])


def test_more_work_is_slower(model: FittedModel) -> None:
    found = compared(model)
    (kernel,) = found.kernels
    (time,) = kernel.times
    assert 1.05 < time.ratio
    assert time.interval[0] < time.ratio < time.interval[1]
    assert ((kernel,), {}) == (found.slower(0.0), found.undecided(0.0))
    assert ((), {}) == (found.slower(9.0), found.undecided(9.0))


def test_equal_formulas_have_a_ratio_of_one_and_a_narrow_interval(model: FittedModel) -> None:
    found = compared(model, new="out[i, j] = b[0] + a[i, j]")
    (kernel,) = found.kernels
    (time,) = kernel.times
    assert ((), 1.0, True) == (kernel.changes, time.ratio, time.interval[1] < 1.06)
    assert ((), {}) == (found.slower(0.05), found.undecided(0.05))
    assert "all formulas are equal: k" in text(found, 0.05)
    assert ((), {}) == (found.slower(0.0), found.undecided(0.0))


def test_a_doubtful_ratio_is_undecided(model: FittedModel) -> None:
    found = compared(model)
    ratio = found.kernels[0].times[0].ratio
    ((name, reason),) = found.undecided(ratio * 1.005 - 1).items()
    assert "k" == name
    assert "with a probability of 4" in reason


def test_without_a_model_only_formulas_are_compared() -> None:
    (kernel,) = compared(None).kernels
    assert () == kernel.times
    assert kernel.changes


def test_refused_comparisons(model: FittedModel) -> None:
    with pytest.raises(SizeError, match="no kernel has a size 'm'; the sizes are n"):
        difference(side("old", k=OLD), side("new", k=OLD), model, [{"n": 64, "m": 4}])
    far = side("new", x="out[j, i] = a[j, i]*a[i, j]", y="out[j, i] = b[0]/b[1]")
    with pytest.raises(PerfModelError, match=r"no kernel of new \(x, y\) matches one of old \(p, q\)"):
        difference(side("old", p=OLD, q=OLD), far, model)


def test_a_missing_size_and_one_that_breaks_assumptions_leave_it_undecided(model: FittedModel) -> None:
    (missing,) = difference(side("old", k=OLD), side("new", k=MORE), model).kernels
    assert "the old version needs the size n" in missing.problem
    found = compared(model, n=33)
    assert {"k"} == set(found.undecided(0.05))
    assert "assumption" in found.kernels[0].problem


def test_kernels_of_one_side_are_named(model: FittedModel) -> None:
    old = replace(side("old", k=OLD, gone="out[i, j] = a[j, i]*a[i, j]"), errors={"bad": PerfModelError("no")})
    found = difference(old, side("new", k=OLD, added="out[j, i] = b[0] / b[1]"), model, [{"n": 64}])
    assert (("gone",), ("added",), {"bad": "no."}) == (found.removed, found.added, dict(found.errors))
    assert {"bad"} == set(found.undecided(0.05))
    shown = text(found)
    assert all(line in shown for line in ("only in old: gone", "only in new: added", "bad cannot be counted: no."))


def test_a_kernel_is_predicted_once_at_each_of_its_own_sizes(model: FittedModel) -> None:
    """Points that differ only in a size of another kernel are one point."""
    other = Version(count(lp.rename_argument(unit(OLD), "n", "m")))
    old, new = (
        replace(each, kernels={**each.kernels, "other": other}) for each in (side("old", k=OLD), side("new", k=MORE))
    )
    found = difference(old, new, model, [{"n": n, "m": 96} for n in (64, 128)])
    assert {"k": [{"n": 64}, {"n": 128}], "other": [{"m": 96}]} == {
        kernel.name: [time.sizes for time in kernel.times] for kernel in found.kernels
    }


def test_tables(model: FittedModel) -> None:
    found = compared(model)
    suite = ET.fromstring(junit(found, 0.0))
    assert ("1", "1", "0") == tuple(suite.get(name) for name in ("tests", "failures", "errors"))
    assert "float32 mul: 0 -> n^2" in (suite.findtext("testcase/failure") or "")
    rows = [line for line in markdown(found, 0.0).decode().splitlines() if line.startswith("| k (")]
    assert 1 == len(rows)
    assert rows[0].count(" | ") == 5
    (kernel,) = document(found, 0.0)["kernels"]
    assert {"what": "float32 mul", "old": "0", "new": "n^2"} in kernel["changes"]


def test_junit_of_an_undecided_kernel(model: FittedModel) -> None:
    suite = ET.fromstring(junit(compared(model, n=33), 0.05))
    assert ("0", "1") == (suite.get("failures"), suite.get("errors"))


def test_assert_not_slower(model: FittedModel) -> None:
    assert assert_not_slower(unit(OLD), count(unit(MORE)), n=1024, model=model).kernels
    with pytest.raises(SlowerError, match="is slower by more than 5%") as caught:
        assert_not_slower(unit(MORE), unit(OLD), n=[64, 1024], model=model)
    assert isinstance(caught.value, AssertionError)
    assert "float32 mul: 0 -> n^2" in str(caught.value)
    with pytest.raises(PredictionError, match="needs the size n"):
        assert_not_slower(unit(MORE), unit(OLD), model=model)
    for wrong in ({"tolerance": -1}, {"tolerance": "5%"}):
        with pytest.raises(ArgumentError, match="assert_not_slower: tolerance"):
            assert_not_slower(unit(OLD), unit(OLD), n=64, model=model, **wrong)
    with pytest.raises(ArgumentError, match="assert_not_slower: old"):
        assert_not_slower(unit(OLD), 3, n=64, model=model)
