"""The accesses of a launch, with their positions in the schedule."""

from __future__ import annotations

from dataclasses import dataclass

from perfmodel.counts.program.program import Access, Domain, NodePath, Program


@dataclass(frozen=True, eq=False)
class AccessPlace:
    """An access, its place, and its number in the order of the launch's accesses.

    ``statement`` is the instruction to which it belongs; "" for an access of a test.
    """

    domain: Domain
    access: Access
    place: NodePath
    number: int
    statement: str


def loops_of(place: NodePath) -> tuple[str, ...]:
    """Return the loops around a place, outermost first."""
    return tuple(str(loop) for loop in place[1::2])


def access_places(program: Program, launch: int) -> list[AccessPlace]:
    """Return the accesses of a launch to global memory in the order of execution; all loads come before all stores."""
    accesses = [
        (statement, access) for statement in program.statements if statement.domain.launch == launch
        for access in statement.accesses if access.space == "global"
    ]
    accesses.sort(key=lambda pair: pair[1].direction == "store")
    return [
        AccessPlace(statement.domain, access, statement.place, number, statement.instruction)
        for number, (statement, access) in enumerate(accesses)
    ]
