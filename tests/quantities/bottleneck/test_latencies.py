"""Latencies of chains, and how much of them is waited for."""

from __future__ import annotations

import pytest

from perfmodel.quantities.bottleneck.latencies import chain_latency, integer_latency, waiting_share


def test_a_chain_waits_as_far_as_the_next_runs_do_not_fill_it() -> None:
    assert [1.0, 0.5, 0.0] == [waiting_share(instructions, 10.0) for instructions in (3200.0, 800.0, 0.0)]


@pytest.mark.parametrize(("operations", "alone", "vectors"), [
    ({"add": 3.0, "mul": 1.0}, 0.0, 0.0),  # of floats nothing
    ({"integer_add": 4.0}, 1.0, 1.0),  # 1 cycle each, of the 4 of an addition of float32
    ({"integer_mul": 4.0}, 3.0, 10.0),  # 3 cycles of one value (imul), 10 of a vector (vpmulld)
    ({"integer_shift": 4.0, "load": 4.0}, 6.0, 6.0),  # 5 cycles of the first-level cache
])  # fmt: skip
def test_integers_and_loads_in_cycles(operations, alone, vectors):
    assert (alone, vectors) == tuple(integer_latency(operations, vectors=each) for each in (False, True))


def test_the_longest_chain_is_that_of_the_slowest_operations():
    assert 2.0 + 5.0 + 1.25 == chain_latency({"add": 2.0, "div": 1.0, "load": 1.0})
