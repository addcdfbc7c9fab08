"""The search that adds the best change again and again, against the one of the laboratory on sets of optimisations."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from scripts.lab.kim.stepwise import next_step
from scripts.lab.studies.fmm import search

NAMES = "abcd"


def walked(space, times):
    """Return the places that the search runs, in their order."""
    ran: dict[int, float | None] = {}
    while (place := next_step(space, ran)) is not None:
        assert place not in ran
        ran[place] = times[place]
    return list(ran)


@pytest.mark.parametrize("seed", range(5))
def test_its_way_is_that_of_section_3_5_2(seed):
    """Of four optimisations: the baseline, then 4, 3, 2 and 1 codes, each stage on top of the best of the last one."""
    space = [dict(zip(NAMES, values, strict=True)) for values in product((False, True), repeat=4)]
    seconds = np.random.default_rng(seed).random(len(space)).tolist()
    taken = [frozenset(name for name, value in one.items() if value) for one in space]
    path = search(dict(zip(taken, seconds, strict=True)))
    ran = walked(space, seconds)
    assert 1 + 4 + 3 + 2 + 1 == len(ran)
    assert {taken.index(step) for step in path} <= set(ran)
    assert [0, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4] == [len(taken[place]) for place in ran]
