"""Caches against a plain simulation."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
from hypothesis import given, settings, strategies as st

from scripts.lab.kim.memory_hierarchy import CacheShape, hits

LINE = 64


def plain_hits(lines: list[int], shape: CacheShape) -> list[bool]:
    sets: list[OrderedDict[int, None]] = [OrderedDict() for _ in range(shape.sets)]
    found = []
    for line in lines:
        held = sets[line % shape.sets]
        found.append(line in held)
        held[line] = None
        held.move_to_end(line)
        if len(held) > shape.ways:
            held.popitem(last=False)
    return found


@settings(deadline=None, max_examples=200)
@given(st.lists(st.integers(0, 30), max_size=120), st.integers(1, 5), st.integers(1, 6))
def test_hits_are_those_of_a_plain_simulation(lines: list[int], sets: int, ways: int) -> None:
    shape = CacheShape(sets * ways * LINE, LINE, ways)
    assert plain_hits(lines, shape) == hits(np.array(lines, np.int64), shape).tolist()
