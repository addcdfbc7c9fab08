"""The benefit metrics of Sim et al., against the printed equations and by hand."""

from __future__ import annotations

from dataclasses import fields

import pytest

from perfmodel.analyses.benefits import Benefits, potential_benefits
from perfmodel.errors import FamilyError
from perfmodel.fitting import FitOptions, FittedWeight, FittedWeights, Residuals
from perfmodel.models import find_family
from perfmodel.predicting.model import FittedModel
from tests.models.test_gpuperf import C2050, FAMILY, WEIGHTS, counted, printed, quantities
from tests.quantities.test_multiplicity import sequence


def model(family="gpuperf", **changes):
    values = {**WEIGHTS, **changes}
    fitted = FittedWeights(
        family=family, device="NVIDIA Tesla C2050", subgroup_size=32, options=FitOptions(), rows=1, measurements="0",
        rank=8, condition=1.0, degrees_of_freedom=1, converged=True, notes=(), features=tuple(values),
        residuals=Residuals(geometric_mean=0.0, median=0.0, largest=0.0),
        weights={
            name: FittedWeight(value=number, unit=FAMILY.weight_unit(name), standard_error=None, marks=())
            for name, number in values.items()
        },
    )  # fmt: skip
    return FittedModel(fitted, C2050, find_family(family))


@pytest.mark.parametrize("text", ["out[i] = a[i]", "out[i] = (a[i] + 1)*(a[i] + 2)*exp(a[8*i])", "out[i] = exp(a[i])"])
@pytest.mark.parametrize("n", [64, 2**16])
def test_the_metrics_identities(text, n):
    counts = counted(text)
    found, q = potential_benefits(model(), counts, {"n": n}), quantities(counts, n)
    wanted = {name: number * 1e-9 for name, number in printed(q).items()}
    at_max = q["insts"] * q["unit_warps"] * 18e-9 / 18  # ITILP_max is 18 cycles over one
    assert pytest.approx(wanted["parallel"] - at_max) == found.itilp_s  # 4.27
    assert pytest.approx(wanted["serial"]) == found.serial_s  # 4.28
    saved = found.itilp_s + found.serial_s + found.fp_s
    assert pytest.approx(wanted["parallel"] + wanted["serial"] - saved) == found.ideal_compute_s  # 4.29
    rest = wanted["memory"] - wanted["overlap"]
    assert pytest.approx(max(rest - found.ideal_memory_s, 0)) == found.memlp_s  # 4.30
    assert pytest.approx(wanted["parallel"] + wanted["serial"] + rest) == found.seconds
    seconds = model().predict(counts, n=n, allow_unmeasured=True).seconds
    assert pytest.approx(seconds) == found.seconds


def test_the_ideals():
    found = potential_benefits(model(), counted("out[i] = a[i]*a[i]"), {"n": 2**16})
    assert pytest.approx(2 * 4 * 2**16 / 144e9) == found.ideal_memory_s  # 4.26: every byte once, at the bandwidth
    assert pytest.approx(2**16 / 32 / 14 * 1e-9) == found.ideal_compute_s  # 4.25: a product each, at full ITILP
    assert pytest.approx(0) == found.itilp_s


def test_one_warp_lacks_parallelism():
    found = potential_benefits(model(), counted("out[i] = 3*a[i]", width=32, assumptions="n=32"), {"n": 32})
    # A product, two accesses and their addresses, in a chain: 18 cycles each that could be one.
    assert pytest.approx(5 * (18 - 1) * 1e-9) == found.itilp_s
    assert found.itilp_s > found.ideal_compute_s


def test_a_model_of_another_family_is_reported():
    with pytest.raises(FamilyError, match="family 'roofline'; fit the family 'gpuperf'"):
        potential_benefits(model("roofline"), counted("out[i] = a[i]"), {"n": 64})


def test_benefits_of_launches_add_up():
    parts = (2048, 40), (262144, 8)
    whole, *apart = (potential_benefits(model(), sequence(*some), {}) for some in (parts, parts[:1], parts[1:]))
    for one in fields(Benefits):
        values = [getattr(of, one.name) for of in apart]
        expected = values[0] if one.name == "most_itilp" else sum(values)
        assert pytest.approx(expected) == getattr(whole, one.name), one.name
