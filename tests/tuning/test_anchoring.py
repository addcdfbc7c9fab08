"""Runs of kernels at small sizes, the choice of these sizes, and kernels that cannot run."""

from dataclasses import replace

import loopy as lp
import numpy as np
import pytest

import perfmodel as pm
from perfmodel import errors
from perfmodel.counts.quasipoly.count import Count
from perfmodel.facts import DeviceFacts
from perfmodel.fitting import FittedWeight
from perfmodel.measuring.bench import Timekeeper
from perfmodel.predicting.model import FittedModel, fit
from perfmodel.predicting.predictions import Predicting
from perfmodel.tuning import ANCHOR, anchor, anchor_variants
from perfmodel.tuning.anchoring import device_of, predict_anchored, smaller_sizes
from tests.corpus.kernel import make
from tests.fitting.test_weights_file import measurements
from tests.machine import device, fake_device
from tests.standins import Counts

pytestmark = pytest.mark.device
#: One visit that ends quickly; sizes are chosen by the launch overhead alone.
SHORT = replace(ANCHOR, runs=4, dropped=1, over_launch=3.0, groups_per_unit=1)
PRICES = {"launches": 1e-5, "work_groups": 1e-8}


def model(name: str | None = None, platform: str | None = None, **prices: float) -> FittedModel:
    """A model of this machine's device, or of another one, in which only launches and work-groups cost time."""
    found = device()
    weights = {key: FittedWeight(value=value, unit="s") for key, value in {**PRICES, **prices}.items()}
    fitted = fit(measurements()).fitted.model_copy(
        update={"weights": weights, "measured": None, "device": name or found.name}
    )
    return FittedModel(fitted, DeviceFacts(name or found.name, platform or found.platform, "1", ()))


def scaled(text: str = "out[i] = p*a[i]", group: int = 64, extra: str = "p") -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[i]: 0 <= i < n}",
        text,
        [
            lp.GlobalArg("out, a", np.float32, shape="n"), lp.ValueArg(extra, np.float32), lp.ValueArg("n", np.int32),
        ],
        assumptions=f"n >= 1 and n mod {group} = 0", lang_version=(2018, 2), name="scaled",
    )  # fmt: skip
    return lp.split_iname(t_unit, "i", group, outer_tag="g.0", inner_tag="l.0")


def test_a_run_scales_predictions_at_other_sizes():
    anchored = anchor(model(), scaled(), n=2**22, allow_unmeasured=True, campaign=SHORT)
    found = anchored.anchor
    assert isinstance(anchored, FittedModel)
    assert ("scaled", device().name) == (found.kernel, device().name)
    n = found.sizes["n"]
    assert 64 <= n <= 2**22
    assert 0 == n % 64
    assert pytest.approx(PRICES["launches"] + n // 64 * PRICES["work_groups"]) == found.predicted
    assert 0 < found.measured < 1
    expected = (PRICES["launches"] + 2**20 // 64 * PRICES["work_groups"]) * found.measured / found.predicted
    assert pytest.approx(expected) == anchored.predict(scaled(), n=2**20, allow_unmeasured=True).seconds


def test_a_group_whose_shape_is_a_size_keeps_its_shape():
    """The run has fewer groups than the kernel, and as many work-items in each."""
    kernel = make("{[row, i]: 0 <= row < n and 0 <= i < m}", "out[row, i] = 2*a[row, i]", "out, a: n, m",
                  assumes="n >= 1")  # fmt: skip
    kernel = lp.tag_inames(kernel, {"row": "g.0", "i": "l.0"})
    with pytest.warns(errors.PerfModelWarning, match="for m = 32 only"):
        found = anchor(model(), kernel, n=2**20, m=32, allow_unmeasured=True, campaign=SHORT).anchor
    assert 32 == found.sizes["m"]
    assert pytest.approx(PRICES["launches"] + found.sizes["n"] * PRICES["work_groups"]) == found.predicted


@pytest.mark.parametrize(("flagged", "visits", "flags"), [(1, 2, ()), (9, 3, ("spread",))])
def test_a_flagged_visit_is_repeated_after_the_others(monkeypatch, flagged, visits, flags):
    """The first visits to "a" are flagged; each is a little slower than the next one."""
    seen, measured = [], Timekeeper.measured

    def suspicious(self, configuration, place=None):
        row, name = measured(self, configuration, place), configuration.subject.variant["variant"]
        seen.append(name)
        slow = seen.count("a") <= flagged
        times = (1 - 0.001 * len(seen),) * len(row.samples_s)
        return row.model_copy(update={"samples_s": times, "flags": ("spread",) * (name == "a" and slow)})

    monkeypatch.setattr(Timekeeper, "measured", suspicious)
    found = anchor_variants(model(), {"a": scaled(), "b": scaled()}, {"n": 64}, allow_unmeasured=True, campaign=SHORT)
    assert ["a", "b", *["a"] * (visits - 1)] == seen
    assert (flags, ()) == (found["a"].flags, found["b"].flags)
    assert (1 - 0.001 * (visits + 1), 0.998) == (found["a"].measured, found["b"].measured)


def test_kernels_that_cannot_be_predicted_do_not_run(monkeypatch):
    monkeypatch.setattr("perfmodel.tuning.anchoring.Trials", lambda *given, **asked: pytest.fail("a device was opened"))
    with pytest.raises(errors.UnmeasuredFeatureError):
        anchor(model(), scaled(), n=4096)
    with pytest.raises(errors.AssumptionError):
        anchor(model(), scaled(), n=100, allow_unmeasured=True)
    with pytest.raises(errors.SizeError, match="one size"):
        anchor(model(), scaled(), n=np.array([64, 128]), allow_unmeasured=True)
    with pytest.raises(errors.KernelError, match="make the work-groups smaller"):
        anchor(model(), scaled(group=2**20), n=2**20, allow_unmeasured=True)
    with pytest.raises(errors.AnchorError, match=r"given as KernelCounts, and only a loopy.TranslationUnit can be run"):
        anchor(model(), pm.count(scaled()), n=4096, allow_unmeasured=True)


def test_weights_of_another_device():
    with pytest.raises(errors.WeightsError) as caught:
        anchor(model("GTX 480 (simulated)"), scaled(), n=4096, allow_unmeasured=True)
    assert "'GTX 480 (simulated)'" in str(caught.value)
    assert f"{device().name} ({device().platform})" in str(caught.value)
    assert "calibrate" in str(caught.value)
    with pytest.raises(errors.WeightsError):  # the same processor by another driver
        device_of(model(platform="another driver"))
    assert device().name == device_of(FittedModel(model().fitted)).name


def test_the_device_must_be_present(monkeypatch):
    for name in ("anchoring", "trials"):
        monkeypatch.setattr(f"perfmodel.tuning.{name}.devices", lambda: (fake_device(0, "other", "p"),))
    with pytest.raises(errors.WeightsError, match=r"this machine has: other \(p\)"):
        device_of(model())


def test_arrays_must_fit_into_the_memory():
    tight = replace(SHORT, memory_fraction=1e-9)
    with pytest.raises(errors.AnchorError, match="no size of its ladder fits into the memory"):
        anchor(model(), scaled(), n=4096, allow_unmeasured=True, campaign=tight)


def test_the_predicted_time_must_be_positive():
    with pytest.raises(errors.AnchorError, match="not above zero"):
        anchor(model(launches=0.0, work_groups=0.0), scaled(), n=4096, allow_unmeasured=True, campaign=SHORT)


def test_arguments_and_statistics_of_a_kernel_that_depends_on_data():
    loop = make(["{[i]: 0 <= i < n}", "{[j]: 0 <= j < stop}"], """
        for i
            <> stop = length[i]
            out[i] = sum(j, a[j])
        end
        """, "int32 length: n; out, a: n", assumes="n >= 1 and n mod 64 = 0", name="loop")  # fmt: skip
    loop = lp.split_iname(loop, "i", 64, outer_tag="g.0", inner_tag="l.0")
    asked = []

    def arguments(n):
        asked.append(n)
        return {"length": np.full(n, 3, np.int32)}

    given = {"allow_unmeasured": True, "campaign": SHORT, "arguments": arguments, "statistics": {"j": 3}}
    found = anchor_variants(model(), {"loop": loop}, {"n": 2**16}, **given)
    assert found["loop"].sizes["n"] in asked
    assert max(asked) <= 2**16


def test_all_variants_need_one_size_at_which_they_run():
    variants = {"small": scaled(), "large": scaled(group=128)}
    asked = Predicting(model(), allow_unmeasured=True)
    plain = asked.predicted(variants, {"n": np.array([64, 192])})
    with pytest.raises(errors.AnchorError, match="each of the sizes breaks an assumption of one of them"):
        predict_anchored(asked, variants, plain)


def test_a_variant_whose_run_fails_is_left_out(tmp_path):
    variants = {"good": scaled(), "broken": lp.set_options(scaled(), build_options=["-D__global=nonsense"])}
    asked = Predicting(model(), allow_unmeasured=True)
    plain = asked.predicted(variants, {"n": 4096})
    anchored = predict_anchored(asked, variants, plain, keep=tmp_path)
    assert (["good"], ["good"]) == ([*anchored.variants], [*anchored.anchors])
    assert "its run failed (compile: " in str(anchored.errors["broken"])
    del variants["good"]
    with pytest.raises(errors.AnchorError, match="'broken' cannot be anchored"):
        predict_anchored(asked, variants, asked.predicted(variants, {"n": 4096}))


def kernel(assumptions: str, parameters: str = "n") -> Counts:
    """A kernel with one work-group for each size, under assumptions."""
    groups = Count.from_text(f"[{parameters}] -> {{ {parameters.split(', ')[0]} }}", assumptions)
    return Counts(parameters=tuple(parameters.split(", ")), group_count=groups, assumptions=assumptions)


FREE = kernel("[n] -> { : n >= 1 }")


def test_halves_down_to_the_least():
    assert [16, 32, 64, 128] == [one["n"] for one in smaller_sizes([FREE], {"n": 128})]
    assert ({"n": 31},) == smaller_sizes([FREE], {"n": 31})
    assert [25, 50, 99, 198] == [one["n"] for one in smaller_sizes([FREE], {"n": 198})]  # rounded up


def test_sizes_meet_the_assumptions():
    tiled, other = kernel("[n] -> { : n mod 48 = 0 }"), kernel("[n] -> { : n mod 32 = 0 }")
    assert [48, 96, 144, 240, 480] == [one["n"] for one in smaller_sizes([tiled], {"n": 480})]
    assert [96, 192, 288, 480] == [one["n"] for one in smaller_sizes([tiled, other], {"n": 480})]
    # nothing between a half and the whole
    assert [480] == [one["n"] for one in smaller_sizes([kernel("[n] -> { : n mod 480 = 0 }")], {"n": 480})]


def test_parameters_shrink_together_and_small_ones_stay():
    two = kernel("[n, m] -> { : n >= 1 and m >= 1 }", "n, m")
    found = smaller_sizes([two], {"n": 256, "m": 64})
    assert [(64, 16), (128, 32), (256, 64)] == [(one["n"], one["m"]) for one in found]
    assert [(16, 3), (32, 3)] == [(one["n"], one["m"]) for one in smaller_sizes([two], {"n": 32, "m": 3})]


def test_a_parameter_that_must_not_shrink_stays():
    fixed = kernel("[n, m] -> { : m = 100 and n >= 1 }", "n, m")
    assert [(16, 100), (32, 100), (64, 100)] == [(o["n"], o["m"]) for o in smaller_sizes([fixed], {"n": 64, "m": 100})]


def test_parameters_that_assume_each_other():
    # equal ones shrink together; with m = 2 n - 16 no parameter shrinks alone, and together they break it
    equal = kernel("[n, m] -> { : n = m }", "n, m")
    assert [(16, 16), (32, 32)] == [(one["n"], one["m"]) for one in smaller_sizes([equal], {"n": 32, "m": 32})]
    bound = kernel("[n, m] -> { : m = 2*n - 16 }", "n, m")
    assert [(64, 112)] == [(one["n"], one["m"]) for one in smaller_sizes([bound], {"n": 64, "m": 112})]
