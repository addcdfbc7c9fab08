"""Capacities, lines and ways, from chases on a device whose caches are known, and the steps of known curves."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.facts.probed import cache_facts, steps
from perfmodel.measuring.probes.caches import LINES, STRIDES, footprints
from tests.probed import chase, probe

L1, L2 = 48 * 2**10, 2**20
NEAR, MIDDLE, FAR = 1e-9, 4e-9, 100e-9


def level(octets, first=L1, second=L2):
    return NEAR if octets <= first else MIDDLE if octets <= second else FAR


def capacity(most=2**24):
    return chase({octets: level(octets) for octets in footprints(most)})


def conflicts(ways, sets_bytes):
    """Lines at a stride share a set of the first cache if the stride is a multiple of its sets times the line."""
    points = []
    for stride in STRIDES:
        shared = max(1, sets_bytes // stride)  # sets that the lines reach
        for lines in LINES:
            seconds = NEAR if lines <= ways * shared else MIDDLE
            points.append(({"stride": stride, "lines": lines}, 10, seconds))
    return probe("conflicts", points)


def pairs(line):
    second = {apart: NEAR if apart < line else MIDDLE for apart in (4, 16, 32, 64, 128)}
    return probe("line", [({"apart": apart}, 10, (MIDDLE + seconds) / 2) for apart, seconds in second.items()])


def test_two_caches():
    found = cache_facts([capacity()])
    assert {"l1_bytes", "l1_load_s", "l2_bytes", "l2_load_s", "memory_load_s"} == set(found)
    assert (L1, L2) == (found["l1_bytes"].value, found["l2_bytes"].value)
    assert [pytest.approx(NEAR), pytest.approx(MIDDLE), pytest.approx(FAR)] == [
        found[key].value for key in ("l1_load_s", "l2_load_s", "memory_load_s")
    ]
    assert "steps up between 48 KiB and 56 KiB" in found["l1_bytes"].source
    assert all(fact.source.startswith("measured, ") for fact in found.values())


def test_what_was_not_probed_or_never_rises_gives_no_fact():
    assert {} == cache_facts([])
    assert {} == cache_facts([chase(dict.fromkeys(footprints(2 ** 24), NEAR))])


@pytest.mark.parametrize("line", [32, 64, 128])
def test_the_line(line):
    assert line == cache_facts([capacity(), pairs(line)])["l1_line_bytes"].value


def test_pairs_that_cost_the_same_tell_no_line():
    assert "l1_line_bytes" not in cache_facts([capacity(), pairs(4)])


def test_the_ways_of_the_first_cache():
    found = cache_facts([capacity(), pairs(64), conflicts(12, 64 * 64)])  # 64 sets of 12 lines of 64 bytes: 48 KiB
    assert (12, "") == (found["l1_ways"].value, found["l1_ways"].unit)
    assert "l2_ways" not in found  # no chase over so few lines leaves the second cache


def test_ways_that_do_not_fit_the_capacity_are_not_told():
    assert "l1_ways" not in cache_facts([capacity(), pairs(64), conflicts(10, 64 * 64)])  # 76.8 sets


def test_fewer_lines_that_share_a_set_of_the_tlb_are_no_ways_of_the_cache():
    # As on a Xeon whose L1 has 12 ways: 7 lines 64 KiB apart. 128 sets of 7 lines are 56 KiB, where loads are slow.
    points = [
        ({"stride": stride, "lines": lines}, 10, MIDDLE if lines > (7 if stride >= 2**16 else 12) else NEAR)
        for stride in STRIDES
        for lines in LINES
    ]
    assert "l1_ways" not in cache_facts([capacity(), pairs(64), probe("conflicts", points)])


def test_ways_that_only_one_stride_shows_are_not_told():
    assert "l1_ways" not in cache_facts([capacity(), pairs(64), conflicts(12, STRIDES[-1])])


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
