"""Section 2.2's reading of Wang and Lou's model: where it is the printed one, and where all warps compute."""

from __future__ import annotations

import pytest

from perfmodel.models import find_family
from perfmodel.models.mwp_cwp import CACHED_UNITS
from tests.models.test_mwp_cwp import CACHED, INSTS, inputs, printed, quantities, saxpy, seconds

ALL_WARPS = find_family("mwp_cwp_l2_all_warps")


@pytest.mark.parametrize("stride", [1, 4, 8, 16])
@pytest.mark.parametrize("warps", [1, 2, 8, 16, 32, 64])
def test_the_paper_s_saxpy_is_the_same_by_both_readings(stride, warps):
    """With one cycle to issue an instruction CWP is never below MWP."""
    found = inputs(stride, warps)
    assert seconds(CACHED, found) == seconds(ALL_WARPS, found)
    assert pytest.approx(printed(stride, warps)[1] * 1e-9) == seconds(ALL_WARPS, found)


@pytest.mark.parametrize(
    ("insts", "warps", "read", "as_printed"),
    [
        (2000, 8, 400 + 2000 * 8, 1200 + 2000 / 3 * 7),  # Comp 2000 > Mem 1200; CWP 1.6 < MWP 8: Eq. 2 for 21
        (60, 64, 400 + 60 * 64, 10 * 64 + 40),  # Comp 60 < Mem; CWP 21 < MWP 43.8: Eq. 2 for 22
        (2000, 1, 1200 + 2000, 1200 + 2000),  # one warp: Eq. 20
    ],
)
def test_all_warps_compute_where_cwp_is_below_mwp(insts, warps, read, as_printed):
    found = {**inputs(1, warps), "insts": insts}
    assert pytest.approx(read * 1e-9) == seconds(ALL_WARPS, found)
    assert pytest.approx(as_printed * 1e-9) == seconds(CACHED, found)


def test_misses_enter_where_memory_decides():
    changes = {"insts": INSTS, "mem_insts": 3.0, "periods": 3.0, "warps": 64, "rounds": 1.0}
    found = {**quantities(saxpy(4), ALL_WARPS, l2_miss_ratio=1.0), **changes}
    assert pytest.approx(printed(4, 64)[0] * 1e-9) == seconds(ALL_WARPS, found)
    assert set(CACHED_UNITS) == set(found)
    assert (1.0, 0.0) == (found["misses"], found["hits"])
