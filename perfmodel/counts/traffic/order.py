"""The order in which a device executes the statements of a launch: the loops around each schedule position.

Without barriers there are three orders. A device runs one work-item after another (``serial``), vectors of neighbours
one after another (``vectors``), or all lanes along l.0 together (``lockstep``)::

    serial                    vectors                    lockstep
    g.0                       g.0                        g.0
        l.0                       l.0/8                      k
            k                         k                          l.0
                s += a[...]               l.0                        s += a[...]
                                              s += a[...]

With barriers, a serial device runs all work-items inside each loop that contains a barrier: g.0, k, l.0. A cache sees
different reuse in each order.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass

from perfmodel.counts.nests.digits import digit_name, name_and_place_value
from perfmodel.counts.program.program import DeviceKernel, Launch, Loop, Node, NodePath, Wait, has_barrier

ORDERS = ("serial", "vectors", "lockstep")
#: Names of loops (group and lane axes too) and numbers of positions among siblings, outermost first.
Path = tuple[int | str, ...]


def paths(
    device: DeviceKernel, launch: Launch, unrolled: Container[str], order: str, lanes: int = 1
) -> Mapping[NodePath, Path]:
    """Return, for each schedule position of a launch, the loops around it and its positions in these loops.

    Work-groups run one after another, and g.0 is the fastest axis. ``order`` gives the order in a group:

    - ``"serial"``: work-items run one after another, and l.0 is the fastest axis. The loop over work-items is outside
      of all loops. If the launch has barriers, this loop is inside each runtime loop.
    - ``"lockstep"``: all lanes along l.0 execute each statement together. Loops over the other local axes are as far
      outside as barriers permit.
    - ``"vectors"``: ``lanes`` neighbours along l.0 execute each statement together. Loops over vectors and over the
      other local axes are as far outside as barriers permit.
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
    positions = (each for k, node in enumerate(device.body) for each in ((2 * k - 1,), *_positions(node, (2 * k,))))
    return dict(walk.region(positions, groups))


def with_digit_loops(path: Path, digits: Mapping[str, tuple[int, ...]]) -> Path:
    """Return a path with a loop for each digit of an iname. Loops of larger place values are outside."""
    result: list[int | str] = []
    for entry in path:
        if isinstance(entry, str):
            name, width = name_and_place_value(entry)
            larger = (digit_name(name, value) for value in reversed(digits.get(name, ())) if value > width)
            result.extend(digit for digit in larger if digit not in result)
        result.append(entry)
    return tuple(result)


@dataclass(frozen=True)
class _DeviceOrder:
    around: Path
    inside: Path
    unrolled: Container[str]
    serial: bool

    def between_barriers(
        self, nodes: tuple[Node, ...], parent: NodePath, outside: Path
    ) -> Iterator[tuple[NodePath, Path]]:
        """Yield the positions below a node with a barrier, and the loops around each position."""
        region = 0
        for k, node in enumerate(nodes):
            position = (*parent, 2 * k)
            yield from self.region(((*parent, 2 * k - 1),), (*outside, region))
            if isinstance(node, Loop) and (has_barrier(node) or (self.serial and not self._is_written_out(node))):
                region += 2
                below = (*outside, region - 1, node.iname)
                yield from self.between_barriers(node.body, (*position, node.iname), below)
            elif isinstance(node, Wait):
                region += 2
            else:
                yield from self.region(_positions(node, position), (*outside, region))

    def region(self, positions: Iterable[NodePath], outside: Path) -> Iterator[tuple[NodePath, Path]]:
        """Yield positions in one barrier interval, and the loops around each position."""
        # entries of a position that `outside` replaces
        depth = 2 * sum(isinstance(name, str) and not name.startswith("g.") for name in outside)
        return ((each, (*outside, *self.around, *each[depth:], *self.inside)) for each in positions)

    def _is_written_out(self, node: Node) -> bool:
        return not isinstance(node, Loop) or (node.iname in self.unrolled and all(map(self._is_written_out, node.body)))


def _positions(node: Node, position: NodePath) -> Iterator[NodePath]:
    """Yield the positions of a node and of all nodes below it. Before each comes the position before the node."""
    yield position
    if isinstance(node, Loop):
        for k, child in enumerate(node.body):
            yield (*position, node.iname, 2 * k - 1)
            yield from _positions(child, (*position, node.iname, 2 * k))
