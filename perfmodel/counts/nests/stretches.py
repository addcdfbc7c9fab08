"""Divides a launch into stretches without barriers, and these into nests of sequential loops."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, replace

from perfmodel.counts.program.program import Place
from perfmodel.counts.program.tree import Loop, Node, Wait, device_kernels, has_barrier


@dataclass(frozen=True)
class Surroundings:
    """What stands around a place of the schedule.

    Attributes
    ----------
    launch : int
        Position of the launch.
    stretch : int
        Number of the part of the launch between two barriers, in the order of the schedule.
    outer : tuple of str
        Sequential loops around the stretch, which therefore contain barriers.
    inner : tuple of str
        Sequential loops inside the stretch, outermost first; loops that are unrolled are left out.
    loop : Place
        The place of the innermost of these loops; that of the stretch if there is none.
    repeated : tuple of str
        Unrolled loops around one of the inner loops, which the generated code therefore holds once for each value.
    """

    launch: int
    stretch: int
    outer: tuple[str, ...]
    inner: tuple[str, ...]
    loop: Place
    repeated: tuple[str, ...] = ()


def surroundings(schedule: tuple[Node, ...], unrolled: Container[str]) -> Mapping[tuple[int, Place], Surroundings]:
    """Return what stands around each place of each launch, those before a node included."""
    return {
        (launch, place): found
        for launch, device in enumerate(device_kernels(schedule))
        for place, found in _Division(launch, unrolled).block(device.body, (), ())
    }


@dataclass
class _Division:
    """Numbers the stretches of one launch while its schedule is walked."""

    launch: int
    unrolled: Container[str]
    stretch: int = 0

    def block(
        self, nodes: tuple[Node, ...], around: Place, outer: tuple[str, ...]
    ) -> Iterator[tuple[Place, Surroundings]]:
        """Yield the places of siblings of which one is, or contains, a barrier, or of a whole launch."""
        for k, node in enumerate(nodes):
            place = (*around, 2 * k)
            if isinstance(node, Wait):
                self.stretch += 1
            elif isinstance(node, Loop) and has_barrier(node):
                yield self._at((*around, 2 * k - 1), _Loops(outer, (), (), (), around))
                self.stretch += 1
                yield from self.block(node.body, (*place, node.iname), (*outer, node.iname))
                self.stretch += 1
            else:
                yield from self.free((node,), k, around, _Loops(outer, (), (), (), around))

    def free(
        self, nodes: tuple[Node, ...], first: int, around: Place, loops: _Loops
    ) -> Iterator[tuple[Place, Surroundings]]:
        """Yield the places of siblings without barriers."""
        for k, node in enumerate(nodes, first):
            place = (*around, 2 * k)
            yield self._at((*around, 2 * k - 1), loops)
            yield self._at(place, loops)
            if isinstance(node, Loop):
                below = (*place, node.iname)
                inside = loops.unrolled(node.iname) if node.iname in self.unrolled else loops.run(node.iname, below)
                yield from self.free(node.body, 0, below, inside)

    def _at(self, place: Place, loops: _Loops) -> tuple[Place, Surroundings]:
        return place, Surroundings(
            self.launch, self.stretch, loops.outer, loops.inner, loops.innermost, loops.repeated
        )


@dataclass(frozen=True)
class _Loops:
    """The loops around a place: as in :class:`Surroundings`, and the unrolled ones that are met on the way."""

    outer: tuple[str, ...]
    inner: tuple[str, ...]
    repeated: tuple[str, ...]
    written_out: tuple[str, ...]
    innermost: Place

    def run(self, iname: str, below: Place) -> _Loops:
        """Return the loops inside of a sequential loop."""
        return replace(self, inner=(*self.inner, iname), repeated=self.written_out, innermost=below)

    def unrolled(self, iname: str) -> _Loops:
        """Return the loops inside of an unrolled loop."""
        return replace(self, written_out=(*self.written_out, iname))
