from __future__ import annotations

import loopy as lp
import numpy as np
import pytest

from perfmodel.errors import ParameterError, UnmeasuredFeatureError
from perfmodel.predict import fit
from tests.standins import Counts, Operation, count
from tests.test_fit_weights import KERNELS, PLANTED, measurements

MODEL = fit(measurements())
OTHER = Counts(
    operation_table=(
        Operation("float32", "add", count("n^3")),
        Operation("float32", "mul", count("n")),
        Operation("float64", "rsqrt", count("n")),
        Operation("int32", "mul", count("n")),
    ),
)


def test_terms_by_hand():
    found = MODEL.predict(KERNELS["tile"], n=100)
    expected = {
        "global_load_32_stride1": 1e6 * PLANTED["global_load_32_stride1"],
        "local_load_32": 9e6 * PLANTED["local_load_32"],
        "work_groups": 100 * PLANTED["work_groups"],
        "launches": PLANTED["launches"],
    }
    measured = {name: term for name, term in found.terms.items() if term}
    assert expected.keys() == measured.keys()
    for name, term in expected.items():
        assert pytest.approx(term, rel=1e-8) == found.terms[name]
    assert pytest.approx(sum(expected.values()), rel=1e-8) == found.seconds
    assert found.interval is None
    assert () == found.unmeasured


def test_many_sizes_at_once():
    sizes = np.arange(1, 2000)
    found = MODEL.predict(KERNELS["add"], n=sizes)
    assert sizes.shape == found.seconds.shape
    for n in (1, 77, 1999):
        one = MODEL.predict(KERNELS["add"], n=n)
        assert pytest.approx(one.seconds, rel=1e-12) == found.seconds[n - 1]
        assert isinstance(one.seconds, float)


def test_a_kernel_is_counted_on_the_way():
    t_unit = lp.make_kernel(
        "{[i]: 0 <= i < n}",
        "out[i] = a[i] + 1 {if = i > 0}",
        [lp.GlobalArg("out, a", np.float32, shape="n"), lp.ValueArg("n", np.int32)],
        assumptions="n >= 1",
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "i", 16, outer_tag="g.0", inner_tag="l.0")
    found = MODEL.predict(t_unit, n=100, allow_unmeasured=True)
    assert pytest.approx(99 * PLANTED["op_float32_add"], rel=1e-8) == found.terms["op_float32_add"]
    assert pytest.approx(7 * PLANTED["work_groups"], rel=1e-8) == found.terms["work_groups"]


def test_sizes_as_a_mapping():
    assert MODEL.predict(KERNELS["add"], n=5).seconds == (
        MODEL.predict(KERNELS["add"], {"n": 5}).seconds
    )


def test_a_prediction_is_withheld_where_a_feature_was_never_measured():
    with pytest.raises(UnmeasuredFeatureError) as caught:
        MODEL.predict(OTHER, n=10)
    assert ("op_float32_mul", "op_float64_special") == caught.value.features
    assert "op_float32_mul, op_float64_special" in str(caught.value)
    found = MODEL.predict(OTHER, n=10, allow_unmeasured=True)
    assert ("op_float32_mul", "op_float64_special") == found.unmeasured
    weights = MODEL.weights
    expected = 1000 * weights["op_float32_add"] + 10 * weights["work_groups"] + weights["launches"]
    assert pytest.approx(expected, rel=1e-12) == found.seconds


def test_a_feature_that_is_zero_at_the_size_is_not_needed():
    model = MODEL.predict(OTHER, n=0)
    assert pytest.approx(PLANTED["launches"], rel=1e-8) == model.seconds


@pytest.mark.parametrize(("name", "sizes"), [("n", {}), ("n", {"n": -1}), ("m", {"n": 1, "m": 2})])
def test_a_wrong_size_is_named(name, sizes):
    with pytest.raises(ParameterError) as caught:
        MODEL.predict(KERNELS["add"], **sizes)
    assert name == caught.value.name
