"""Capacities, lines and ways, from chases on a device whose caches are known."""

from __future__ import annotations

import pytest

from perfmodel.facts.probes.caches import cache_facts
from perfmodel.measuring.probes.chase import footprints
from perfmodel.measuring.probes.conflicts import LINES, STRIDES
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


def test_ways_that_only_one_stride_shows_are_not_told():
    assert "l1_ways" not in cache_facts([capacity(), pairs(64), conflicts(12, STRIDES[-1])])
