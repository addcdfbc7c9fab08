"""Wang and Lou's equations in cycles: against numbers by hand, and against the tests of the model families."""

import pytest

from scripts.lab.studies import wang_lou
from scripts.lab.studies.wang_lou import LATENCIES, MOST, STRIDES, Multiprocessors, cache_effects, saxpy_cycles
from tests.models.test_mwp_cwp import printed

ONE, FOUR, HUNDRED = (Multiprocessors(400.0, issue, 336.5, 24) for issue in (1.0, 4.0, 100.0))
#: Eq. 6: 336.5 bytes a cycle over 128 bytes for each of 24 multiprocessors in 400 cycles.
MWP = 336.5 * 400 / (128 * 24)


@pytest.mark.parametrize("stride", STRIDES)
@pytest.mark.parametrize("warps", [1, 4, 16, 43, 44, 64])
def test_as_the_families(stride, warps):
    plain, cached, _ = printed(stride, warps)
    assert pytest.approx(plain) == saxpy_cycles(ONE, stride, warps, cached=False)
    assert pytest.approx(cached) == saxpy_cycles(ONE, stride, warps)


@pytest.mark.parametrize(("card", "warps", "expected"), [
    # Mem 1200, Comp 15: plain by Eq. 1, with the cache by Eq. 21
    (ONE, 64, (1200 * 64 / MWP + 5 * (MWP - 1), 1200 + 120 * (64 / MWP - 1) + 5 * (MWP - 1), None)),
    (FOUR, 64, (400 + 60 * 64, 40 * 64 + 40, 400 + 60 * 64)),  # Comp 60, First 40, CWP 21: Eq. 2, and 22
    (HUNDRED, 8, (1200 + 500 * 7, 1200 + 500 * 7, 400 + 1500 * 8)),  # Comp 1500 > Mem: Eq. 1, 21, and 2
    (HUNDRED, 1, (2700, 2700, None)),  # Eq. 4 and 20
])  # fmt: skip
def test_by_hand(card, warps, expected):
    plain, cached, read = expected
    assert pytest.approx(plain) == saxpy_cycles(card, 1, warps, cached=False)
    assert pytest.approx(cached) == saxpy_cycles(card, 1, warps)
    assert pytest.approx(cached if read is None else read) == saxpy_cycles(card, 1, warps, all_warps=True)


def test_the_paper_s_card():
    expected = Multiprocessors(500.0, 2.0, pytest.approx(336.5), 24, 0.1, pytest.approx(1.0))
    assert expected == wang_lou.titan_x(500.0, 2.0)
    assert 80 == wang_lou.issue_where_computing_exceeds(400)


def test_what_the_paper_s_numbers_decide():
    """With 1 cycle to issue both readings are alike; with more Eq. 2 leaves the cache without effect."""
    assert 1 == wang_lou.readings_apart((1.0,))
    assert wang_lou.readings_apart((4.0,)) > 1.5
    few, most = cache_effects((1.0,), 4), cache_effects((1.0,), MOST)
    assert len(few) == len(LATENCIES) * len(STRIDES)
    assert max(few) < 1.05 < min(most)
    assert {1.0} == set(cache_effects((4.0,), MOST, all_warps=True))
    assert min(cache_effects((4.0,), MOST)) > 1.5


def test_records_vary_the_warps_by_the_work_group():
    """32 work-items to a warp: one group up to 1024 of them, then two."""
    own = [one for one in wang_lou.card_records() if one["issue_cycles"] == 1.0]
    assert all(one["warps"] == one["work_group"] / 32 * (1 if one["warps"] <= 32 else 2) for one in own)
    assert max(one["work_group"] for one in own) == 1024
    for stride in STRIDES:
        errors = [one["error_without"] for one in own if one["stride"] == stride]
        assert errors[0] == 0
        assert max(errors[:4]) < 0.08 < errors[-1]  # figure 8: alike up to 8 warps, beyond the 8 % with many
    most = {one["stride"]: one["with_l2_printed"] for one in own if one["warps"] == MOST}
    assert pytest.approx(most[1], rel=0.02) == most[16]
