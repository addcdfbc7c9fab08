"""The order in which a device runs the instances of a launch's statements.

The picture is the loops as they are nested when a kernel runs, those over groups and work-items among them. Without
barriers, one work-item after another (``serial``), one vector of 8 neighbours after another (``vectors``) or all lanes
along l.0 together (``lockstep``)::

    serial                    vectors                    lockstep
    g.0                       g.0                        g.0
        l.0                       l.0/8                      k
            k                         k                          l.0
                s += a[...]               l.0                        s += a[...]
                                              s += a[...]

Between barriers, a serial device runs all work-items inside of each loop that contains them: g.0, k, l.0.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass

from perfmodel.counts.program.program import DeviceKernel, Launch, Loop, Node, Place, Wait, has_barrier

ORDERS = ("serial", "vectors", "lockstep")
#: Loops (group and lane axes too) by their names and positions among siblings by their numbers, outermost first.
Path = tuple[int | str, ...]


def paths(
    device: DeviceKernel, launch: Launch, unrolled: Container[str], order: str, lanes: int = 1
) -> Mapping[Place, Path]:
    """Return, for each place of a launch, the loops around it and its positions in them as the device runs them.

    Work-groups run one after another, g.0 fastest. ``"serial"``: so do the work-items of a group, l.0 fastest. Where
    the launch has barriers, a loop over the work-items is inside each runtime loop; else it is outside of all loops.
    ``"lockstep"``: each instance is run by all lanes along l.0 together, and the other lanes are as far outside as
    barriers permit. ``"vectors"``: so many lanes along l.0 run together, and vectors are as far outside.

    Examples
    --------
    >>> from perfmodel.counts.program.program import DeviceKernel, Launch, Loop, Run
    >>> device = DeviceKernel("sum", (Loop("k", (Run("add"),)),))
    >>> launch = Launch("sum", (8, 4), (None,), None)
    >>> paths(device, launch, (), "serial")[0, "k", 0]
    ('g.0', 'l.1', 'l.0', 0, 'k', 0)
    >>> paths(device, launch, (), "lockstep")[0, "k", 0]
    ('g.0', 'l.1', 0, 'k', 0, 'l.0')
    """
    groups = tuple(f"g.{axis}" for axis in reversed(range(len(launch.grid))))
    axes = tuple(f"l.{axis}" for axis in reversed(range(len(launch.group_shape))))
    serial = order == "serial"
    around = axes if serial else axes[:-1]
    if order == "vectors" and axes and launch.group_shape[0] > lanes:
        around = (*around, f"l.0/{lanes}")
    walk = _DeviceOrder(around, () if serial else axes[-1:], unrolled, serial)
    if has_barrier(device):
        return dict(walk.between_barriers(device.body, (), groups))
    places = (place for k, node in enumerate(device.body) for place in ((2 * k - 1,), *_places(node, (2 * k,))))
    return dict(walk.region(places, groups))


@dataclass(frozen=True)
class _DeviceOrder:
    """Loops over work-items around and inside of what each work-item passes without a stop."""

    around: Path
    inside: Path
    unrolled: Container[str]
    serial: bool

    def between_barriers(self, nodes: tuple[Node, ...], parent: Place, outside: Path) -> Iterator[tuple[Place, Path]]:
        """Yield the places below a node that is or contains a barrier, and what is around them."""
        region = 0
        for k, node in enumerate(nodes):
            place = (*parent, 2 * k)
            yield from self.region(((*parent, 2 * k - 1),), (*outside, region))
            if isinstance(node, Loop) and (has_barrier(node) or (self.serial and not self._is_written_out(node))):
                region += 2
                below = (*outside, region - 1, node.iname)
                yield from self.between_barriers(node.body, (*place, node.iname), below)
            elif isinstance(node, Wait):
                region += 2
            else:
                yield from self.region(_places(node, place), (*outside, region))

    def region(self, places: Iterable[Place], outside: Path) -> Iterator[tuple[Place, Path]]:
        """Yield places that each work-item passes without a stop, and what is around them."""
        depth = 2 * sum(isinstance(name, str) and not name.startswith("g.") for name in outside)  # entries of a place
        return ((place, (*outside, *self.around, *place[depth:], *self.inside)) for place in places)

    def _is_written_out(self, node: Node) -> bool:
        return not isinstance(node, Loop) or (node.iname in self.unrolled and all(map(self._is_written_out, node.body)))


def _places(node: Node, place: Place) -> Iterator[Place]:
    """Yield the place of a node and those of all nodes below it, each with that before it."""
    yield place
    if isinstance(node, Loop):
        for k, child in enumerate(node.body):
            yield (*place, node.iname, 2 * k - 1)
            yield from _places(child, (*place, node.iname, 2 * k))
