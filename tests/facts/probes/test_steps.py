"""The change-point rule, on curves whose steps are known."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.facts.probes.steps import steps
from perfmodel.measuring.probes.chase import footprints

PLACES = np.array(footprints(2**28), np.float64)
KIB, MIB = 2**10, 2**20
#: Capacities, and the times of a load on each plateau.
DEVICES = {
    "three caches": ((48 * KIB, MIB, 32 * MIB), (1.3, 4.0, 12.0, 125.0)),
    "a small share of the third": ((48 * KIB, MIB, 2.5 * MIB), (1.3, 4.0, 12.0, 125.0)),
    "a server": ((48 * KIB, 2 * MIB, 24 * MIB), (1.6, 5.0, 25.0, 110.0)),
    "two caches": ((128 * KIB, 40 * MIB), (20.0, 130.0, 350.0)),
    "one cache": ((MIB,), (5.0, 80.0)),
    "no cache": ((), (5.0,)),
}


def curve(capacities, plateaus, *, width=0.0, noise=0.0, slow=0.0, seed=0):
    """Plateaus with steps of some width [octaves]; noise only makes slower, and some points are slower by up to 6."""
    generator = np.random.default_rng(seed)
    y = np.full(len(PLACES), plateaus[0])
    for capacity, low, high in zip(capacities, plateaus, plateaus[1:], strict=False):
        missed = PLACES > capacity
        if width:
            missed = 1 / (1 + np.exp(-(np.log2(PLACES / capacity) - 0.12) / (width / 4)))
        y = y + (high - low) * missed
    y = y * np.exp(np.abs(generator.normal(0, noise, len(y))))
    return np.where(generator.random(len(y)) < slow, y * generator.uniform(1.5, 6, len(y)), y)


@pytest.mark.parametrize("name", DEVICES)
def test_sharp_steps_are_found_where_they_are(name):
    capacities, plateaus = DEVICES[name]
    found = steps(PLACES.tolist(), curve(capacities, plateaus).tolist())
    after = [int(np.searchsorted(PLACES, one, side="right")) for one in capacities]
    assert [(PLACES[at - 1], PLACES[at]) for at in after] == [(step.last, step.first) for step in found]
    assert [pytest.approx(one) for one in plateaus[1:]] == [step.after for step in found]
    assert [pytest.approx(one) for one in plateaus[:-1]] == [step.before for step in found]


@pytest.mark.parametrize("name", DEVICES)
def test_disturbed_curves(name):
    """The docstring of the rule promises more; this leaves room for other versions of NumPy."""
    capacities, plateaus = DEVICES[name]
    right = 0
    for seed in range(100):
        heights = curve(capacities, plateaus, width=0.4, noise=0.05, slow=0.04, seed=seed)
        found = [step.last for step in steps(PLACES.tolist(), heights.tolist())]
        near = [abs(np.log2(a / b)) < 1 / 3 for a, b in zip(found, capacities, strict=False)]
        right += len(found) == len(capacities) and all(near)
    assert right >= 90


def test_one_disturbed_point_is_no_step():
    heights = np.full(len(PLACES), 2.0)
    heights[20] = 100.0
    assert () == steps(PLACES.tolist(), heights.tolist())
    heights[-1] = 100.0
    assert () == steps(PLACES.tolist(), heights.tolist())


def test_a_slow_rise_is_no_step():
    assert () == steps(PLACES.tolist(), (PLACES**0.1).tolist())


def test_too_few_points_have_no_step():
    assert () == steps([1, 2], [1, 9])
