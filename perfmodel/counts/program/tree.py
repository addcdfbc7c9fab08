"""The schedule of a kernel as a tree of nodes, in the order of execution."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


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
class DeviceKernel:
    """A device kernel in the launch sequence."""

    name: str
    body: tuple[Node, ...]


Node = Run | Wait | Loop | DeviceKernel


def instructions_in(node: Node) -> Iterator[str]:
    """Yield the identifiers of the instructions below a node, in schedule order."""
    if isinstance(node, Run):
        yield node.instruction
    elif isinstance(node, (Loop, DeviceKernel)):
        for child in node.body:
            yield from instructions_in(child)


def has_barrier(node: Node) -> bool:
    """Whether the node is a barrier or has one below it."""
    if isinstance(node, Wait):
        return True
    return isinstance(node, (Loop, DeviceKernel)) and any(has_barrier(child) for child in node.body)


def device_kernels(nodes: Iterable[Node]) -> Iterator[DeviceKernel]:
    """Yield the device kernels below some nodes, in schedule order: one for each launch of a program."""
    for node in nodes:
        if isinstance(node, DeviceKernel):
            yield node
        elif isinstance(node, Loop):
            yield from device_kernels(node.body)
