"""Costs of quantities that were never measured, from those of relatives on other devices."""

import math
from dataclasses import replace

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.errors import UnmeasuredFeatureError
from perfmodel.fitting.cautions import FromRelative
from perfmodel.predicting import relatives
from perfmodel.predicting.model import FittedModel, load
from perfmodel.predicting.ranking import rank
from perfmodel.predicting.relatives import PRIOR, Ratio, Ratios
from tests.corpus.kernel import make
from tests.machine import ROOT
from tests.quantities.bottleneck.by_hand import kernel

FOLDERS = ROOT / "fitted_weights"
FUNCTIONS = {"circular_64": 4.0, "exponential_64": 2.0, "logarithm_64": 3.0}


def without(model: FittedModel, *quantities: str) -> FittedModel:
    """Return a model as if no measurement had exercised some quantities or features."""
    fitted = model.fitted
    weights = dict(fitted.weights)
    for name in quantities:
        if model.family.is_quantity(name):
            weights[f"w_{name}"] = weights[f"w_{name}"].model_copy(update={"value": 0.0, "marks": ("undetermined",)})
        else:
            del weights[name]
    features = {name: ends for name, ends in fitted.measured.features.items() if name not in quantities}
    measured = fitted.measured.model_copy(update={"features": features})
    update = {"weights": weights, "features": tuple(sorted(weights)), "measured": measured}
    return replace(model, fitted=fitted.model_copy(update=update))


def test_a_ratio_is_the_mean_of_logarithms_and_wider_with_few_devices():
    devices = {f"d{k}": {"circular_64": 2.0 * ratio, "exponential_64": 2.0} for k, ratio in enumerate((1, 2, 4))}
    ratio = Ratios({"cpu": devices}).nearest("circular_64", ["exponential_64", "loads"], "cpu")
    # logarithms 0, log 2 and 2 log 2; the variance of all pairs is their own, log(2)^2, since there are no others
    assert ("exponential_64", 3, PRIOR + 2) == (ratio.relative, ratio.devices, ratio.freedom)
    assert pytest.approx(math.log(2)) == ratio.mean
    assert pytest.approx(math.log(2) * math.sqrt(1 + 1 / 3)) == ratio.scale
    # Student's quantile with 5 degrees of freedom at 95 %
    assert pytest.approx(2.015 * ratio.scale, rel=1e-3) == ratio.spread(0.9)


def test_the_relative_whose_ratio_scatters_least_is_taken():
    devices = {
        f"d{k}": {"circular_64": 4.0, "exponential_64": 2.0 * wild, "logarithm_64": 3.0}
        for k, wild in enumerate((0.1, 1, 10))
    }
    assert "logarithm_64" == Ratios({"cpu": devices}).nearest("circular_64", [*FUNCTIONS], "cpu").relative


def test_devices_of_the_other_type_tell_less():
    devices = {f"d{k}": {"circular_64": 4.0, "exponential_64": 2.0, "logarithm_64": 3.0} for k in range(3)}
    gpu = {"g": {"exponential_64": 2.0, "logarithm_64": 6.0}}
    table = Ratios({"cpu": devices, "gpu": gpu})
    here, there = (table.nearest("circular_64", ["exponential_64"], kind) for kind in ("cpu", "gpu"))
    assert here.mean == there.mean == pytest.approx(math.log(2))
    assert here.mean == table.nearest("circular_64", ["exponential_64"], "accelerator").mean
    assert there.scale > here.scale


def test_without_a_device_that_has_both_the_ratio_is_one_and_wide():
    devices = {"d": {"circular_64": 4.0, "exponential_64": 2.0}}
    ratio = Ratios({"cpu": devices}).nearest("inlined_64", ["exponential_64"], "cpu")
    assert (0.0, 0, PRIOR) == (ratio.mean, ratio.devices, ratio.freedom)
    assert ratio.scale >= math.log(2)
    assert Ratios({"cpu": devices}).nearest("circular_64", ["loads", "runs"], "cpu") is None


def test_without_a_device_that_has_both_the_other_width_is_the_nearest():
    devices = {"d": {"op_float64_special": 3.0, "op_float32_special": 2.0, "op_float32_pow": 40.0}}
    ratio = Ratios({"cpu": devices}).nearest("op_float64_pow", ["op_float64_special", "op_float32_pow"], "cpu")
    assert ("op_float32_pow", 0) == (ratio.relative, ratio.devices)
    # log(3/2)^2 of the one pair of two widths, and a variance of 1 as no pair is known of two devices
    assert pytest.approx(math.hypot(math.log(1.5), 1.0)) == ratio.scale


@pytest.mark.parametrize("family", ["bottleneck", "multithreaded", "stevens_kloeckner_2016"])
def test_intervals_hold_the_weights_of_a_device_that_is_left_out(family):
    inside = []
    table = relatives.ratios()[family].weights
    for kind, devices in table.items():
        for device, weights in devices.items():
            for quantity, weight in list(weights.items())[::2]:
                rest = {k: {d: {q: w for q, w in of.items() if (d, q) != (device, quantity)} for d, of in ds.items()}
                        for k, ds in table.items()}  # fmt: skip
                if quantity.startswith("global"):
                    continue  # hundreds of pairs
                ratio = Ratios(rest).nearest(quantity, [name for name in weights if name != quantity], kind)
                if ratio is not None:
                    error = math.log(weight / weights[ratio.relative]) - ratio.mean
                    inside.append(abs(error) <= ratio.spread(0.9))
    assert len(inside) > 10
    assert np.mean(inside) >= 0.9


@pytest.mark.parametrize("folder", ["pocl-skylake-avx512-amd-epyc", "intel-amd-epyc", "intel-xeon"])
def test_a_sine_that_was_never_measured_is_predicted_from_a_relative(folder):
    whole = load(FOLDERS / folder / "bottleneck.json")
    model, counts = without(whole, "circular_64", "circular_32"), count(lp_sines())
    true, found = (each.predict(counts, n=1 << 14) for each in (whole, model))
    assert found.interval[0] < true.seconds < found.interval[1]
    # the interval is wider on either side, and the time is not that without sines
    assert found.interval[1] / found.seconds > true.interval[1] / true.seconds
    (caution,) = [each for each in found.cautions if isinstance(each, FromRelative)]
    assert ("circular_64", False) == (caution.quantity, caution.exercised)
    assert all(word in str(caution) for word in ("circular_64", caution.relative, "perfmodel measure --for"))
    assert () == found.unmeasured
    for asked in ({"strict": True}, {"strict": True, "level": 0.5}):
        with pytest.raises(UnmeasuredFeatureError, match="circular_64"):
            model.predict(counts, n=1 << 14, **asked)
    with pytest.raises(UnmeasuredFeatureError):
        replace(model, strict=True).predict(counts, n=1 << 14)
    with pytest.raises(UnmeasuredFeatureError):
        rank({"sines": counts}, model, n=1 << 14, strict=True)
    assert found.seconds == rank({"sines": counts}, model, n=1 << 14)[0].seconds


def lp_sines():
    unit = make("{ [i, j]: 0 <= i < n and 0 <= j < 64 }", "out[i] = sum(j, sin(a[i] + b[j]))",
                "float64 a, out: n; float64 b: 64", assumes="n mod 64 = 0 and n >= 64")  # fmt: skip
    return lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0")


def test_a_family_by_features():
    whole = load(FOLDERS / "intel-xeon" / "stevens_kloeckner_2016.json")
    model, counts = without(whole, "op_float64_special"), count(lp_sines())
    found, true = model.predict(counts, n=1 << 14), whole.predict(counts, n=1 << 14)
    (caution,) = [each for each in found.cautions if isinstance(each, FromRelative)]
    assert "op_float64_special" == caution.quantity
    assert found.terms["op_float64_special"] > 0
    assert found.interval[0] < true.seconds < found.interval[1]


def test_a_division_that_the_fit_found_to_be_free_has_the_cost_of_a_relative():
    model = load(FOLDERS / "intel-xeon" / "bottleneck.json")
    weights = dict(model.fitted.weights)
    weights["w_divide_64"] = weights["w_divide_64"].model_copy(update={"value": 0.0, "marks": ("at bound",)})
    model = replace(model, fitted=model.fitted.model_copy(update={"weights": weights}))
    counts = kernel("[n] -> { [i, j]: 0 <= i < n and 0 <= j < 64 }", "out[i] = sum(j, a[i]/b[j])",
                    "a: n; b: 64; out: n", np.float64)  # fmt: skip
    found, strict = model.predict(counts, n=1 << 14), model.predict(counts, n=1 << 14, strict=True)
    (caution,) = [each for each in found.cautions if isinstance(each, FromRelative)]
    assert ("divide_64", True) == (caution.quantity, caution.exercised)
    assert found.seconds > strict.seconds


def test_a_caution_as_a_document():
    caution = FromRelative("a", "b", 2.0, 4.0, 3, exercised=False)
    expected = {"quantity": "a", "relative": "b", "ratio": 2.0, "low": 0.5, "high": 8.0, "devices": 3}
    assert {**expected, "measured": False} == caution.document()
    assert "no device has both" in str(replace(caution, devices=0))
    assert 0 < Ratio("b", 0.0, 0.5, 3.0).spread(0.5) < Ratio("b", 0.0, 0.5, 3.0).spread(0.9)
