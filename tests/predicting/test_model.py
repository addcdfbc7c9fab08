import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import loopy as lp
import numpy as np
import pytest

import perfmodel as pm
from perfmodel import store
from perfmodel.errors import PredictionError, SizeError, StoreError, UnmeasuredFeatureError
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.fitting.cautions import Measured
from perfmodel.fitting.conformal import Conformal, LocalScale, WeightScale
from perfmodel.models import Family
from perfmodel.models.model import Weight
from perfmodel.predicting.model import FittedModel, fit, load
from tests.corpus.kernel import make
from tests.fitting.test_weights_file import KERNELS, PLANTED, SIZES, measurements
from tests.recorded import INTEL, PROBED, SIMULATED
from tests.standins import Counts, Operation, Row, Rows, count

MODEL = fit(measurements())
OTHER = Counts(
    operation_table=(
        Operation("float32", "add", count("n^3")), Operation("float32", "mul", count("n")),
        Operation("float64", "rsqrt", count("n")), Operation("int32", "mul", count("n")),
    ),
)


def test_terms_by_hand():
    found = MODEL.predict(KERNELS["tile"], n=100)
    expected = {
        "global_load_32_stride1": 1e6 * PLANTED["global_load_32_stride1"],
        "local_load_32": 9e6 * PLANTED["local_load_32"], "work_groups": 100 * PLANTED["work_groups"],
        "launches": PLANTED["launches"],
    }  # fmt: skip
    measured = {name: term for name, term in found.terms.items() if term}
    assert expected.keys() == measured.keys()
    for name, term in expected.items():
        assert pytest.approx(term, rel=1e-8) == found.terms[name]
    assert pytest.approx(sum(expected.values()), rel=1e-8) == found.seconds
    assert (0.0, math.inf) == found.interval  # one group of kernels says nothing of others
    assert "no bounds can be given at 90%" in found.warnings[0]
    assert () == found.unmeasured


def test_a_kernel_is_counted_on_the_way():
    t_unit = make("{[i]: 0 <= i < n}", "out[i] = a[i] + 1 {if = i > 0}", "out, a: n", assumes="n >= 1")
    t_unit = lp.split_iname(t_unit, "i", 16, outer_tag="g.0", inner_tag="l.0")
    found = MODEL.predict(t_unit, n=100, allow_unmeasured=True)
    assert pytest.approx(99 * PLANTED["op_float32_add"], rel=1e-8) == found.terms["op_float32_add"]
    assert pytest.approx(7 * PLANTED["work_groups"], rel=1e-8) == found.terms["work_groups"]


def test_a_prediction_is_withheld_where_a_feature_was_never_measured():
    with pytest.raises(UnmeasuredFeatureError) as caught:
        MODEL.predict(OTHER, n=10, strict=True)
    assert ("op_float32_mul", "op_float64_special") == caught.value.features
    assert "op_float32_mul, op_float64_special" in str(caught.value)
    found = MODEL.predict(OTHER, n=10, allow_unmeasured=True, strict=True)
    assert ("op_float32_mul", "op_float64_special") == found.unmeasured
    weights = MODEL.weights
    expected = 1000 * weights["op_float32_add"] + 10 * weights["work_groups"] + weights["launches"]
    assert pytest.approx(expected, rel=1e-12) == found.seconds


@pytest.mark.parametrize(("name", "sizes"), [("n", {}), ("n", {"n": -1}), ("m", {"n": 1, "m": 2})])
def test_a_wrong_size_is_named(name, sizes):
    with pytest.raises(SizeError) as caught:
        MODEL.predict(KERNELS["add"], **sizes)
    assert f"'{name}'" in str(caught.value)


@pytest.mark.parametrize("size", [2**53 + 1, 10**5000, 2.0**60, [1, 2**60], np.array([10**30], object)], ids=range(5))
def test_a_size_that_no_double_holds_exactly_is_named(size):
    wide = replace(KERNELS["add"], types={"n": "int64"})
    assert MODEL.predict(wide, n=2**53).seconds > 0
    with pytest.raises(SizeError, match="above 2\\*\\*53 and so not exact as a double") as caught:
        MODEL.predict(wide, n=size)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint32", "int64"])
@pytest.mark.parametrize("given", [int, lambda n: np.array([n, 1])], ids=range(2))
def test_a_size_that_the_kernels_argument_cannot_hold_is_refused(dtype, given):
    counts = replace(KERNELS["add"], types={} if dtype == "int32" else {"n": dtype})
    bits, signed = int(dtype.lstrip("uint")), not dtype.startswith("u")
    largest = 2 ** (bits - signed) - 1
    assert np.all(np.asarray(MODEL.predict(counts, n=given(min(largest, 2**53))).seconds) > 0)
    if bits == 64:
        return
    with pytest.raises(SizeError) as caught:
        MODEL.predict(counts, n=given(largest + 1))
    least = -largest - 1 if signed else 0
    assert f"'n' is {largest + 1}, and the kernel's argument is of type {dtype}" in str(caught.value)
    assert f"holds numbers from {least} to {largest};" in str(caught.value)


SCORED = FittedModel(
    MODEL.fitted.model_copy(
        update={
            "conformal": Conformal(scores=(math.log(2), math.log(3)), groups=("a", "b")),
            "measured": Measured(seconds=(1e-5, 1e-2), features={"op_float32_add": (1e5, 1e8)}),
        }
    )
)


def test_intervals_are_factors_and_depend_on_the_level():
    one = SCORED.predict(KERNELS["add"], n=100, level=0.3)
    assert pytest.approx((one.seconds / 2, one.seconds * 2)) == one.interval
    assert () == one.warnings
    found = SCORED.predict(KERNELS["add"], n=np.array([100, 200]), level=0.6)
    assert pytest.approx(found.seconds / 3) == found.interval[0]
    assert pytest.approx(found.seconds * 3) == found.interval[1]
    assert (0.0, math.inf) == SCORED.predict(KERNELS["add"], n=100).interval
    assert SCORED == FittedModel(SCORED.fitted)


SLOPES = {"launches": -1.0, "op_float32_add": 3.0, "work_groups": 0.0}
LOCAL = LocalScale(
    constant=0.5, lack=1.0, private=1.0,
    weights={name: WeightScale(slope=slope, support=0.7) for name, slope in SLOPES.items()},
)  # fmt: skip


def with_scales(model: FittedModel) -> FittedModel:
    """Scores of two groups, 0.6 in scales of 1 and of 2, and scales of predictions by weight."""
    scores = Conformal(scores=(0.6, 0.6), groups=("a", "b"), scales=(1.0, 2.0), scale=LOCAL)
    return replace(model, fitted=model.fitted.model_copy(update={"conformal": scores, "measured": None}))


def test_the_interval_depends_on_what_the_prediction_rests_on():
    model = with_scales(MODEL)
    for n in (1, 100):
        added, groups = 1000 * n**2 * PLANTED["op_float32_add"], n * PLANTED["work_groups"]
        total = added + groups + PLANTED["launches"]
        scale = math.exp((3 * added - PLANTED["launches"]) / total - 0.5)
        scale *= math.sqrt(added**2 + groups**2 + PLANTED["launches"] ** 2) / total  # over (0.7 + 0.3)**0.5
        for level, score in ((0.3, 0.3), (0.6, 0.6)):
            found = model.predict(KERNELS["add"], n=n, level=level)
            expected = total / math.exp(score * scale), total * math.exp(score * scale)
            assert pytest.approx(expected, rel=1e-6) == found.interval
            assert pytest.approx(scale, rel=1e-6) == model.local_scale(found)
    assert (0.0, math.inf) == model.predict(KERNELS["add"], n=100, level=0.7).interval
    assert 1.0 == model.local_scale(model.predict(KERNELS["add"], n=100, level=0.7))
    assert 1.0 == MODEL.local_scale(MODEL.predict(KERNELS["add"], n=100))
    assert "no bounds can be given at 70%" in model.predict(KERNELS["add"], n=100, level=0.7).warnings[0]


def test_a_wide_interval_has_a_reason():
    wide = with_scales(MODEL).predict(KERNELS["add"], n=np.array([1, 100]), level=0.5)
    assert 1 == len(wide.warnings)
    assert wide.warnings[0].startswith("its interval is ")
    assert wide.warnings[0].endswith("kernels whose time depends on op_float32_add are predicted badly")
    assert () == with_scales(MODEL).predict(KERNELS["add"], n=1, level=0.5).warnings


def test_sizes_far_outside_of_what_was_measured_carry_a_warning():
    small, large = (SCORED.predict(KERNELS["add"], n=n, level=0.5).warnings for n in (100, 10_000))
    assert () == small
    assert ["predicted time is 2", "op_float32_add is 1e+11"] == [w[: len(p)] for w, p in zip(
        large, ["predicted time is 2", "op_float32_add is 1e+11"], strict=True)]
    many = SCORED.predict(KERNELS["add"], n=np.array([100, 10_000]), level=0.5).warnings
    assert "at 1 of 2 sizes" in many[0]


def test_a_time_below_zero_is_an_error_that_names_the_terms():
    """All weights are -1 s but that of launches: a small size is above zero, a large one with its additions below."""
    values = {name: 2e5 if name == "launches" else -1.0 for name in SCORED.weights}
    changed = {n: w.model_copy(update={"value": values[n]}) for n, w in SCORED.fitted.weights.items()}
    negative = FittedModel(SCORED.fitted.model_copy(update={"weights": changed, "measured": None}))
    assert "launches" not in negative.below_zero
    assert "op_float32_add" in negative.below_zero
    positive = {n: w.model_copy(update={"value": 1.0}) for n, w in changed.items()}
    assert () == FittedModel(SCORED.fitted.model_copy(update={"weights": positive})).below_zero
    with pytest.raises(PredictionError, match="negative are op_float32_add") as raised:
        negative.predict(KERNELS["add"], n=100, level=0.5)
    assert "launches" not in str(raised.value).partition(";")[2]
    with pytest.raises(PredictionError, match="at 1 of 2 sizes"):
        negative.predict(KERNELS["add"], n=np.array([1, 100]), level=0.5)


TOY = Family(
    name="toy", citation="this test",
    quantities=lambda case: {"waves": case.value(case.counts.work_groups()) / case.fact("compute_units")},
    units={"waves": ""}, sums={"compute": ("op_float*",), "memory": ("global_*",)},
    weights=(Weight("w_wave", "s", start=1e-6),), parts={"busy": "max(compute, memory)"},
    expression="busy + w_wave*waves", additive=False,
)  # fmt: skip
UNITS = DeviceFacts.from_mapping("stand-in", "none", "0", {"compute_units": Fact(4, "", "by hand")})


def toy_measurements() -> Rows:
    rows = []
    for n in (1024, *SIZES):
        times = {"empty": 0.0, "add": 1000 * n**2 * 2e-11, "load": 100 * n**2 * 4e-10}
        rows += [Row(name, {"n": n}, time + n / 4 * 3e-7, name, group=name) for name, time in times.items()]
    found = Rows(tuple(rows), KERNELS)
    object.__setattr__(found, "facts", UNITS)
    return found


def test_a_family_with_an_expression_of_its_own(monkeypatch, tmp_path):
    model = fit(toy_measurements(), TOY)
    assert pytest.approx(3e-7, rel=1e-6) == model.weights["w_wave"]
    found = model.predict(KERNELS["add"], n=100)
    assert pytest.approx(2e-4 + 100 / 4 * 3e-7, rel=1e-6) == found.seconds
    assert pytest.approx({"busy": 2e-4}, rel=1e-6) == dict(found.terms)
    many = model.predict(KERNELS["add"], n=np.array([50, 100]))
    assert pytest.approx(found.seconds) == many.seconds[1]
    # what was known of the device is in the file: it need not lie beside it, and may be another by now
    monkeypatch.setattr("perfmodel.models.families", lambda: {"toy": TOY})
    model.save(tmp_path / "toy.json")
    again = load(tmp_path / "toy.json")
    assert model == again
    assert found.seconds == again.predict(KERNELS["add"], n=100).seconds
    grown = UNITS.updated({"compute_units": Fact(8, "", "by another hand"), "banks": Fact(32, "", "by hand")})
    (tmp_path / "device.json").write_text(json.dumps(grown.to_json()))
    assert UNITS == load(tmp_path / "toy.json").facts
    assert found.seconds == load(tmp_path / "toy.json").predict(KERNELS["add"], n=100).seconds


def test_facts_beside_weights_that_hold_none(tmp_path):
    MODEL.save(tmp_path / "w.json")
    assert load(tmp_path / "w.json").facts is None
    (tmp_path / "device.json").write_text(json.dumps(UNITS.to_json()))
    assert UNITS == load(tmp_path / "w.json").facts
    (tmp_path / "facts.yaml").write_text("facts: {banks: {value: 32, unit: '', source: by hand}}")
    assert UNITS.updated({"banks": Fact(32, "", "by hand")}) == load(tmp_path / "w.json").facts
    (tmp_path / "device.json").write_text("{")
    with pytest.raises(StoreError, match=r"device.json': the document is not valid JSON"):
        load(tmp_path / "w.json")


OWN = "w_launch*launches + max(w_add*op_float32_add, w_load*global_load_32_stride1)"


def test_an_expression_of_a_user_s_own(tmp_path):
    rows = [
        Row(name, {"n": n}, 3e-6 + max(added * n**2 * 2e-11, loaded * n**2 * 4e-10), name, group=name)
        for n in (1024, *SIZES)
        for name, added, loaded in (("empty", 0, 0), ("add", 1000, 0), ("load", 0, 100))
    ]
    model = fit(Rows(tuple(rows), KERNELS), Family.from_expression(OWN, "mine"))
    expected = {"w_launch": 3e-6, "w_add": 2e-11, "w_load": 4e-10}
    assert pytest.approx(expected, rel=1e-6) == dict(model.weights)
    assert {"w_launch": "s/launch", "w_add": "s/operation", "w_load": "s/access"} == dict(model.units)
    # a file holds the expression; what the expression charges for and no measurement had is withheld
    model.save(tmp_path / "mine.json")
    again = load(tmp_path / "mine.json")
    assert ("mine", OWN) == (again.family.name, again.family.expression)
    assert model.predict(KERNELS["add"], n=100).seconds == again.predict(KERNELS["add"], n=100).seconds
    few = fit(Rows(tuple(row for row in rows if row.kernel != "load"), KERNELS), Family.from_expression(OWN, "mine"))
    with pytest.raises(UnmeasuredFeatureError, match="global_load_32_stride1"):
        few.predict(KERNELS["load"], n=100)


EVERY = 43
FAMILIES = ("bottleneck", "roofline", "stevens_kloeckner_2016", "mwp_cwp")


def numbers(prediction: pm.Prediction, place: Any = ()) -> list[float]:
    """Seconds, terms and bounds, of one of the sizes."""
    columns = [prediction.seconds, *prediction.terms.values(), *(prediction.interval or ())]
    return [float(np.broadcast_to(column, np.shape(prediction.seconds))[place]) for column in columns]


@pytest.mark.parametrize("folder", [INTEL, PROBED[1], SIMULATED], ids=lambda folder: folder.name)
def test_a_size_alone_and_in_an_array_have_the_same_prediction(folder: Path) -> None:
    tests = store.read(folder / store.TESTS_FILE)
    for name in FAMILIES:
        model = pm.load(folder / f"{name}.json")
        for row in list(tests)[::EVERY]:
            counts = tests.counts[row.counts_hash]
            sizes = [{name: factor * size for name, size in row.parameters.items()} for factor in (1, 2)]
            arrays = {size: np.array([at[size] for at in sizes]) for size in row.parameters}
            many = model.predict(counts, arrays, allow_unmeasured=True)
            for place, at in enumerate(sizes):
                one = model.predict(counts, at, allow_unmeasured=True)
                assert pytest.approx(numbers(one), rel=1e-12, abs=1e-300) == numbers(many, place), (row.kernel, at)
                assert list(one.terms) == list(many.terms)
