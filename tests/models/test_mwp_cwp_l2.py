"""The L2 cache of Wang and Lou's model; its printed equations are tested beside those without the cache."""

from __future__ import annotations

import pytest

from tests.models.test_mwp_cwp import CACHED, INSTS, PLAIN, inputs, printed, quantities, saxpy, seconds


@pytest.mark.parametrize("stride", [1, 4, 8, 16])
def test_the_settings_coincide_at_few_warps_and_part_at_many(stride):
    """Section 4.2: with few warps "both model settings are good", with more L2 has to be considered."""
    ratios = [seconds(PLAIN, inputs(stride, n)) / seconds(CACHED, inputs(stride, n)) for n in (1, 2, 4, 48, 64, 128)]
    assert 1 == ratios[0]
    assert max(ratios[:3]) < 1.05
    assert ratios[3:] == sorted(ratios[3:])
    assert ratios[-1] > 1.4


def test_a_cache_that_never_hits_is_none():
    found = quantities(saxpy(4), CACHED, l2_miss_ratio=1.0)
    assert (1.0, 0.0) == (found["misses"], found["hits"])
    many = {**found, "insts": INSTS, "warps": 64, "rounds": 1.0}
    assert 1 == printed(4, 64)[2]
    assert pytest.approx(seconds(PLAIN, many)) == seconds(CACHED, many)
    assert (0.0, 1.0) == tuple(quantities(saxpy(4), CACHED)[name] for name in ("misses", "hits"))
