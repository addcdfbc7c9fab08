"""The hook for Kernel Tuner: ranking, restriction, search order, and the code of configurations."""

import copy
import sys
from types import SimpleNamespace

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.errors import ArgumentError, MissingExtraError, TuningError
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.hooks import Guide
from perfmodel.hooks.kernel_tuner import PredictedFirst, device_code, made_arguments
from perfmodel.kernels.space import Space
from perfmodel.predicting.model import FittedModel
from tests.hooks.spaces import MODEL, SIZES, SPACE, build


def small(most: int) -> FittedModel:
    """The model of a device that allows groups of so many work-items."""
    facts = {"max_work_group_size": Fact(most, "work-items", "a test")}
    return FittedModel(MODEL.fitted, DeviceFacts.from_mapping("D", "P", "1", facts))


def guide(**changes) -> Guide:
    own = Space(changes.pop("build", build), changes.pop("values", SPACE), changes.pop("restrictions", ()))
    return Guide(own, **{"model": MODEL, "sizes": SIZES, "allow_unmeasured": True, **changes})


def kept(guide: Guide, **asked) -> list[tuple[int, int]]:
    """The configurations (group, terms) that a restriction leaves, in the order of the space."""
    test = guide.restriction(**asked)
    return [(g, t) for g in SPACE["group"] for t in SPACE["terms"] if test(group=g, terms=t, block_size_x=g)]


def test_configurations_that_are_allowed_and_fit_are_ranked_by_their_predicted_times():
    found = guide().ranked
    assert [1, 1, 2, 2, 4, 4] == [one["terms"] for one, _ in found]
    assert [4096e-12 * terms for terms in (1, 1, 2, 2, 4, 4)] == pytest.approx([seconds for _, seconds in found])
    assert {"group": 64, "terms": 1, "block_size_x": 64} == found[0][0]
    found = guide(restrictions=[lambda one: one["group"] * one["terms"] <= 64])
    assert {(64, 1), (32, 1), (32, 2)} == {(one["group"], one["terms"]) for one, _ in found.ranked}
    assert {32} == {one["group"] for one, _ in guide(model=small(32)).ranked}


def test_spaces_that_cannot_be_ranked_are_refused():
    with pytest.raises(TuningError, match="none of the 6 configurations that the restrictions allow fits"):
        _ = guide(model=small(16)).ranked
    with pytest.raises(TuningError, match="launches groups of 64x1x1, and terms give 1x1x1"):
        _ = guide(blocks=("terms",)).ranked


def test_the_shape_of_the_groups_is_a_parameter_unless_others_are():
    assert {"group": [64, 32], "terms": [4, 1, 2], "block_size_x": [32, 64]} == guide().tune_params
    assert {"group": [64, 32], "terms": [4, 1, 2]} == guide(blocks=("group",)).tune_params
    own = guide(
        build=lambda block_size_x, terms: build(block_size_x, terms), values={"block_size_x": (32, 64), "terms": (1,)}
    )
    assert {"block_size_x": [32, 64], "terms": [1]} == own.tune_params


@pytest.mark.parametrize(("asked", "expected"), [
    ({}, [(64, 4), (64, 1), (64, 2), (32, 4), (32, 1), (32, 2)]),
    ({"within": 2.0}, [(64, 1), (64, 2), (32, 1), (32, 2)]), ({"within": 1.99}, [(64, 1), (32, 1)]),
    ({"top": 3}, [(64, 1), (64, 2), (32, 1)]), ({"top": 3, "within": 1.5}, [(64, 1), (32, 1)]),
    ({"top": 1, "within": 4.0}, [(64, 1)]),
])  # fmt: skip
def test_a_restriction_keeps_configurations_by_factor_and_number(asked, expected):
    assert expected == kept(guide(), **asked)


@pytest.mark.parametrize("asked", [{"within": 0.5}, {"top": 0}, {"within": float("nan")}])
def test_a_restriction_must_keep_something(asked):
    with pytest.raises(ArgumentError, match="keep nothing; give a factor or a number of 1 or more"):
        guide().restriction(**asked)


def test_a_factor_needs_a_positive_shortest_time():
    free = guide(sizes={"n": 64}, build=lambda group, terms: build(group, 0), values={"group": (32,), "terms": (0,)})
    with pytest.raises(ArgumentError, match=r"the shortest predicted time is 0 s; give top="):
        free.restriction(within=2.0)


def test_a_restriction_is_called_in_three_ways_and_copied():
    test = copy.deepcopy(guide().restriction(top=1))
    assert test(64, 1, 64)
    assert not test(64, 2, 64)
    assert not test(64, 1, 32)
    assert test({"group": 64, "terms": 1, "block_size_x": 64})
    assert test(block_size_x=64, terms=1, group=64)


def test_the_optimizer_runs_the_fastest_predictions_first():
    found = guide(blocks=("group",))
    places = {repr(sorted(one.items())): place for place, (one, _) in enumerate(found.ranked)}
    order: list[tuple[int, int]] = []

    def cost(values):
        order.append(values)
        return abs(values[1] - 2)  # in truth, two terms are the best

    space = SimpleNamespace(list=[(g, t) for g in (32, 64) for t in (1, 2, 4)])
    best = PredictedFirst(("group", "terms"), places)(cost, space)
    assert [(64, 1), (32, 1), (64, 2), (32, 2), (64, 4), (32, 4)] == order
    assert ((64, 2), 0) == best


def test_a_space_that_was_not_predicted_is_refused_and_the_strategy_needs_kernel_tuner(monkeypatch):
    optimizer = PredictedFirst(("group",), {"[('group', 32)]": 0})
    with pytest.raises(ArgumentError, match=r"has the configuration \(group=16\), the guide does not"):
        optimizer(lambda values: 0.0, SimpleNamespace(list=[(32,), (16,)]))
    monkeypatch.setitem(sys.modules, "kernel_tuner", None)
    with pytest.raises(MissingExtraError, match=r"perfmodel\[kernel-tuner\]"):
        guide().strategy()


def test_the_kernel_is_loopys():
    found = guide().kernel()
    assert ("summed", "OpenCL", {}) == (found["kernel_name"], found["lang"], found["defines"])
    one = {"group": 32, "terms": 2, "block_size_x": 32}
    text = found["kernel_source"](one)
    assert "__kernel void __attribute__ ((reqd_work_group_size(32, 1, 1))) summed(" in text
    assert 2 == text.split("out[", 1)[1].count(" + a[")
    assert (4096, 1, 1) == found["problem_size"](one)
    out, a, n = found["arguments"]
    assert ((4096,), np.float32, 4096) == (a.shape, out.dtype, n)
    assert 0.5 <= a.min() < a.max() < 2.0


def test_arrays_may_be_given_if_the_kernel_has_them_and_kernels_of_different_names_are_refused():
    a = np.arange(4096, dtype=np.float32)
    assert a is guide().kernel({"a": a})["arguments"][1]
    with pytest.raises(ArgumentError, match="name b, which the kernel does not have; name some of: out, a, n"):
        guide().kernel({"b": np.zeros(4)})
    with pytest.raises(ArgumentError):
        guide().kernel(scalars={"p": 2.0})
    def named(group, terms):
        unit = build(group, terms)
        return lp.rename_callable(unit, "summed", f"summed_{terms}") if terms > 1 else unit

    found = guide(build=named).kernel()
    with pytest.raises(TuningError, match=r"is the kernel summed_2\(out, a, n\), another one is"):
        found["kernel_source"]({"group": 32, "terms": 2, "block_size_x": 32})


@pytest.mark.parametrize(("make", "text"), [
    (lambda group: 1 // 0, "(group=32) cannot be built: ZeroDivisionError"),
    (lambda terms: build(32), "cannot be built: TypeError"),
    (lambda group: "a kernel", "gives str, where build() must return a loopy.TranslationUnit"),
    (lambda group: lp.make_kernel("{[i]: 0 <= i < n}", "out[i] = a[i]", lang_version=(2018, 2)),
     "(group=32) cannot be counted: "),
])  # fmt: skip
def test_an_invalid_configuration_is_named(make, text):
    with pytest.raises(TuningError) as caught:
        guide(build=make).counts({"group": 32})
    assert text in str(caught.value)


def transposed() -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[i, j]: 0 <= i < n and 0 <= j < m}",
        "out[j, i] = p*a[i, j]",
        [
            lp.GlobalArg("out", np.float32, shape="m, n"), lp.GlobalArg("a", np.float64, shape="n, m"),
            lp.ValueArg("p", np.float32), lp.ValueArg("n, m", np.int32),
        ],
        assumptions="n >= 1 and m >= 1", lang_version=(2018, 2), name="transposed",
    )  # fmt: skip
    t_unit = lp.split_iname(t_unit, "i", 4, outer_tag="g.1", inner_tag="l.1")
    return lp.split_iname(t_unit, "j", 8, outer_tag="g.0", inner_tag="l.0")


def test_the_launch_covers_all_points_and_arguments_have_their_types_and_shapes():
    unit = transposed()
    found = device_code(unit, count(unit), {"n": 10, "m": 17}, {})
    assert ("transposed", ("out", "a", "p", "n", "m")) == (found.name, found.arguments)
    assert (24, 12, 1) == found.global_size  # 17 columns in groups of 8, 10 rows in groups of 4
    assert "transposed(__global float *__restrict__ out" in found.text
    found = made_arguments(transposed(), {"n": 10, "m": 17}, {"p": 3.0})
    assert {"out": (170, "float32"), "a": (170, "float64")} == {
        name: (found[name].size, str(found[name].dtype)) for name in ("out", "a")
    }
    assert {"p": np.float32(3.0), "n": 10, "m": 17} == {name: found[name] for name in ("p", "n", "m")}


def test_a_sequence_of_launches_is_refused():
    unit = lp.make_kernel(
        "{[i, k]: 0 <= i < n and 0 <= k < 3}", "for k\n ... gbarrier {id=wait}\n out[i] = out[i] + 1 {dep=wait}\n end",
        [lp.GlobalArg("out", np.float32, shape="n", is_input=True), lp.ValueArg("n", np.int32)], assumptions="n >= 1",
        lang_version=(2018, 2), name="repeated",
    )  # fmt: skip
    unit = lp.split_iname(unit, "i", 32, outer_tag="g.0", inner_tag="l.0")
    with pytest.raises(TuningError, match=r"\(tile=1\) takes \d launches, and the tuner makes one"):
        device_code(unit, count(unit), {"n": 64}, {"tile": 1})


