"""The linear model of Stevens and Klöckner, and overlap: what they charge, limits, and weights found again."""

from dataclasses import dataclass

import numpy as np
import pytest

from perfmodel.features import FEATURE_NAMES, matches
from perfmodel.fitting.least_squares import fit_nonlinear
from perfmodel.models import find_family
from perfmodel.models.model import bind

LINEAR = find_family("stevens_kloeckner_2016")


@pytest.mark.parametrize("feature", [
    "global_load_32_stride1", "global_store_64_stride2_1of2", "global_minloadstore_32_strideN_4of4",
    "global_load_32_indirect", "local_load_128", "op_float32_add", "op_float64_special", "op_float32_minmax",
    "barrier_local", "work_groups", "launches",
])  # fmt: skip
def test_properties_of_section_2(feature):
    assert LINEAR.takes(feature)


@pytest.mark.parametrize("feature", ["local_store_32", "op_int32_add", "op_int64_special", "op_float32_bitwise"])
def test_local_stores_and_integer_arithmetic_are_no_properties(feature):
    assert not LINEAR.takes(feature)


def test_it_is_a_sum():
    assert LINEAR.additive


FAMILY = find_family("overlap")
FEATURES = (
    "op_float32_add", "op_float64_special", "local_load_32", "barrier_local", "global_load_32_stride1",
    "global_store_32_stride1", "global_minloadstore_32_stride1", "work_groups", "launches",
)  # fmt: skip
ON_CHIP, MEMORY, OVERHEAD = FEATURES[:4], FEATURES[4:7], FEATURES[7:]


@dataclass(frozen=True)
class Toy:
    """Kernels drawn at random, and weights that let chip and memory take similar times."""

    values: dict
    weights: dict

    def side(self, names):
        return sum(self.values[name] * self.weights[f"w_{name}"] for name in names)

    def seconds(self, sharpness, **changes):
        model = bind(FAMILY, FEATURES)
        weights = {**self.weights, "w_sharpness": sharpness}
        return model.value({**self.values, **changes}, [weights[name] for name in model.weights])


@pytest.fixture(scope="module")
def toy():
    generator = np.random.default_rng(3)
    values = {name: 10 ** generator.uniform(4, 7, 300) for name in FEATURES}
    values.update(work_groups=10 ** generator.uniform(1, 3, 300), launches=np.ones(300))
    weights = {f"w_{name}": float(10 ** generator.uniform(-10, -9.5)) for name in FEATURES}
    return Toy(values, {**weights, "w_work_groups": 1e-8, "w_launches": 5e-6})


def test_at_sharpness_1_it_is_the_sum_and_at_2_the_length_of_a_vector(toy):
    assert toy.side(FEATURES) == pytest.approx(toy.seconds(1.0))
    expected = toy.side(OVERHEAD) + np.hypot(toy.side(ON_CHIP), toy.side(MEMORY))
    assert expected == pytest.approx(toy.seconds(2.0))
    nothing = dict.fromkeys(MEMORY, np.zeros(300))
    assert toy.side(ON_CHIP) + toy.side(OVERHEAD) == pytest.approx(toy.seconds(3.0, **nothing))


def test_the_sharper_the_nearer_to_the_maximum(toy):
    chip, memory, overhead = (toy.side(names) for names in (ON_CHIP, MEMORY, OVERHEAD))
    most = overhead + np.maximum(chip, memory)
    assert most == pytest.approx(toy.seconds(1e4), rel=1e-4)
    times = [toy.seconds(sharpness) for sharpness in (1.0, 2.0, 4.0, 16.0, 64.0)]
    assert (np.diff(times, axis=0) <= 1e-12 * times[0]).all()
    assert (most <= times[-1] * (1 + 1e-12)).all()
    # Two equal times s, overlapped with sharpness 64, take 2^(1/64) of one.
    assert (times[-1] - overhead <= 2 ** (1 / 64) * (most - overhead) * (1 + 1e-12)).all()


@pytest.mark.parametrize("name", FEATURES)
@pytest.mark.parametrize("sharpness", [1.0, 3.0, 64.0])
def test_more_of_anything_takes_no_less_time(toy, name, sharpness):
    more = toy.seconds(sharpness, **{name: 2 * toy.values[name]})
    assert (more >= toy.seconds(sharpness) * (1 - 1e-12)).all()
    assert more.sum() > toy.seconds(sharpness).sum()


@pytest.mark.parametrize("sharpness", [1.5, 4.0, 16.0])
def test_planted_weights_are_found_again(toy, sharpness):
    model, own = bind(FAMILY, FEATURES), FAMILY.weights[0]
    matrix = np.array([toy.values[name] for name in model.features]).T
    start, bounds = {own.name: own.start}, {own.name: (own.lower, own.upper)}
    found = fit_nonlinear(model, matrix, toy.seconds(sharpness), np.ones(len(matrix)), bounds, start, starts=3)
    planted = {**toy.weights, "w_sharpness": sharpness}
    assert [planted[name] for name in model.weights] == pytest.approx(found.weights, rel=1e-5)


def test_the_features_are_the_linear_model_s():
    linear = find_family("stevens_kloeckner_2016")
    assert sorted(linear.features) == sorted(FAMILY.patterns)
    for feature in FEATURE_NAMES:  # none is charged twice
        assert sum(matches(patterns, feature) for patterns in FAMILY.sums.values()) <= 1
