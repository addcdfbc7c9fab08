"""Where in the schedule accesses to global memory and barriers are executed.

A place alternates positions among siblings with loops, from the outside inwards: ``(4, "k", 0)`` is the
first node in the loop ``k``, which is the third node of its launch. Nodes have even positions. What is
executed before a node, such as the load for its test, has the odd number below that of the node.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perfmodel.counts.program.program import Access, BarrierSite, Domain, Place, Program, Statement
from perfmodel.counts.program.tree import Loop, Node, Wait, device_kernels
from perfmodel.errors import PlacesUnknownError


@dataclass(frozen=True, eq=False)
class AccessPlace:
    """An access, its place, and its number in the order of the launch's accesses.

    ``statement`` is the instruction to which it belongs; "" for an access of a test.
    """

    domain: Domain
    access: Access
    place: Place
    number: int
    statement: str


def loops_of(place: Place) -> tuple[str, ...]:
    """Return the loops around a place, outermost first.

    Examples
    --------
    >>> loops_of((4, "k", 0, "j", 2))
    ('k', 'j')
    """
    return tuple(str(loop) for loop in place[1::2])


def access_places(program: Program, launch: int) -> list[AccessPlace]:
    """Return the accesses of a launch to global memory in the order of execution; all loads come before all stores.

    Raises
    ------
    PlacesUnknownError
        The program was stored before places were recorded.
    """
    found = [
        (access.direction == "store", statement, access)
        for statement in statements_with_places(program) if statement.domain.launch == launch
        for access in statement.accesses if access.space == "global"
    ]
    found.sort(key=lambda one: one[0])
    return [
        AccessPlace(statement.domain, access, statement.place, number, statement.instruction)
        for number, (_, statement, access) in enumerate(found)
    ]


def statements_with_places(program: Program) -> tuple[Statement, ...]:
    """Return the statements of a program, each of which knows its place.

    Raises
    ------
    PlacesUnknownError
        The program was stored before places were recorded.
    """
    if not all(statement.place for statement in program.statements):
        raise PlacesUnknownError(program.name)
    return program.statements


def barrier_places(program: Program, launch: int) -> list[tuple[BarrierSite, Place]]:
    """Return the barriers of a launch with their places."""
    sites = [site for site in program.barriers if site.launch == launch]
    device = list(device_kernels(program.schedule))[launch]
    waits = [place for place, node in _placed(device.body, ()) if isinstance(node, Wait)]
    return list(zip(sites, waits, strict=True))


def _placed(nodes: Sequence[Node], around: Place) -> Iterator[tuple[Place, Node]]:
    """Yield the nodes below with their places, in the order of the schedule."""
    for k, node in enumerate(nodes):
        place = (*around, 2 * k)
        yield place, node
        if isinstance(node, Loop):
            yield from _placed(node.body, (*place, node.iname))
