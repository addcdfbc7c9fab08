"""Where in the schedule accesses to global memory and barriers are executed.

A place alternates positions among siblings with loops, from the outside inwards: ``(4, "k", 0)`` is the
first node in the loop ``k``, which is the third node of its launch. Nodes have even positions. What is
executed before a node, such as the load for its test, has the odd number below that of the node.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perfmodel.counts.program.program import Access, BarrierSite, Domain, Program
from perfmodel.counts.program.steps import Act, Step
from perfmodel.counts.program.tree import DeviceKernel, Loop, Node, Run, Wait

Place = tuple[int | str, ...]


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
    """Return the accesses of a launch to global memory; all loads come before all stores.

    A program lists the accesses of one domain in the order of execution, but not by statement. The
    search for the statement of an access begins at the statement of the access before. It takes the
    first statement that is in the same loops, touches the array, and has more loads (or stores) than
    were found so far. An access without such a statement belongs to a test; its place is before all
    nodes in these loops.
    """
    places = [
        (place, node.instruction) for place, node in _placed(_device(program, launch).body, ())
        if isinstance(node, Run)
    ]
    search = _Search(places, {} if program.dataflow is None else dict(program.dataflow.by_name))
    found = [
        (access.direction == "store", search.place(number, statement.domain, access), statement.domain, access)
        for number, statement in enumerate(program.statements) if statement.domain.launch == launch
        for access in statement.accesses if access.space == "global"
    ]
    found.sort(key=lambda one: one[0])
    return [AccessPlace(domain, access, place, k, name) for k, (_, (place, name), domain, access) in enumerate(found)]


def barrier_places(program: Program, launch: int) -> list[tuple[BarrierSite, Place]]:
    """Return the barriers of a launch with their places."""
    sites = [site for site in program.barriers if site.launch == launch]
    waits = [place for place, node in _placed(_device(program, launch).body, ()) if isinstance(node, Wait)]
    return list(zip(sites, waits, strict=True))


class _Search:
    """Finds the statement of each access, in the order in which a program lists the accesses."""

    def __init__(self, places: Sequence[tuple[Place, str]], steps: dict[str, Step]) -> None:
        self.places = places
        self.steps = steps
        self.lacking: dict[str, dict[Act, int]] = {name: dict(step.acts) for name, step in steps.items()}
        self.reached: dict[int, int] = defaultdict(int)  # for each domain
        self.loops = {loop for place, _ in places for loop in loops_of(place)}

    def place(self, number: int, domain: Domain, access: Access) -> tuple[Place, str]:
        inside = self.loops & set(domain.names)
        act = (access.space, access.direction)
        for k in range(self.reached[number], len(self.places)):
            place, name = self.places[k]
            step = self.steps.get(name)
            if step is None or inside != set(loops_of(place)) or not _touches(step, access):
                continue
            if self.lacking[name].get(act, 0):
                self.lacking[name][act] -= 1
                self.reached[number] = k
                return place, name
        return self.before(inside), ""

    def before(self, inside: set[str]) -> Place:
        """Return the place before the first node in some loops."""
        for place, _ in self.places:
            if inside == set(loops_of(place)[:len(inside)]):
                cut = place[:2 * len(inside) + 1]
                return (*cut[:-1], int(cut[-1]) - 1)
        return (-1,)


def _touches(step: Step, access: Access) -> bool:
    touched = step.readings if access.direction == "load" else step.writings
    return any(one.variable == access.array for one in touched)


def _device(program: Program, launch: int) -> DeviceKernel:
    return list(_devices(program.schedule))[launch]


def _devices(nodes: Sequence[Node]) -> Iterator[DeviceKernel]:
    for node in nodes:
        if isinstance(node, DeviceKernel):
            yield node
        elif isinstance(node, Loop):
            yield from _devices(node.body)


def _placed(nodes: Sequence[Node], around: Place) -> Iterator[tuple[Place, Node]]:
    """Yield the nodes below with their places, in the order of the schedule."""
    for k, node in enumerate(nodes):
        place = (*around, 2 * k)
        yield place, node
        if isinstance(node, Loop):
            yield from _placed(node.body, (*place, node.iname))
