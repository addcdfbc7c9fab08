"""Walks over schedules written out by hand."""

from __future__ import annotations

import pytest

from perfmodel.counts.program.program import DeviceKernel, Loop, Node, Run, Wait, has_barrier, instructions_in

INNER = Loop("k", (Run("add"), Wait("local"), Run("copy")))
OUTER = Loop("j", (Run("start"), INNER, Run("end")))


def test_instructions_come_in_the_order_of_the_schedule() -> None:
    kernel = DeviceKernel("kernel", (Run("first"), OUTER, Loop("j", (Run("last"),))))
    assert ["first", "start", "add", "copy", "end", "last"] == list(instructions_in(kernel))
    assert [] == list(instructions_in(Wait("global")))


@pytest.mark.parametrize(("node", "expected"), [
    (OUTER, True), (DeviceKernel("kernel", (OUTER,)), True), (Wait("global"), True),
    (Run("add"), False), (Loop("k", (Run("add"), Loop("j", ()))), False),
])  # fmt: skip
def test_barriers_are_found_at_any_depth(node: Node, expected: bool) -> None:
    assert expected == has_barrier(node)
