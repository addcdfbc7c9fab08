"""The dissertation's claims about sorting, and what its formulas give."""

from __future__ import annotations

from scripts.lab.studies.claim import SLIP
from scripts.lab.studies.karsin import gpu
from scripts.lab.studies.sorting import RECOVERED
from scripts.lab.studies.sorting_claims import best_each, changes_that_give, published_claims

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
