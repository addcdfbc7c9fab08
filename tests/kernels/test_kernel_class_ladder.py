"""Exponents of a ladder."""

from __future__ import annotations

from perfmodel.kernels import Ladder


def test_a_ladder_of_step_two_is_the_papers():
    ladder = Ladder(lambda e: ({"n": 2**e},), start=3, step=2)
    assert (18, 20, 22, 24) == ladder.exponents(18)
    assert (18, 20) == ladder.exponents(18, rungs=2)
