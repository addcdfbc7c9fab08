"""Derived values of programs that are written by hand."""

from __future__ import annotations

from fractions import Fraction

import islpy as isl
import pytest

from perfmodel.counts.program.program import DeviceKernel, Domain, Loop, Node, Run, Wait, has_barrier, instructions_in

POINTS = isl.Set("[n] -> { [j, l, k] : 0 <= j, l, k < n }")
OUTER = Loop("j", (Run("start"), Loop("k", (Run("add"), Wait("local"), Run("copy"))), Run("end")))


@pytest.mark.parametrize(("trips", "chance", "factor"), [
    (None, Fraction(1), 1),
    (None, Fraction(1, 4), Fraction(1, 4)),
    (Fraction(6), Fraction(1, 4), Fraction(3, 2)),
    (Fraction(0), Fraction(1), 0),  # a loop that never runs differs from no loop
])  # fmt: skip
def test_statistics_multiply(trips: Fraction | None, chance: Fraction, factor: Fraction) -> None:
    domain = Domain(0, POINTS, ("", "l.0", ""), trips, chance)
    assert (factor, ("j", "l", "k")) == (domain.factor, domain.names)


def test_instructions_are_in_schedule_order() -> None:
    kernel = DeviceKernel("kernel", (Run("first"), OUTER, Loop("j", (Run("last"),))))
    assert ["first", "start", "add", "copy", "end", "last"] == list(instructions_in(kernel))
    assert [] == list(instructions_in(Wait("global")))


@pytest.mark.parametrize(("node", "expected"), [
    (OUTER, True), (DeviceKernel("kernel", (OUTER,)), True), (Wait("global"), True),
    (Run("add"), False), (Loop("k", (Run("add"), Loop("j", ()))), False),
])  # fmt: skip
def test_barriers_are_found_at_any_depth(node: Node, expected: bool) -> None:
    assert expected == has_barrier(node)
