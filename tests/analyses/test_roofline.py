"""Points below the roofs, by hand."""

import math
from dataclasses import replace

import pytest

from perfmodel.analyses.roofline import ceilings, facts_with_roofs, points_at, points_of, roof_values, roofline_points
from perfmodel.facts import Fact
from perfmodel.fitting.throughput import save_roofs
from perfmodel.predicting.model import load
from perfmodel.predicting.ranking import RankedVariant, Ranking
from perfmodel.store import Measurements
from tests.fitting.test_throughput_roofs import BANDWIDTH, COPY, PEAK, SUM, TILE, facts, kernel, measured, row
from tests.recorded import POCL
from tests.report.test_pictures import ROOFS, point

#: A tile that is loaded by other work-items than those that stored it.
REVERSED = ("s[l] = a[64*g + l]", "out[64*g + l] = s[63 - l]")


def test_a_point_is_operations_over_bytes_and_seconds():
    one = point()
    assert (10.0, 1e11, 2e11, 0.5) == (one.intensity, one.rate, one.attainable, one.share)
    assert not point(operations=0.0).drawable
    assert math.inf == point(moved=0.0).intensity


def test_points_lie_under_the_lowest_roof():
    # 64 work-items add 16 numbers each of one that they load: 1024 operations and 512 bytes a group.
    add, tile = kernel(SUM), kernel(REVERSED, local=True)
    rows = (row(add, 1000, 1e-3, None, kernel="add"), row(tile, 1000, 1e-3, None, kernel="tile"))
    found = Measurements(rows, {one.hash: one.to_json() for one in (add, tile)}, facts=facts(**ROOFS))
    (one, other) = roofline_points(found)
    assert ("add", "n=1000", 2.0, "memory") == (one.kernel, one.sizes, one.intensity, one.bound)
    assert pytest.approx(min(PEAK, 2 * BANDWIDTH)) == one.attainable
    assert pytest.approx(1024e3 / 1e-3) == one.rate
    assert ("memory", pytest.approx(512e3 / BANDWIDTH)) == (other.bound, other.bound_s)
    slow_facts = facts(**{**ROOFS, "local_bandwidth_bytes_per_s": 1e9})
    (slow,) = roofline_points(Measurements(rows[1:], found.counts_documents, facts=slow_facts))
    assert ("local", pytest.approx(512e3 / 1e9)) == (slow.bound, slow.bound_s)
    copied = kernel(TILE, local=True)  # each work-item loads what it stored, so that nothing must move
    (kept,) = points_of(slow_facts, {"copied": copied}, {"n": 1000}, {"copied": 1e-3}).values()
    assert ("memory", pytest.approx(512e3 / BANDWIDTH)) == (kept.bound, kept.bound_s)


def test_cached_data_are_below_the_roof_of_the_caches():
    """Of 512 bytes for each of 16 groups all come from caches, of 2^14 groups all but what the caches hold."""
    copy, cache, size = kernel(COPY), 9e11, 2**20
    known = facts(memory_bandwidth_bytes_per_s=BANDWIDTH, cache_bandwidth_bytes_per_s=cache, l2_bytes=size)
    small, large = 512 * 16, 512 * 2**14
    for n, least in ((16, small / cache), (2**14, (large - size) / BANDWIDTH)):
        (found,) = points_of(known, {"copy": copy}, {"n": n}, {"copy": least}).values()
        assert (pytest.approx(1.0), "memory") == (found.share, found.bound)
    published = facts(memory_bandwidth_bytes_per_s=BANDWIDTH, l2_bandwidth_bytes_per_s=cache, l2_bytes=size)
    unknown = facts(memory_bandwidth_bytes_per_s=BANDWIDTH, l2_bytes=size)
    for known, least in ((published, small / cache), (unknown, small / BANDWIDTH)):
        (found,) = points_of(known, {"copy": copy}, {"n": 16}, {"copy": 1.0}).values()
        assert pytest.approx(least) == found.bound_s


def test_points_at_several_sizes_are_those_at_each():
    counts, names = {"add": kernel(SUM), "tile": kernel(TILE, local=True)}, ("add", "tile", "uncounted")
    rankings = [
        Ranking([RankedVariant(name, 1e-3 * n) for name in names if (name, n) != ("tile", 1000)], sizes={"n": n})
        for n in (10, 1000, 2000)
    ]
    known = facts(**ROOFS)
    expected = tuple(
        points_of(known, counts, ranking.sizes, {variant.name: variant.seconds for variant in ranking})
        for ranking in rankings
    )
    assert expected == points_at(known, counts, rankings)
    assert ["tile"] == [name for name in expected[0] if name not in expected[1]]
    assert ({}, {}, {}) == points_at(facts(global_transaction_bytes=None), counts, rankings)


def test_rates_of_counted_kernels_and_their_share_of_the_lowest_roof():
    """64 additions and 512 bytes for each of 1000 groups and 16 terms, in a millisecond."""
    counts = {"add": kernel(SUM), "other": kernel(TILE, local=True)}
    found = points_of(facts(**ROOFS), counts, {"n": 1000}, {"add": 1e-3, "gone": 1.0, "other": -1.0})
    assert ["add"] == list(found)
    share = 512e3 / BANDWIDTH / 1e-3
    assert ("1.02", "0.512", f"{100 * share:.1f} %") == found["add"].cells
    assert {} == points_of(facts(global_transaction_bytes=None), counts, {"n": 1000}, {"add": 1e-3})


def test_roofs_that_were_measured_are_next_to_the_weights(tmp_path):
    """Facts of the device replace them, and weights that are of another device's measurements do not have them."""
    save_roofs(measured(), tmp_path)
    fitted = load(POCL / "bottleneck.json")
    here = replace(fitted, path=tmp_path / "bottleneck.json")
    found = roof_values(facts_with_roofs(here))
    assert (BANDWIDTH, PEAK) == (found["memory_bandwidth_bytes_per_s"], found["peak_flops_float32"])
    known = here.with_facts({"memory_bandwidth_bytes_per_s": Fact(7.0, "B/s", "known")})
    assert 7.0 == roof_values(facts_with_roofs(known))["memory_bandwidth_bytes_per_s"]
    elsewhere = replace(here, fitted=here.fitted.model_copy(update={"transferred_from": "another"}))
    assert {} == roof_values(facts_with_roofs(elsewhere)) == roof_values(facts_with_roofs(replace(here, path=None)))


def test_roofs_are_the_known_facts_and_that_of_local_memory_follows_from_banks():
    assert ROOFS == roof_values(facts(**ROOFS))
    assert {} == roof_values(facts())
    # each of 4 units moves 4 bytes a cycle from each of 32 banks
    numbers = {"banks": 32, "compute_units": 4, "clock_hz": 1e9}
    assert {"local_bandwidth_bytes_per_s": 5.12e11} == roof_values(facts(**numbers))


def test_ceilings_below_the_peak_by_hand():
    """A multiply-add is two operations, so that without it half of 4 Top/s is left; eight lanes leave an eighth."""
    assert {} == ceilings(facts())
    assert {"without_multiply_adds": 2e12} == ceilings(facts(peak_flops_float32=4e12))
    found = ceilings(facts(peak_flops_float32=4e12, vector_lanes=8))
    assert {"without_multiply_adds": 2e12, "without_vectors": 5e11} == found
