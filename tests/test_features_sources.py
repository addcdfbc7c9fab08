"""The counts that features are made of, by hand."""

from __future__ import annotations

from perfmodel.features import find_sources, sources_of
from tests.standins import Access, Counts, count
from tests.test_features_evaluation import copy_like


def test_the_sources_of_features_are_found_once():
    counts = copy_like()
    assert sources_of(counts) is sources_of(counts)
    assert sources_of(counts) is not sources_of(copy_like())


def test_equal_counts_are_evaluated_once():
    # 3n, n, 2n, 5, 4n, 7n, the groups and the launches; 2n are the exponentials and the barriers.
    found = find_sources(copy_like())
    assert 8 == len(found.counts)
    assert () == found.unclassified
    sums = {name: [found.counts[place](n=10) for place in places] for name, places in found.sums}
    assert [10, 20] == sums["op_float32_special"]
    assert [10, 10] == sums["global_load_32_stride1"]
    assert [20] == sums["barrier_local"]


def test_a_stride_that_depends_on_sizes_is_classified_later():
    access = Access("global", "load", "a", count("n"), count("3*n"), count("2*n"), count("4*n"), bits=64)
    found = find_sources(Counts(access_table=(access,)))
    (one,) = found.unclassified
    assert "global_load_64_" == one.prefix
    places = (one.count, one.stride, one.footprint, one.filled)
    assert [30, 10, 20, 40] == [found.counts[place](n=10) for place in places]


def test_without_a_footprint_utilisation_is_full():
    (one,) = find_sources(Counts(access_table=(Access("global", "load", "a", count("n"), count("3*n")),))).unclassified
    assert one.count == one.footprint == one.filled
