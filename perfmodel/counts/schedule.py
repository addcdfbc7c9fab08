"""The schedule of a kernel as a tree of frozen values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Run:
    """Execution of the instruction with this identifier."""

    instruction: str


@dataclass(frozen=True)
class Wait:
    """A barrier; ``scope`` is ``"local"`` or ``"global"``."""

    scope: str


@dataclass(frozen=True)
class Loop:
    """A sequential (or unrolled) loop over an iname."""

    iname: str
    body: tuple[Node, ...]


@dataclass(frozen=True)
class Device:
    """A device kernel in the launch sequence."""

    name: str
    body: tuple[Node, ...]


Node = Run | Wait | Loop | Device


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
            nodes.append(Device(item.kernel_name, body))
            continue
        if isinstance(item, RunInstruction):
            nodes.append(Run(item.insn_id))
        elif isinstance(item, Barrier):
            nodes.append(Wait(item.synchronization_kind))
        position += 1
    return tuple(nodes), position


def instructions_in(node: Node) -> Iterator[str]:
    """Yield the identifiers of the instructions below a node, in schedule order."""
    if isinstance(node, Run):
        yield node.instruction
    elif isinstance(node, (Loop, Device)):
        for child in node.body:
            yield from instructions_in(child)


def has_barrier(node: Node) -> bool:
    """Whether a barrier stands below the node."""
    if isinstance(node, Wait):
        return True
    return isinstance(node, (Loop, Device)) and any(has_barrier(child) for child in node.body)
