"""The cost of a barrier, from times that a known cost makes."""

from __future__ import annotations

import pytest

from perfmodel.facts.probes.barriers import barrier_facts, barrier_slopes
from tests.probed import probe

NUMBERS, ITEMS = (0, 2, 8, 32), (16, 64, 256)


def barriers(group_s, item_s, start_s=1e-7):
    return probe("barriers", [
        ({"barriers": b, "items": g}, 50, start_s + b * (group_s + item_s * g) + (1e-6 if b == 0 else 0.0))
        for b in NUMBERS for g in ITEMS
    ])  # fmt: skip


@pytest.mark.parametrize(("group_s", "item_s"), [(3e-9, 2e-10), (5e-8, 0.0), (0.0, 1e-9)])
def test_a_known_cost(group_s, item_s):
    """A kernel with no barrier is other code, and does not count."""
    found = barrier_facts([barriers(group_s, item_s)])
    assert (pytest.approx(item_s, abs=1e-15), "s") == (found["barrier_s"].value, found["barrier_s"].unit)
    assert pytest.approx(group_s, abs=1e-15) == found["barrier_group_s"].value


def test_neither_cost_is_below_zero():
    costs = ((16, 3e-9), (64, 1e-9))
    run = probe("barriers", [({"barriers": b, "items": g}, 1, b * s) for b in (1, 3) for g, s in costs])
    found = barrier_facts([run])
    assert 0.0 == found["barrier_s"].value
    assert 1e-9 < found["barrier_group_s"].value < 3e-9


def test_barriers_that_cost_nothing_or_were_not_probed():
    assert {} == barrier_facts([])
    assert {} == barrier_facts([barriers(0.0, 0.0)])
    assert {16: pytest.approx(7e-9)} == barrier_slopes([
        probe("barriers", [({"barriers": b, "items": 16}, 1, 1e-8 + 7e-9 * b) for b in (1, 4)])
    ])  # fmt: skip
