"""What is prepared once for the traffic of a launch: the tree of its loops, and its references with numbered counts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.quasipoly.distinct import DistinctCounts
from perfmodel.counts.traffic.references import Reference
from perfmodel.lazy import Lazy, cached_property


@dataclass(frozen=True)
class Numbered(Lazy):
    """A reference; its counts are positions among the distinct ones."""

    array: str
    size: int
    nodes: tuple[int, ...]  # the loops around it
    iterations: tuple[int, ...]
    steps: tuple[int, ...] | None
    inner: tuple[tuple[tuple[int, int, int], ...], ...]
    starts: tuple[int, ...]
    stores: tuple[bool, ...]
    span: int | None
    paged: bool  # whether the array begins on a page

    @cached_property
    def plain(self) -> bool:
        """Whether the extents of its loops do not depend on those of others: the same loops are in it at each depth."""
        loops = tuple((k, *pair) for k, pair in enumerate(pairwise(self.iterations)))
        return all(self.inner[depth] == loops[depth:] for depth in range(len(self.inner)))


@dataclass(frozen=True)
class Loop:
    """A loop of the tree: what is in it, in order, and how many loops are around it.

    A number in ``children`` is a loop, or, if negative, the reference ``~number``.
    """

    depth: int
    children: tuple[int, ...]
    inside: frozenset[int]  # all references below


@dataclass(frozen=True)
class Gap:
    """Two children of a loop that use an array one after the other, and the references between them."""

    before: int
    one: int  # a reference to the array in the first child
    after: int
    other: int  # and in the second
    others: frozenset[int]


@dataclass(frozen=True, eq=False)
class LaunchPlan(Lazy):
    """The loops of a launch, the first of which stands for the launch itself, and its references."""

    loops: tuple[Loop, ...]
    references: tuple[Numbered, ...]

    def below(self, child: int) -> frozenset[int]:
        """Return the references below a child of a loop."""
        return frozenset((~child,)) if child < 0 else self.loops[child].inside

    def by_array(self, some: frozenset[int]) -> Mapping[str, tuple[int, ...]]:
        """Return some references by their arrays."""
        if some not in self._by_array:
            arrays: dict[str, list[int]] = defaultdict(list)
            for k in sorted(some):
                arrays[self.references[k].array].append(k)
            self._by_array[some] = {array: tuple(held) for array, held in arrays.items()}
        return self._by_array[some]

    def gaps(self, node: int, k: int) -> tuple[Gap, ...]:
        """Return the gaps between uses of a reference's array in a loop; the last is that to the next iteration."""
        key = node, k
        if key not in self._gaps:
            children = self.loops[node].children
            users = [(at, mine) for at, child in enumerate(children) if (mine := self._user(child, k)) is not None]
            found = []
            for (before, one), (after, other) in zip(users, [*users[1:], users[0]], strict=True):
                others = children[before + 1:after] if after > before else (*children[before + 1:], *children[:after])
                between = frozenset(j for child in others for j in self.below(child))
                found.append(Gap(children[before], one, children[after], other, between))
            self._gaps[key] = tuple(found)
        return self._gaps[key]

    def _user(self, child: int, k: int) -> int | None:
        """Return the reference itself, or else one to the same array, where it is below a child."""
        below, array = self.below(child), self.references[k].array
        return k if k in below else next((j for j in sorted(below) if self.references[j].array == array), None)

    @cached_property
    def _gaps(self) -> dict[tuple[int, int], tuple[Gap, ...]]:
        return {}

    @cached_property
    def _by_array(self) -> dict[frozenset[int], Mapping[str, tuple[int, ...]]]:
        return {}


def plan_of(references: Sequence[Reference], spans: Mapping[str, Count | None], position: DistinctCounts) -> LaunchPlan:
    """Return the plan of a launch, whose references are in the order of the device."""
    numbers: dict[object, int] = {(): 0}
    children: list[list[int]] = [[]]
    depths, inside = [-1], [set(range(len(references)))]
    found = []
    for k, one in enumerate(references):
        parent = 0
        own = []
        for depth, node in enumerate(one.frame.nodes):
            if node not in numbers:
                numbers[node] = len(children)
                children[parent].append(numbers[node])
                children.append([])
                depths.append(depth)
                inside.append(set())
            parent = numbers[node]
            inside[parent].add(k)
            own.append(parent)
        children[parent].append(~k)
        span = spans[one.array]
        found.append(Numbered(
            one.array, one.size, tuple(own), tuple(map(position, one.frame.iterations)),
            None if one.steps is None else tuple(map(position, one.steps)),
            tuple(tuple((k, position(a), position(b)) for k, a, b in loops) for loops in one.inner),
            tuple(map(position, one.starts)), one.stores, None if span is None else position(span), one.paged,
        ))
    loops = (
        Loop(depth, tuple(below), frozenset(held)) for depth, below, held in zip(depths, children, inside, strict=True)
    )
    return LaunchPlan(tuple(loops), tuple(found))
