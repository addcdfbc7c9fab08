"""Facts of pages and of the last level, from made-up curves."""

from __future__ import annotations

import pytest

from perfmodel.facts.probed import last_level_fact, page_facts
from tests.probed import chase, probe

MIB = 2**20


def pages(walks: dict[int, float]):
    """Loads that take 1 ns, or 3 ns beyond 512 lines, and longer by what a look-up of their pages takes [ns]."""
    points = (
        ({"pages": number, "lines": lines}, 100, 1e-9 * ((3 if number > 512 else 1) + walk * (lines == "spread")))
        for number, walk in walks.items() for lines in ("packed", "spread")
    )  # fmt: skip
    return probe("pages", points)


def stream(times: dict[int, float]):
    return probe("stream", (({"bytes": octets, "units": 2}, octets, seconds) for octets, seconds in times.items()))


def test_pages_end_where_their_look_up_costs_most():
    """The first level of the TLB knows 64 pages, the second 2048."""
    walks = {2**k: 0.0 if k <= 6 else 1.5 if k <= 11 else 20.0 for k in range(4, 15)}
    facts = page_facts([pages(walks)])
    assert {"page_bytes": 4096, "tlb_pages": 2048} == {key: fact.value for key, fact in facts.items()}


@pytest.mark.parametrize("walk", [0.0, 1.5])
def test_huge_pages_tell_nothing(walk):
    assert {} == page_facts([pages({2**k: walk if k > 6 else 0.0 for k in range(4, 15)})])
    assert {} == page_facts([])


def test_the_last_level_ends_beyond_the_second_levels_of_all_units():
    chased = chase({2**k: 1e-9 * (1 if k <= 15 else 4 if k <= 20 else 12) for k in range(12, 26)})
    read = {2**k: 1e-12 * (4 if k <= 21 else 8 if k <= 24 else 25) for k in range(19, 28)}
    assert 16 * MIB == last_level_fact([chased, stream(read)])["last_level_bytes"].value
    assert {} == last_level_fact([chased, stream({octets: read[octets] for octets in read if octets < 2**24})])
    assert {} == last_level_fact([])
