"""Measured searches as points, and the tables that need no device."""

from __future__ import annotations

import pytest

from scripts.lab.studies.karsin import gpu
from scripts.lab.studies.search_points import block_records, conflict_records, platform_records


@pytest.mark.parametrize(
    ("reading", "bst", "btree"),
    [("printed", (1.586, 1.548, 1.564), (4.56, 4.00, 4.22)), ("bandwidth", (1.707, 1.703, 1.703), (7.71, 7.53, 7.54))],
)
def test_the_trees_are_faster_by_both_readings_of_shared_memory(reading, bst, btree):
    seconds = {
        (one["platform"], one["layout"]): one["seconds"] for one in platform_records() if one["reading"] == reading
    }
    platforms = ("ALGOPARC", "GIBSON", "UHHPC")
    for layout, ratios in (("bst", bst), ("btree", btree)):
        found = [seconds[name, "sorted"] / seconds[name, layout] for name in platforms]
        assert list(ratios) == pytest.approx(found, rel=2e-3)


def test_blocks_are_counted_down_the_layouts():
    """2^15 keys: 15 steps, of which the last five and the block of the first are shared; 15 levels; 3 nodes."""
    found = {one["layout"]: one for one in block_records(2**15, warps=20)}
    assert [10, 3] == [round(found[layout]["own_blocks"]) for layout in ("sorted", "btree")]
    assert 3 * 32 >= found["btree"]["warp_blocks"] > 2 * 24
    assert 10 < found["bst"]["own_blocks"] < 12  # the first five levels lie in one block


def test_conflicts_are_between_one_for_each_access_and_the_worst_case():
    for one in conflict_records(gpu("GIBSON"), warps=10):
        assert one["counted"] >= one["accesses"]
        known = one["form"] != "printed" and one["list"] in (1024, 2048, 4096, 8192, 16384)  # multiples of 32^2
        assert [known, known] == [one[name] is not None for name in ("expected", "worst")]
        if known:
            assert one["counted"] <= one["worst"]
        assert one["seconds"] > 0
        assert one["keys"] % 2 == (one["form"] == "printed")
