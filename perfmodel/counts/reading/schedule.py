"""From Loopy's linearization to a tree of frozen values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import loopy as lp
from loopy.schedule import (
    Barrier,
    CallKernel,
    EnterLoop,
    LeaveLoop,
    ReturnFromKernel,
    RunInstruction,
)

from perfmodel.counts.program.tree import DeviceKernel, Loop, Node, Run, Wait


def schedule_tree(kernel: lp.LoopKernel) -> tuple[Node, ...]:
    """Return the nodes at the top of a scheduled kernel: launches, perhaps in host loops."""
    nodes, _ = _block(kernel.linearization, 0)
    return nodes


def _block(items: Sequence[Any], start: int) -> tuple[tuple[Node, ...], int]:
    nodes: list[Node] = []
    position = start
    while position < len(items):
        item = items[position]
        if isinstance(item, (LeaveLoop, ReturnFromKernel)):
            return tuple(nodes), position + 1
        if isinstance(item, EnterLoop):
            body, position = _block(items, position + 1)
            nodes.append(Loop(item.iname, body))
            continue
        if isinstance(item, CallKernel):
            body, position = _block(items, position + 1)
            nodes.append(DeviceKernel(item.kernel_name, body))
            continue
        if isinstance(item, RunInstruction):
            nodes.append(Run(item.insn_id))
        elif isinstance(item, Barrier):
            nodes.append(Wait(item.synchronization_kind))
        position += 1
    return tuple(nodes), position
