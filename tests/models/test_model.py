"""The value of a family: expressions, units, sums written out, weights, decisions, and how families are found."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import KernelCounts, count
from perfmodel.counts.program.program import DECISIONS
from perfmodel.errors import FamilyError, UnknownNameError
from perfmodel.expressions.expression import parse, weight_units
from perfmodel.facts import Fact, published
from perfmodel.fitting import FitOptions
from perfmodel.fitting.design import build_design
from perfmodel.models import Family, families, find_family
from perfmodel.models.model import RunTime, Weight, bind, known_weights
from perfmodel.predicting import load
from perfmodel.quantities.case import Case
from tests.corpus.kernel import make
from tests.quantities.test_multiplicity import sequence
from tests.standins import Row, Rows

TEXT = "w_launch*launches + smooth_max(w_add*op_float32_add, w_load*global_load_32_stride1, w_sharpness)"


def test_weights_have_the_units_that_follow():
    family = Family.from_expression(TEXT)
    expected = {"w_launch": "s/launch", "w_add": "s/operation", "w_load": "s/access", "w_sharpness": ""}
    assert expected == {weight.name: weight.unit for weight in family.weights}
    assert family == find_family(f"expr: {TEXT}") == find_family(f"expr:{TEXT}")
    assert not family.takes("launches")
    sharpness = family.weights[-1]
    assert (4.0, 1.0, 64.0) == (sharpness.start, sharpness.lower, sharpness.upper)
    (_, exponent) = Family.from_expression("w_a*launches**w_b").weights
    assert (1.0, 0.0) == (exponent.start, exponent.lower)


@pytest.mark.parametrize(("text", "expected"), [
    ("w_a", "s"), ("2*w_a*launches/3", "s/launch"), ("launches/w_a", "launch/s"),
    ("w_a*launches*op_float32_add", "s/launch/operation"), ("w_a*launches/op_float32_add", "s*operation/launch"),
    ("w_a/launches", "s*launch"), ("launches/(w_a*op_float32_add)", "launch/operation/s"), ("1/w_a", "1/s"),
    ("abs(w_a*launches)", "s/launch"), ("where(launches > 1, w_a*launches, 0)", "s/launch"), ("launches**w_a", ""),
    ("max(w_a*(launches - 1), 0)", "?"),
])  # fmt: skip
def test_units_by_hand(text, expected):
    assert {"w_a": expected} == weight_units(parse(text))


def test_bounds_of_weights_are_seen():
    """1 - 1/w cannot be negative where w is at least 1."""
    text = "launches*(1 - 1/w_share)"
    with pytest.raises(FamilyError, match="can be negative"):
        Family.from_expression(text)
    assert Family.from_expression(text, weights=[Weight("w_share", "", lower=1.0, start=2.0)]).weights
    with pytest.raises(FamilyError, match="can be negative"):
        Family.from_expression("w_a*launches", weights=[Weight("w_a", "s/launch", lower=-1.0)])


@pytest.mark.parametrize(("text", "at", "said"), [
    ("w_a*launches + w_b*op_float32_ad", "op_float32_ad", "did you mean op_float32_add"),
    ("w_a*global_load_32_stride_1", "global_load_32_stride_1", "did you mean global_load_32_stride1"),
    ("w_a*launches + compute_units", "compute_units", "neither a feature nor a weight"),
    ("w_a*floor(w_b*launches)", "floor(w_b*launches)", "not differentiable"),
    ("w_a*launches - w_b*work_groups", "w_a*launches - w_b*work_groups", "can be negative"),
    ("2*launches", "2*launches", "it has no weight"),
])  # fmt: skip
def test_errors_point_into_the_expression(text, at, said):
    with pytest.raises(FamilyError) as caught:
        Family.from_expression(text)
    error = caught.value
    assert said in str(error)
    assert at == text[error.start : error.end]
    lines = str(error).splitlines()
    assert lines[2].index("^") - 4 == text.index(at)
    assert "^" * len(at) in lines[2]


def test_negative_steps_are_seen_through_parts():
    with pytest.raises(FamilyError, match="can be negative") as caught:
        parse("w_a + left", parts={"left": "launches - work_groups"})
    assert "left" == caught.value.text[caught.value.start : caught.value.end]
    assert parse("w_a + max(left, 0)", parts={"left": "launches - work_groups"})


TOY = Family(
    name="toy", citation="nowhere", sums={"chip": ("op_*",), "memory": ("global_*",)},
    weights=(Weight("w_share", "", start=0.5),), parts={"half": "chip*w_share"}, expression="half + memory",
)  # fmt: skip


def test_sums_run_over_the_features_that_are_given_and_known_weights_are_numbers():
    found = bind(TOY, ["op_float32_add", "global_load_32_stride1", "op_float32_mul", "launches"])
    expected = ("w_op_float32_add", "w_op_float32_mul", "w_share", "w_global_load_32_stride1")
    assert expected == found.weights
    values = {"op_float32_add": 2.0, "op_float32_mul": 3.0, "global_load_32_stride1": 4.0}
    assert (2 * 10 + 3 * 20) * 0.5 + 4 * 30 == found.value(values, [10.0, 20.0, 0.5, 30.0])
    found = bind(TOY, ["op_float32_add"], {"w_share": 0.25})
    assert ("w_op_float32_add",) == found.weights
    assert 2 * 10 * 0.25 == found.value({"op_float32_add": 2.0}, [10.0])


ADDED = {"op_float32_add": 2e6, "op_float32_mul": 0.0, "global_load_32_stride1": 1e6, "launches": 1.0}


def test_in_a_plain_sum_each_term_rests_on_its_weight():
    found = RunTime(find_family("stevens_kloeckner_2016"), {"op_float32_add": 3e-12, "launches": -1e-6})
    assert {"op_float32_add": 6e-6, "launches": -1e-6} == pytest.approx(found.by_weight(ADDED))


@pytest.mark.parametrize("sharpness", [1.0, 3.0])
def test_what_rests_on_each_weight_is_the_change_of_the_time_with_it(sharpness):
    family = find_family("overlap")
    weights = {"w_sharpness": sharpness, "op_float32_add": 3e-12, "global_load_32_stride1": 5e-12, "launches": 1e-6}
    found = RunTime(family, weights).by_weight(ADDED)
    assert weights.keys() == found.keys()
    for name, value in weights.items():
        above, below = (
            RunTime(family, {**weights, name: value * (1 + step)}).evaluate(ADDED)[0] for step in (1e-6, -1e-6)
        )
        assert pytest.approx((above - below) / 2e-6, rel=1e-5) == found[name]
    many = RunTime(family, weights).by_weight({**ADDED, "op_float32_add": np.array([2e6, 4e6])})
    again = RunTime(family, weights).by_weight({**ADDED, "op_float32_add": 4e6})
    assert [found["w_sharpness"], again["w_sharpness"]] == pytest.approx(many["w_sharpness"].tolist())
    assert pytest.approx(again["op_float32_add"]) == many["op_float32_add"][1]


def test_families_are_found_by_their_names_and_an_unknown_one_is_answered_with_those_that_exist():
    assert all(family is find_family(name) is find_family(family) for name, family in families().items())
    with pytest.raises(UnknownNameError) as caught:
        find_family("roofine")
    assert all(name in str(caught.value) for name in ("roofine", *families()))


FOLDER = Path(__file__).parents[2] / "fitted_weights"
DEVICES = ("gpgpu-sim-gtx480", "nvidia-titan-v", "pocl-skylake-avx512-amd-epyc")
FITS = [path for device in DEVICES for path in sorted((FOLDER / device).glob("*.json")) if "w_" in path.read_text()]
SIZES = {"n": 4096, "m": 64}


def clipped_sums() -> KernelCounts:
    unit = make("{ [i, j]: 0 <= i < n and 0 <= j < m }", """
        if x[i] > 0.5
            out[i] = sum(j, a[j, i] if a[j, i] < x[i] else 2*x[i])
        end
        """, "x, out: n; a: m, n", assumes="n >= 1 and n mod 64 = 0 and m >= 1")  # fmt: skip
    unit = lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0")
    tests = ("x[i_inner + i_outer*64] > 0.5", "a[j, i_inner + i_outer*64] < x[i_inner + i_outer*64]")
    return count(unit, cache=False, statistics=dict.fromkeys(tests, 0.5))


def without_decisions(counts: KernelCounts) -> KernelCounts:
    rows = tuple(row for row in counts.operation_table if row.kind not in DECISIONS)
    return replace(counts, source=replace(counts.program, decisions=()), operation_table=rows)


@pytest.mark.parametrize("path", FITS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_decisions_are_instructions_of_two_models_only(path: Path) -> None:
    counts = clipped_sums()
    assert {"compare", "select"} <= {row.kind for row in counts.operation_table}
    model = load(path)
    without, made = (
        model.predict(each, allow_unmeasured=True, **SIZES) for each in (without_decisions(counts), counts)
    )
    assert without.unmeasured == made.unmeasured
    if path.stem == "multithreaded" or (path.stem == "bottleneck" and "pocl" in path.parent.name):
        assert without.seconds < made.seconds
    elif path.stem == "bottleneck":  # it is a model of processors, whose weights on a GPU hardly depend on instructions
        assert pytest.approx(without.seconds, rel=0.02) == made.seconds
    else:
        assert without.seconds == made.seconds


KNOWN = published("gtx-770").updated({"global_transaction_bytes": Fact(128, "B", "made up")})
#: Work-items of each launch, and the loads that each adds up: few that wait, many at the bandwidth, one group.
PARTS = (512, 4000), (262144, 8), (64, 60)
OF_ONE_LAUNCH = [family for family in families().values() if family.of_one_launch]

counted = cache(sequence)


def run_time(family):
    own = {one.name: (one.start or 1.0) * (1 + k / 10) for k, one in enumerate(family.weights)}
    return RunTime(family, {**own, **known_weights(family, KNOWN, fit_facts=True)})


def values(family, *parts):
    return family.values(Case(counted(*parts), {}, KNOWN, family.name))


def test_they_are_those_of_warps():
    assert {"gpuperf", "mwp_cwp", "mwp_cwp_l2", "mwp_cwp_l2_all_warps"} == {family.name for family in OF_ONE_LAUNCH}


@pytest.mark.parametrize("family", OF_ONE_LAUNCH, ids=lambda family: family.name)
class TestFamily:
    def test_launches_take_as_long_as_kernels_of_one_launch(self, family):
        run, whole = run_time(family), values(family, *PARTS)
        seconds, terms = run.evaluate(whole)
        each = [run.evaluate(values(family, part)) for part in PARTS]
        assert pytest.approx(sum(one for one, _ in each)) == seconds
        assert pytest.approx(seconds) == run.seconds(whole)
        for name in family.parts:
            assert pytest.approx(sum(of_one[name] for _, of_one in each)) == terms[name]

    def test_what_rests_on_a_weight_is_that_of_all_launches(self, family):
        run = run_time(family)
        each = [run.by_weight(values(family, part)) for part in PARTS]
        for name, seconds in run.by_weight(values(family, *PARTS)).items():
            assert pytest.approx(sum(of_one[name] for of_one in each)) == seconds

    def test_a_fit_sees_rows_of_one_launch_and_of_several(self, family):
        forms = (PARTS, PARTS[:1], PARTS[1:], PARTS[:1] * 2)
        rows = tuple(Row("k", {}, 1.0, counted(*parts).hash) for parts in forms)
        of_hash = {counted(*parts).hash: counted(*parts) for parts in forms}
        table = build_design(Rows(rows, of_hash, facts=KNOWN), family, FitOptions(fit_facts=True))
        run = run_time(family)
        columns = dict(zip(table.names, table.matrix.T, strict=True))
        found = table.model.value(columns, [run.weights[name] for name in table.model.weights])
        np.testing.assert_allclose(found, [run.seconds(values(family, *parts)) for parts in forms], rtol=1e-12)
