"""Bytes moved, against closed forms."""

from __future__ import annotations

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.errors import FactsError
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.quantities.case import Case
from perfmodel.quantities.traffic import (
    cached_bytes,
    global_bytes,
    least_bytes,
    least_local_bytes,
    local_bytes,
    transfer_bytes,
)
from tests.models.test_roofline import ADD, case, counted
from tests.quantities.tiles import tile


@pytest.mark.parametrize(
    ("index", "moved"),
    [
        ("i", lambda n: 4 * n),
        ("2*i", lambda n: 4 * (2 * n - 1)),  # lines are fetched whole, gaps and all
        ("100*i", lambda n: 64 * n),  # each cell is in a line of its own
        ("0*i", lambda n: 4),
    ],
)
def test_gaps_are_moved_as_far_as_a_line_spans_them(index, moved):
    counts = counted("{[i]: 0 <= i < n}", f"out[i] = a[{index}]", a=lp.auto)
    assert moved(1024) + 4 * 1024 == pytest.approx(global_bytes(case(counts, n=1024)), rel=2e-3)


def test_what_is_read_again_moves_once():
    counts = counted("{[i, k]: 0 <= i < n and 0 <= k < 50}", "out[i] = sum(k, a[i] * a[i])")
    assert 8 * 640 == global_bytes(case(counts, n=640))


@pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning")
@pytest.mark.parametrize(("width", "size"), [(3, 32), (16, 128)])
def test_vectors_take_up_all_their_bytes(width, size):
    unit = lp.make_kernel(
        f"{{ [i, j]: 0 <= i < n and 0 <= j < {width} }}", "out[i, j] = a[i, j]",
        [lp.GlobalArg("a, out", np.float64, shape=f"n, {width}"), ...], assumptions="n >= 1", lang_version=(2018, 2),
    )
    counts = count(lp.tag_inames(lp.tag_array_axes(unit, "a, out", "c, vec"), {"j": "vec"}), cache=False)
    assert [2 * size * 640] * 2 == [function(case(counts, n=640)) for function in (global_bytes, least_bytes)]


def gathered():
    """A load of each work-item at a place that data give."""
    t_unit = lp.make_kernel(
        "{[i]: 0 <= i < n}", "out[i] = a[at[i]]",
        [lp.GlobalArg("a", np.float32, shape="n"), lp.GlobalArg("at", np.int32, shape="n"), ...],
        assumptions="n >= 64 and n mod 64 = 0", lang_version=(2018, 2),
    )  # fmt: skip
    return count(lp.split_iname(t_unit, "i", 64, outer_tag="g.0", inner_tag="l.0"), subgroup_size=32)


def test_cells_that_depend_on_data_count_by_the_access():
    counts = gathered()
    assert 12 * 640 == global_bytes(case(counts, n=640))


@pytest.mark.parametrize(
    ("loads", "cells", "transfers"),
    [
        (("2*i",), 1, 2 * 4 / 64),  # every line holds a cell
        (("32*i", "32*i + 1", "32*i + 7"), 3, 1),  # of two lines one; the other holds no cell
        (("100*i",), 1, 1),
        (("i",), 1, 4 / 64),
    ],
)
def test_a_lower_bound_of_what_moves_has_no_lines_without_a_cell(loads, cells, transfers):
    text = " + ".join(f"a[{index}]" for index in loads)
    counts = counted("{[i]: 0 <= i < n}", f"out[i] = {text}", a=lp.auto)
    moved = 1024 * max(4 * cells, 64 * transfers)
    assert moved + 4 * 1024 == pytest.approx(least_bytes(case(counts, n=1024)), rel=2e-3)
    assert least_bytes(case(counts, n=1024)) <= global_bytes(case(counts, n=1024)) * (1 + 1e-12)


def test_a_gather_may_be_of_one_cell():
    counts = gathered()
    assert 8 * 640 == least_bytes(case(counts, n=640))


def test_what_the_caches_of_a_device_hold_together():
    def told(**known):
        made_up = {key: Fact(value, "", "made up") for key, value in known.items()}
        return DeviceFacts.from_mapping("toy", "none", "0", made_up)

    assert 0 == cached_bytes(None) == cached_bytes(told())
    assert 2**20 == cached_bytes(told(l2_bytes=2**20, compute_units=8, device_type="gpu"))
    assert 2**23 == cached_bytes(told(l2_bytes=2**20, compute_units=8, device_type="cpu"))
    assert 2**24 == cached_bytes(told(l2_bytes=2**20, l3_told_bytes=2**25, last_level_bytes=2**24))
    assert 2**25 == cached_bytes(told(l2_bytes=2**20, l3_told_bytes=2**25, l3_bytes=2**22))


def test_the_size_of_a_transfer_is_the_first_that_is_known():
    def told(**known):
        made_up = {key: Fact(value, "B", "made up") for key, value in known.items()}
        return Case(ADD, {"n": 64}, DeviceFacts.from_mapping("toy", "none", "0", made_up), "roofline")

    assert 32 == transfer_bytes(told(cache_line_bytes=128, l2_line_bytes=64, global_transaction_bytes=32))
    assert 64 == transfer_bytes(told(cache_line_bytes=128, l2_line_bytes=64))
    assert 128 == transfer_bytes(told(cache_line_bytes=128))
    for known in (told(), Case(ADD, {"n": 64}, None, "roofline")):
        with pytest.raises(FactsError) as caught:
            transfer_bytes(known)
        assert ("global_transaction_bytes", "roofline") == (caught.value.key, caught.value.family)


@pytest.mark.parametrize("stride", [0, 1, 4])
def test_local_bytes_of_a_tile(stride):
    # 10 work-groups of 64 store 4 bytes each and load as many, or a shared cell once for each of two sub-groups.
    loaded = 4 * 2 if stride == 0 else 4 * 64
    assert 10 * (4 * 64 + loaded) == local_bytes(case(tile(stride), n=640))


def test_a_tile_need_not_move_where_each_work_item_loads_what_it_stored():
    """Without a barrier none can load what another one stored."""
    alone, crossed = case(tile(1), n=640), case(tile(4), n=[640, 1280])
    assert [False, True] == [bool(one.counts.barriers()(n=640)) for one in (alone, crossed)]
    assert 0 == least_local_bytes(alone) < local_bytes(alone)
    assert local_bytes(crossed).tolist() == least_local_bytes(crossed).tolist()
