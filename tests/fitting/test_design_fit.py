"""Models of which the device's facts give every weight: there is nothing to fit, and they still predict."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.errors import FactsError, TooFewRowsError
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.fitting import FitOptions, build_design, fit_to_design
from perfmodel.models import Family, find_family
from perfmodel.models.model import RunTime, Weight, weight_name
from perfmodel.predicting.model import FittedModel, fit, load
from tests.fitting.test_family_fits_weights import KERNELS, measurements
from tests.standins import Row, Rows

FAMILY = Family(
    name="given", citation="this test", weights=(Weight("w_launch", "s/launch", fact="launch_s"),),
    expression="w_launch*launches", additive=False,
)  # fmt: skip
FACTS = DeviceFacts("stand-in", "none", "0", (("launch_s", Fact(3e-6, "s", "by hand")),))


def rows(*names: str) -> Rows:
    found = Rows(tuple(Row(name, {"n": n}, 6e-6, name, group=name) for name in names for n in (8, 16)), KERNELS)
    object.__setattr__(found, "facts", FACTS)
    return found


def test_nothing_is_fitted_and_everything_is_predicted(tmp_path):
    model = fit(rows("empty", "add"), FAMILY)
    assert {"w_launch": 3e-6} == dict(model.weights)
    assert (("given",), 0, 4) == (
        model.fitted.weights["w_launch"].marks, model.fitted.rank, model.fitted.degrees_of_freedom
    )  # fmt: skip
    assert 0.5 == pytest.approx(model.fitted.residuals.median)
    assert 3e-6 == model.predict(KERNELS["add"], n=100).seconds
    model.save(tmp_path / "w.json")
    assert FittedModel(model.fitted, FACTS) == load(tmp_path / "w.json", FAMILY)


def test_a_design_of_which_all_is_given():
    table = build_design(rows("empty"), FAMILY)
    found = fit_to_design(table, FAMILY)
    assert [3e-6, 3e-6] == found.predict(table).tolist()
    assert (("w_launch",), [0.0]) == (found.names, found.errors.tolist())
    assert np.ndarray is type(found.coefficients)
    assert (2, 0) == found.by_weight(table).shape


@pytest.mark.parametrize("name", ["stevens_kloeckner_2016", "overlap"])
def test_what_rests_on_each_weight_is_what_a_prediction_says(name):
    family = find_family(name)
    table = build_design(measurements(), family)
    found = fit_to_design(table, family)
    model = RunTime(family, dict(zip(found.names, found.coefficients.tolist(), strict=True)))
    values = [dict(zip(table.names, row.tolist(), strict=True)) for row in table.matrix]
    expected = [[model.by_weight(one)[weight_name(family, w)] for w in table.model.weights] for one in values]
    np.testing.assert_allclose(found.by_weight(table), expected, rtol=1e-12, atol=1e-20)


def test_what_is_not_given_is_asked_for():
    with pytest.raises(FactsError, match="launch_s"):
        fit(Rows(rows("empty").rows, KERNELS), FAMILY, options=FitOptions(fit_facts=False))
    with pytest.raises(TooFewRowsError):
        fit_to_design(build_design(rows(), FAMILY), FAMILY)
