"""What Kernel Tuner is told of a space; with Kernel Tuner itself in ``test_kernel_tuner_runs.py``."""

from __future__ import annotations

import copy
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from perfmodel.errors import KernelArgumentError, MissingExtraError, ResultsError, SpaceError
from perfmodel.hooks import Guide
from perfmodel.hooks.kernel_tuner import PredictedFirst
from tests.hooks.spaces import MODEL, SIZES, SPACE, build
from tests.hooks.test_kernel_tuner_code import small


def guide(**changes) -> Guide:
    given = {"build": build, "space": SPACE, "model": MODEL, "sizes": SIZES, "allow_unmeasured": True}
    return Guide(**{**given, **changes})


def kept(guide: Guide, **asked) -> list[tuple[int, int]]:
    """The configurations (group, terms) that a restriction leaves, in the order of the space."""
    test = guide.restriction(**asked)
    return [(g, t) for g in SPACE["group"] for t in SPACE["terms"] if test(group=g, terms=t, block_size_x=g)]


# {{{ the ranking


def test_configurations_are_ranked_by_their_predicted_times():
    found = guide().ranked
    assert [1, 1, 2, 2, 4, 4] == [one["terms"] for one, _ in found]
    assert [4096e-12 * terms for terms in (1, 1, 2, 2, 4, 4)] == pytest.approx([seconds for _, seconds in found])
    assert {"group": 64, "terms": 1, "block_size_x": 64} == found[0][0]


def test_restrictions_of_the_space_are_kept():
    found = guide(restrictions=[lambda one: one["group"] * one["terms"] <= 64])
    assert {(64, 1), (32, 1), (32, 2)} == {(one["group"], one["terms"]) for one, _ in found.ranked}


def test_what_does_not_fit_on_the_device_is_left_out():
    assert {32} == {one["group"] for one, _ in guide(model=small(32)).ranked}


def test_a_space_without_a_valid_point_is_refused():
    with pytest.raises(SpaceError, match=r"has 6 configurations, the restrictions allow 0,"):
        _ = guide(restrictions=[lambda one: False]).ranked
    with pytest.raises(SpaceError, match=r"has 6 configurations, the restrictions allow 6, .* none fits"):
        _ = guide(model=small(16)).ranked


def test_the_shape_of_the_groups_is_a_parameter():
    assert {"group": [64, 32], "terms": [4, 1, 2], "block_size_x": [32, 64]} == guide().tune_params


def test_parameters_that_are_the_shape_are_not_added_again():
    assert {"group": [64, 32], "terms": [4, 1, 2]} == guide(blocks=("group",)).tune_params
    own = guide(
        build=lambda block_size_x, terms: build(block_size_x, terms), space={"block_size_x": (32, 64), "terms": (1,)}
    )
    assert {"block_size_x": [32, 64], "terms": [1]} == own.tune_params


def test_a_shape_that_is_not_the_kernels_is_refused():
    with pytest.raises(SpaceError, match="launches groups of 64x1x1, and terms give 1x1x1"):
        _ = guide(blocks=("terms",)).ranked


# }}}


# {{{ the restriction


def test_a_restriction_keeps_a_factor_of_the_best():
    assert [(64, 1), (64, 2), (32, 1), (32, 2)] == kept(guide(), within=2.0)
    assert [(64, 1), (32, 1)] == kept(guide(), within=1.99)


def test_a_restriction_keeps_the_first():
    assert [(64, 1), (64, 2), (32, 1)] == kept(guide(), top=3)


def test_with_both_a_configuration_must_meet_both():
    assert [(64, 1), (32, 1)] == kept(guide(), top=3, within=1.5)
    assert [(64, 1)] == kept(guide(), top=1, within=4.0)


def test_with_neither_all_are_kept():
    assert 6 == len(kept(guide()))


def test_a_restriction_ties_the_groups_to_the_kernel():
    test = guide().restriction()
    assert test(group=64, terms=1, block_size_x=64)
    assert not test(group=64, terms=1, block_size_x=32)


def test_a_restriction_is_called_in_three_ways_and_copied():
    test = copy.deepcopy(guide().restriction(top=1))
    assert test(64, 1, 64)
    assert not test(64, 2, 64)
    assert test({"group": 64, "terms": 1, "block_size_x": 64})
    assert test(block_size_x=64, terms=1, group=64)


@pytest.mark.parametrize("asked", [{"within": 0.5}, {"top": 0}, {"within": float("nan")}])
def test_a_restriction_that_keeps_nothing_is_refused(asked):
    with pytest.raises(ResultsError, match="keep nothing; give a factor and a number of 1 or more"):
        guide().restriction(**asked)


def test_a_factor_of_no_time_is_refused():
    with pytest.raises(ResultsError, match=r"the shortest predicted time is 0 s; give top="):
        guide(sizes={"n": 64}, build=lambda group, terms: build(group, 0), space={"group": (32,), "terms": (0,)}) \
            .restriction(within=2.0)  # fmt: skip


# }}}


# {{{ the searching order


def test_the_optimizer_goes_from_the_quickest_to_the_slowest():
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


def test_a_space_that_was_not_predicted_is_refused():
    optimizer = PredictedFirst(("group",), {"[('group', 32)]": 0})
    with pytest.raises(ResultsError, match=r"has the configuration \(group=16\), the guide does not"):
        optimizer(lambda values: 0.0, SimpleNamespace(list=[(32,), (16,)]))


def test_without_kernel_tuner_it_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "kernel_tuner", None)
    with pytest.raises(MissingExtraError, match=r"perfmodel\[kernel-tuner\]"):
        guide().strategy()


# }}}


# {{{ the kernel


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


def test_arrays_may_be_given():
    a = np.arange(4096, dtype=np.float32)
    assert a is guide().kernel({"a": a})["arguments"][1]


def test_an_array_that_the_kernel_does_not_have_is_refused():
    with pytest.raises(ResultsError, match="arguments name b, which the kernel does not have; name some of: out, a, n"):
        guide().kernel({"b": np.zeros(4)})
    with pytest.raises(KernelArgumentError):
        guide().kernel(scalars={"p": 2.0})


def test_kernels_of_different_names_are_refused():
    import loopy as lp

    def named(group, terms):
        unit = build(group, terms)
        return lp.rename_callable(unit, "summed", f"summed_{terms}") if terms > 1 else unit

    found = guide(build=named).kernel()
    with pytest.raises(SpaceError, match=r"is the kernel summed_2\(out, a, n\), another one is"):
        found["kernel_source"]({"group": 32, "terms": 2, "block_size_x": 32})


# }}}
