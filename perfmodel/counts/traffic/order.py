"""The order in which a device runs the instances of a launch's statements.

The picture is the loops as they are nested when a kernel runs, those over groups and work-items among them. Without
barriers, one work-item after another (``serial``) or all lanes along l.0 together (``lockstep``)::

    serial                    lockstep
    g.0                       g.0
        l.0                       k
            k                         l.0
                s += a[...]               s += a[...]

Between barriers, a serial device runs all work-items inside of each loop that contains them: g.0, k, l.0.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass

from perfmodel.counts.program.program import DeviceKernel, Launch, Loop, Node, Place, Wait, has_barrier

ORDERS = ("serial", "lockstep")
#: Loops (group and lane axes too) by their names and positions among siblings by their numbers, outermost first.
Path = tuple[int | str, ...]


def paths(device: DeviceKernel, launch: Launch, unrolled: Container[str], order: str) -> Mapping[Place, Path]:
    """Return, for each place of a launch, the loops around it and its positions in them as the device runs them.

    Work-groups run one after another, g.0 fastest. ``"serial"``: so do the work-items of a group, l.0 fastest. Where
    the launch has barriers, a loop over the work-items is inside each runtime loop; else it is outside of all loops.
    ``"lockstep"``: each instance is run by all lanes along l.0 together, and the other lanes are as far outside as
    barriers permit.

    Examples
    --------
    >>> from perfmodel.counts.program.program import Launch
    >>> from perfmodel.counts.program.program import DeviceKernel, Loop, Run
    >>> device = DeviceKernel("sum", (Loop("k", (Run("add"),)),))
    >>> launch = Launch("sum", (8, 4), (None,), None)
    >>> paths(device, launch, (), "serial")[0, "k", 0]
    ('g.0', 'l.1', 'l.0', 0, 'k', 0)
    >>> paths(device, launch, (), "lockstep")[0, "k", 0]
    ('g.0', 'l.1', 0, 'k', 0, 'l.0')
    """
    groups = tuple(f"g.{axis}" for axis in reversed(range(len(launch.grid))))
    lanes = tuple(f"l.{axis}" for axis in reversed(range(len(launch.group_shape))))
    kind = _Serial if order == "serial" else _Lockstep
    walk = kind(lanes, unrolled)
    if has_barrier(device):
        return dict(walk.between_barriers(device.body, (), groups))
    return dict(walk.without_barriers(device.body, groups))


@dataclass(frozen=True)
class _Order:
    lanes: Path
    unrolled: Container[str]

    def between_barriers(self, nodes: tuple[Node, ...], around: Place, outside: Path) -> Iterator[tuple[Place, Path]]:
        """Yield the places below a node that is or contains a barrier, and what is around them."""
        region = 0
        for k, node in enumerate(nodes):
            place = (*around, 2 * k)
            yield from self.region(((*around, 2 * k - 1),), (*outside, region))
            if isinstance(node, Loop) and (has_barrier(node) or self.splits(node)):
                region += 2
                below = (*outside, region - 1, node.iname)
                yield from self.between_barriers(node.body, (*place, node.iname), below)
            elif isinstance(node, Wait):
                region += 2
            else:
                yield from self.region(_places(node, place), (*outside, region))

    def without_barriers(self, nodes: tuple[Node, ...], outside: Path) -> Iterator[tuple[Place, Path]]:
        """Yield the places of a launch without barriers, and what is around them."""
        for k, node in enumerate(nodes):
            yield from self.region(((2 * k - 1,), *_places(node, (2 * k,))), outside)

    def splits(self, loop: Loop) -> bool:
        """Whether the work-items run a loop without barriers together, iteration by iteration."""
        raise NotImplementedError

    def region(self, places: tuple[Place, ...], outside: Path) -> Iterator[tuple[Place, Path]]:
        """Yield places that each work-item passes without a stop, and what is around them."""
        raise NotImplementedError


class _Serial(_Order):
    def splits(self, loop: Loop) -> bool:
        return not self._written_out(loop)

    def _written_out(self, node: Node) -> bool:
        if isinstance(node, Loop):
            return node.iname in self.unrolled and all(map(self._written_out, node.body))
        return True

    def region(self, places: tuple[Place, ...], outside: Path) -> Iterator[tuple[Place, Path]]:
        return ((place, (*outside, *self.lanes, *place[_depth(outside):])) for place in places)


class _Lockstep(_Order):
    def splits(self, loop: Loop) -> bool:
        return False

    def region(self, places: tuple[Place, ...], outside: Path) -> Iterator[tuple[Place, Path]]:
        inner = self.lanes[:-1], self.lanes[-1:]
        return ((place, (*outside, *inner[0], *place[_depth(outside):], *inner[1])) for place in places)


def _depth(outside: Path) -> int:
    """Return how many entries of a place stand for the loops outside."""
    return 2 * sum(isinstance(name, str) and not name.startswith("g.") for name in outside)


def _places(node: Node, place: Place) -> tuple[Place, ...]:
    """Return the place of a node and those of all nodes below it, each with that before it."""
    places: list[Place] = [place]
    if isinstance(node, Loop):
        for k, child in enumerate(node.body):
            places.append((*place, node.iname, 2 * k - 1))
            places.extend(_places(child, (*place, node.iname, 2 * k)))
    return tuple(places)
