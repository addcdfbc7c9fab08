"""Predicted times of configurations, each built and counted once; the code and the launch for a tuner."""

from __future__ import annotations

import math

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.errors import SizeError, SpaceError
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.hooks.kernel_tuner import Guide, device_code, made_arguments, parameters_of
from perfmodel.predicting.model import FittedModel
from tests.hooks.spaces import MODEL, SIZES, build


def small(most: int) -> FittedModel:
    """The model of a device that allows groups of so many work-items."""
    facts = {"max_work_group_size": Fact(most, "work-items", "a test")}
    return FittedModel(MODEL.fitted, DeviceFacts.from_mapping("D", "P", "1", facts))


def guide(make=build, model=MODEL, sizes=SIZES) -> Guide:
    return Guide(make, {}, model, sizes, allow_unmeasured=True)


def test_a_time_is_the_models_and_each_kernel_is_built_once():
    made = []

    def noted(**configuration):
        made.append(configuration)
        return build(**configuration)

    times = guide(noted)
    assert 4096 * 3e-12 == pytest.approx(times.seconds({"group": 32, "terms": 3}), rel=1e-12)
    assert times.seconds({"group": 32, "terms": 3}) == times.seconds({"terms": 3, "group": 32})
    assert [{"group": 32, "terms": 3}] == made


def test_a_group_that_does_not_fit_takes_for_ever():
    times = guide(model=small(32))
    assert 4096e-12 == pytest.approx(times.seconds({"group": 32}))
    assert math.inf == times.seconds({"group": 64})


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda group: 1 // 0, "(group=32) cannot be built: ZeroDivisionError"),
        (lambda terms: build(32), "cannot be built: TypeError"),
        (lambda group: "a kernel", "gives str, where build() must return a loopy.TranslationUnit"),
    ],
)
def test_a_configuration_that_cannot_be_built_is_named(make, said):
    with pytest.raises(SpaceError) as caught:
        guide(make).counts({"group": 32})
    assert said in str(caught.value)


def test_one_that_cannot_be_counted_is_named():
    import loopy as lp

    def untyped(group):
        return lp.make_kernel("{[i]: 0 <= i < n}", "out[i] = a[i]", lang_version=(2018, 2))

    with pytest.raises(SpaceError, match=r"\(group=32\) cannot be counted: "):
        guide(untyped).counts({"group": 32})


def test_sizes_must_be_the_kernels():
    with pytest.raises(SizeError):
        guide(sizes={"m": 64}).seconds({"group": 32})


def test_names_that_a_function_takes():
    assert (("group", "terms"), frozenset({"group"})) == parameters_of(build)
    assert parameters_of(lambda a, **others: None) is None


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


def test_the_launch_covers_all_points():
    unit = transposed()
    found = device_code(unit, count(unit), {"n": 10, "m": 17}, {})
    assert ("transposed", ("out", "a", "p", "n", "m")) == (found.name, found.arguments)
    assert (24, 12, 1) == found.global_size  # 17 columns in groups of 8, 10 rows in groups of 4
    assert "transposed(__global float *__restrict__ out" in found.text


def test_arguments_have_their_types_and_shapes():
    found = made_arguments(transposed(), {"n": 10, "m": 17}, {"p": 3.0})
    assert {"out": (170, "float32"), "a": (170, "float64")} == {
        name: (found[name].size, str(found[name].dtype)) for name in ("out", "a")
    }
    assert {"p": np.float32(3.0), "n": 10, "m": 17} == {name: found[name] for name in ("p", "n", "m")}


def test_a_sequence_of_launches_is_refused():
    unit = lp.make_kernel(
        "{[i, k]: 0 <= i < n and 0 <= k < 3}",
        "for k\n ... gbarrier {id=wait}\n out[i] = out[i] + 1 {dep=wait}\n end",
        [lp.GlobalArg("out", np.float32, shape="n", is_input=True), lp.ValueArg("n", np.int32)],
        assumptions="n >= 1", lang_version=(2018, 2), name="repeated",
    )  # fmt: skip
    unit = lp.split_iname(unit, "i", 32, outer_tag="g.0", inner_tag="l.0")
    with pytest.raises(SpaceError, match=r"\(tile=1\) takes \d launches, and the tuner makes one"):
        device_code(unit, count(unit), {"n": 64}, {"tile": 1})
