"""Weights of one device from those of another, worked out by hand; what is refused; saving and loading."""

import json
import math
from dataclasses import replace

import pytest

import perfmodel as pm
from perfmodel.errors import FactsError, WeightsError
from perfmodel.facts import KEYS, DeviceFacts, Fact
from perfmodel.fitting import FitOptions
from perfmodel.fitting.conformal import Conformal
from perfmodel.fitting.weights_file import FittedWeight, FittedWeights, Residuals
from perfmodel.models import Family, families
from perfmodel.models.model import BANDWIDTH
from perfmodel.predicting import transfer
from perfmodel.predicting.model import FittedModel
from perfmodel.predicting.transfer import RATES, TransferErrors, transferred
from tests.fitting.test_weights_file import KERNELS
from tests.predicting.test_rates import DEVICE
from tests.quantities.test_multithreaded import unit_of_each_cell as of_each_cell

#: Two weights and a pure number: 3 cycles for each work-group of a unit, and 2 times the bytes at the full bandwidth.
TOY = Family(
    "toy", "this test",
    quantities=lambda case: {"groups": case.value(case.counts.work_groups()), "moved": 8.0},
    units={"groups": "operation", "moved": "B"},
    weights=(
        pm.Weight("w_cycles", "s/operation", scale="cycle"), pm.Weight("w_byte", "s/B", scale="memory_byte"),
        pm.Weight("w_rate", "operation/s", scale="cycle"), pm.Weight("w_pure", ""), BANDWIDTH,
    ),
    expression="w_cycles*groups + w_byte*moved + w_pure*groups/w_rate + moved/w_bandwidth", additive=False,
)  # fmt: skip
VALUES = {"w_cycles": 3e-9, "w_byte": 4e-12, "w_rate": 1e9, "w_pure": 0.5, "w_bandwidth": 4e11}
GPU = DEVICE.updated({"device_type": Fact("gpu", "", "by hand")})
#: Twice the clock and the bandwidth, sub-groups of 64; the bandwidth of memory is a fact.
FAST = replace(GPU, name="fast").updated({
    "clock_hz": Fact(2e9, "Hz", "by hand"), "memory_bandwidth_bytes_per_s": Fact(1e12, "B/s", "by hand"),
    "subgroup_size": Fact(64, "work-items", "by hand"),
})  # fmt: skip


def model_of(family: Family, values: dict[str, float], facts: DeviceFacts = GPU) -> FittedModel:
    units = {name: family.weight_unit(name) for name in values}
    weights = {name: FittedWeight(value=v, unit=units[name], standard_error=v / 4) for name, v in values.items()}
    fitted = FittedWeights(
        family=family.name, device=facts.name, subgroup_size=32, options=FitOptions(), rows=9, measurements="",
        rank=len(values), condition=1.0, degrees_of_freedom=4.0, converged=True,
        residuals=Residuals(geometric_mean=0.1, median=0.1, largest=0.1), notes=(), features=tuple(values),
        weights=weights,
    )  # fmt: skip
    return FittedModel(fitted, facts, family)


def without(facts: DeviceFacts, *keys: str) -> DeviceFacts:
    return replace(facts, facts=tuple((key, fact) for key, fact in facts.facts if key not in keys))


def test_twice_the_clock_and_bandwidth():
    """Times halve, rates double, a pure number stays, and the bandwidth is the new device's fact."""
    found = transferred(model_of(TOY, VALUES), FAST)
    expected = {"w_cycles": 1.5e-9, "w_byte": 2e-12, "w_rate": 2e9, "w_pure": 0.5, "w_bandwidth": 1e12}
    assert expected == pytest.approx(dict(found.weights))
    assert pytest.approx(1.5e-9 / 4) == found.standard_errors["w_cycles"]
    assert (None, ("given",)) == (found.standard_errors["w_bandwidth"], found.fitted.weights["w_bandwidth"].marks)
    assert ("fast", "round", 64) == (found.device, found.fitted.transferred_from, found.fitted.subgroup_size)
    assert "toy on fast, by facts, with weights of round" == found.name
    assert found.name in repr(found)
    groups = float(KERNELS["add"].work_groups()(n=100))
    time = 1.5e-9 * groups + 2e-12 * 8 + 0.5 * groups / 2e9 + 8 / 1e12
    assert pytest.approx(time) == found.predict(KERNELS["add"], n=100).seconds


def test_a_weight_that_no_measurement_determined_is_its_rate():
    """A cycle of the new device at 2 GHz, and as many operations a second."""
    model = model_of(TOY, VALUES)
    unknown = {n: w.model_copy(update={"marks": ("undetermined",)}) for n, w in model.fitted.weights.items()}
    found = transferred(replace(model, fitted=model.fitted.model_copy(update={"weights": unknown})), FAST)
    expected = {"w_cycles": 5e-10, "w_byte": 1e-12, "w_rate": 2e9, "w_pure": 0.5, "w_bandwidth": 1e12}
    assert expected == pytest.approx(dict(found.weights))


def test_an_interval_comes_from_devices(monkeypatch):
    """One device of two gives bounds up to 2/3: the factor e**0.3, which the scores of one of them do not exceed."""
    scores = Conformal(scores=(0.3, 0.2), groups=("a", "b"))
    monkeypatch.setattr(transfer, "transfer_errors", lambda: {"toy": TransferErrors(conformal=scores)})
    found = transferred(model_of(TOY, VALUES), FAST)
    one = found.predict(KERNELS["add"], n=100, level=0.6)
    assert pytest.approx((one.seconds * math.exp(-0.3), one.seconds * math.exp(0.3))) == one.interval
    most = found.predict(KERNELS["add"], n=100)
    assert (0.0, math.inf) == most.interval
    assert ("no bounds can be given at 90%: 2 devices give bounds up to 66.7%",) == most.warnings


ERRORS = TransferErrors(
    conformal=Conformal(scores=(1.0, 3.0, 2.0, 6.0, 8.0), groups=("a", "a", "b", "c", "d")), foreign=("c", "d")
)


def test_errors_from_another_vendor_are_scaled():
    """Means are 2, 2, 6 and 8, and 4.5 of all, which is one more device of each kind.

    The typical error is (4.5 + 2 + 2)/3 of the same vendor and (4.5 + 6 + 8)/3 of another; without a or b it is
    (16/3 + 2)/2, without c (4 + 8)/2, and without d (10/3 + 6)/2.
    """
    same, other = (4.5 + 4) / 3, (4.5 + 14) / 3
    in_own = [1 / (11 / 3), 3 / (11 / 3), 2 / (11 / 3), 6 / 6, 8 / (14 / 3)]
    assert pytest.approx([score * same for score in in_own]) == list(ERRORS.scores(foreign=False).scores)
    assert pytest.approx([score * other for score in in_own]) == list(ERRORS.scores(foreign=True).scores)
    assert ERRORS.conformal.groups == ERRORS.scores(foreign=True).groups
    alike = TransferErrors(conformal=ERRORS.conformal)
    assert alike.conformal == alike.scores(foreign=True) == alike.scores(foreign=False)


def test_weights_of_another_vendor_have_wider_intervals(monkeypatch):
    monkeypatch.setattr(transfer, "transfer_errors", lambda: {"toy": ERRORS})
    model = model_of(TOY, VALUES, replace(GPU, platform="Some CUDA"))
    same, other, unknown = (
        transferred(model, replace(FAST, platform=platform)) for platform in ("Some OpenCL", "Other 1.0", "")
    )
    assert ERRORS.scores(foreign=False) == same.fitted.conformal
    assert ERRORS.scores(foreign=True) == other.fitted.conformal
    assert "a platform of another vendor, as on 2 of these devices" in other.notes[-1]
    assert ERRORS.conformal == unknown.fitted.conformal
    assert "another vendor" not in " ".join([*same.notes, *unknown.notes])


def test_what_the_files_beside_the_weights_tell_since_the_fit_counts_too(tmp_path):
    lacking = without(GPU, "clock_hz")
    model = model_of(TOY, VALUES, lacking)
    model.save(tmp_path / "toy.json")
    clock = "clock_hz: {value: 1.0e+9, unit: Hz, source: x}"
    (tmp_path / "facts.yaml").write_text(f"facts: {{{clock}, compute_units: {{value: 99, unit: '', source: x}}}}")
    model = replace(model, path=tmp_path / "toy.json")
    with pytest.raises(FactsError, match="clock_hz of 'round'"):
        transferred(model, FAST)  # the device of these facts is unknown
    (tmp_path / "device.json").write_text(json.dumps(lacking.to_json()))
    assert VALUES["w_cycles"] / 2 == pytest.approx(transferred(model, FAST).weights["w_cycles"])


def test_each_lacking_fact_is_named():
    source, target = without(GPU, "clock_hz"), without(FAST, "memory_bandwidth_bytes_per_s", "subgroup_size")
    with pytest.raises(FactsError) as found:
        transferred(model_of(TOY, VALUES, source), target)
    text = str(found.value)
    for lacking in ("subgroup_size of 'fast'", "clock_hz of 'round'", "memory_bandwidth_bytes_per_s of 'fast'"):
        assert lacking in text
    assert f"{KEYS['clock_hz'].meaning}; for w_cycles, w_rate" in text
    assert "bandwidth of global memory; for w_byte, w_bandwidth" in text
    assert "facts.yaml" in text
    assert "--facts FILE.yaml" in text


@pytest.mark.parametrize("family", [TOY, replace(TOY, weights=(pm.Weight("w_wave", "s"),), expression="w_wave*groups")])
@pytest.mark.parametrize("types", [("cpu", "gpu"), ("gpu", "cpu")])
def test_weights_of_a_cpu_are_refused_for_a_gpu(types, family):
    source, target = (
        device.updated({"device_type": Fact(kind, "", "")}) for device, kind in zip((GPU, FAST), types, strict=True)
    )
    with pytest.raises(WeightsError, match=f"'round', a {types[0]}, cannot be used for 'fast', a {types[1]}") as found:
        transferred(model_of(family, VALUES if family is TOY else {"w_wave": 1.0}, source), target)
    advised = {"gpu": "multithreaded", "cpu": "roofline"}[types[1]]
    assert f"give weights of '{advised}' on a {types[1]} (--weights FOLDER --family {advised})" in str(found.value)
    assert pm.families()[advised].transferable


def test_a_family_without_rates():
    bare = replace(TOY, name="bare", weights=(pm.Weight("w_wave", "s"),), expression="w_wave*groups")
    with pytest.raises(WeightsError, match=r"cannot be transferred to 'fast'.* 'multithreaded', which fits it"):
        transferred(model_of(bare, {"w_wave": 1.0}), FAST)


def test_families_name_rates_that_there_are():
    used = {weight.scale for family in families().values() for weight in family.weights} - {""}
    assert set() == used - set(RATES)
    expected = {"multithreaded", "roofline", "overlap", "stevens_kloeckner_2016", "gpuperf", "mwp_cwp", "work_depth"}
    assert set() == expected - {name for name, family in families().items() if family.transferable}
    assert not families()["bottleneck"].transferable


def test_unknown_units_for_special_functions_widen_the_interval_and_unknown_latencies_are_named():
    """The W6600's facts lack both: the interval has the bounds of both numbers of units, 16 and 8 of 64 lanes."""
    family = families()["multithreaded"]
    values = {weight.name: 1e-9 for weight in family.weights if weight.unit} | {"w_sharpness": 2.0}
    values |= {name: 1e-15 for name in values if name.startswith("w_chain_")} | {"w_arithmetic": 1e-6}
    counts = pm.count(of_each_cell(" + ".join(f"rsqrt(a[i] + {k})" for k in range(16))), subgroup_size=32)
    target = pm.facts.published("w6600")
    model = transferred(model_of(family, values, pm.facts.published("titan-v")), target)
    assert any(note.startswith("arithmetic_latency_s is unknown: waiting for an ope") for note in model.fitted.notes)
    known = [model.with_facts({"special_units_per_unit": Fact(n, "", "by hand")}) for n in (16, 8)]
    assumed, (quarter, eighth) = model.predict(counts, n=28 * 6400), (m.predict(counts, n=28 * 6400) for m in known)
    assert assumed.seconds == quarter.seconds < eighth.seconds
    assert (quarter.interval[0], eighth.interval[1]) == pytest.approx(assumed.interval)
    said = [str(caution) for caution in assumed.cautions if "special_units_per_unit" in str(caution)]
    assert ["16 is assumed; intervals also cover 8"] == [caution.partition("): ")[2].partition("; write")[0]
                                                         for caution in said]  # fmt: skip
    assert not any("special_units_per_unit" in str(caution) for caution in quarter.cautions)
