"""The figures of chapter 7 as curves, against single sorts and the text's numbers."""

from __future__ import annotations

import pytest

from scripts.lab.studies.karsin import gpu
from scripts.lab.studies.karsin_tables import mergesort
from scripts.lab.studies.sorting_curves import (
    ELEMENTS,
    READINGS,
    WAYS,
    gpu_mms_shares,
    koike_shares,
    pairwise_shares,
    pairwise_throughput,
)

ALGOPARC = gpu("ALGOPARC")


@pytest.mark.parametrize("reading", READINGS)
def test_shares_add_up_at_every_place(reading):
    for curves in (pairwise_shares(ALGOPARC, reading), koike_shares(ALGOPARC), gpu_mms_shares(ALGOPARC)):
        columns = zip(*(shares for _, shares in curves.values()), strict=True)
        assert [100.0] * len(next(iter(curves.values()))[0]) == pytest.approx([sum(column) for column in columns])


def test_figure_7_2_is_the_share_of_single_sorts():
    places, shares = pairwise_shares(ALGOPARC, "recovered")["global memory"]
    at = places.index(10**8)
    parts = mergesort(ALGOPARC, 31, 1e8, recovered=True)
    assert 100 * parts["g"] / sum(parts.values()) == pytest.approx(shares[at])
    assert all(65 <= share <= 80 for place, share in zip(places, shares, strict=True) if place >= 5e6)  # 7.1.4


def test_figure_7_3_has_steps_where_a_round_more_is_needed():
    """Throughput falls where log2 N/(bE) passes a whole number, and rises between: the stepwise profile of 7.1.4."""
    curves = pairwise_throughput(ALGOPARC, "recovered")
    assert list(ELEMENTS) == curves["E = 15"][0]
    assert all(few < many for few, many in zip(curves["E = 15"][1][3:], curves["E = 31"][1][3:], strict=True))
    sign = [later > earlier for earlier, later in zip(curves["E = 31"][1], curves["E = 31"][1][1:], strict=False)]
    assert {True, False} == set(sign)


def test_figure_7_5_has_three_quarters_in_shared_memory_at_32_ways():
    curves = koike_shares(ALGOPARC)
    assert list(WAYS) == curves["shared memory"][0]
    assert curves["shared memory"][1][-1] > 75
    assert 50 < curves["shared memory"][1][0] < 65


def test_figure_7_8_has_no_operation_above_half():
    assert all(max(shares) < 50 for _, shares in gpu_mms_shares(ALGOPARC).values())
