"""The dissertation's claims about sorting, and what its formulas give."""

from __future__ import annotations

import pytest

from scripts.lab.studies.claim import SLIP
from scripts.lab.studies.karsin import gpu
from scripts.lab.studies.karsin_tables import mergesort
from scripts.lab.studies.sorting import RECOVERED
from scripts.lab.studies.sorting_claims import best_each, changes_that_give, published_claims
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


def test_claims_and_their_numbers():
    """The numbers of docs/lab/spt.md, and of section 7.2.3 by hand: 192/(4K - 2) threads, 85.84 and 269.5 cycles.

    Shared memory waits longer than its 4.29 cycles from 4K - 2 = 10 on, global memory than its 33.2 from 26 on.
    """
    claims = {(one.source, one.paper[:20]): one for one in published_claims()}
    by_source = {source: one for (source, _), one in claims.items()}
    assert {SLIP} == {by_source[name].verdict for name in ("Fig. 7.1", "Fig. 7.3, as printed", "7.2.3")}
    assert "E = 12" in by_source["Fig. 7.1"].found
    assert "1.45 times" in by_source["Fig. 7.1"].found
    assert by_source["Fig. 7.1, recovered"].agrees
    assert by_source["7.1.3"].agrees
    assert "E = 27 is best of all E up to a warp" in by_source["Fig. 7.1, counted conflicts"].found
    assert "E = 48" in by_source["Fig. 7.1, recovered"].found
    assert "1 gives 31, that of all three" in by_source["Fig. 7.1, recovered"].found
    assert "K = 3 and K = 7" in by_source["7.2.3"].found
    assert [True, True] == [one.agrees for (source, _), one in claims.items() if source == "7.3.3"]
    assert [by_source[name].agrees for name in ("Fig. 7.5", "Fig. 7.8", "7.4")] == [True, True, False]
    assert all(one.agrees is not None and not one.measured for one in claims.values())


def test_only_all_changes_together_give_31():
    assert [RECOVERED] == changes_that_give(ALGOPARC)
    assert (12, 48) == (best_each(ALGOPARC), best_each(ALGOPARC, RECOVERED))


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
