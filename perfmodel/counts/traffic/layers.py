"""Layer conditions at given sizes: in which loops lines stay in the cache, and what is fetched therefore."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import reduce
from operator import or_

from perfmodel.counts.traffic.between import Between
from perfmodel.counts.traffic.footprints import Cache, Some
from perfmodel.counts.traffic.reuse import Reuse

LEAST = 1e-3  # smaller shares of the sets are not followed
HALF = 0.5  # what stays in most sets is taken to stay
Fetch = tuple[Some, int, float]  #: references, a depth, and how often what they touch from there inwards is fetched


class Layers:
    """What a cache fetches in a launch at given sizes.

    For each reference the outermost loop is found between whose iterations its lines stay. What the references touch
    in that loop as a whole is fetched once for each execution of the loop. Sets differ in how crowded they are: in a
    share of them lines stay in a loop further out than in the others.

    Parameters
    ----------
    between : Between
        What is touched between uses of lines.
    cache : Cache
        The cache.
    """

    def __init__(self, between: Between, cache: Cache) -> None:
        self.plan, self.footprints = between.plan, between.footprints
        self.reuse = Reuse(between, cache)

    def fetches(self, array: str | None = None) -> Iterator[Fetch]:
        """Yield what is fetched of an array, or of all arrays."""
        arrays: dict[str, list[int]] = defaultdict(list)
        for k, one in enumerate(self.plan.references):
            if array in (None, one.array):
                arrays[one.array].append(k)
        for some in arrays.values():
            yield from self._inside(0, tuple(some), 0.0, 1.0)

    def _at(self, node: int, some: Some, least: float, most: float) -> Iterator[Fetch]:
        """Yield what a loop fetches into a part of the sets: the most crowded first, between two shares."""
        depth = self.plan.loops[node].depth
        shares = {k: min(self.reuse.share(node, k), most) for k in some}
        for share in sorted({*shares.values(), most}):
            if share - least < LEAST:
                continue
            kept = tuple(k for k in some if shares[k] >= share)
            if kept:
                yield kept, depth, (share - least) * self._times(kept, depth)
            if len(kept) < len(some):
                yield from self._inside(node, tuple(k for k in some if shares[k] < share), least, share)
            least = share

    def _inside(self, node: int, some: Some, least: float, most: float) -> Iterator[Fetch]:
        """Yield the same for the iterations of a loop, none of which finds what the one before has left."""
        depth = self.plan.loops[node].depth + 1
        for cluster in self._clusters(node, some):
            below = reduce(or_, map(self.plan.below, cluster))
            held = tuple(k for k in some if k in below)
            if held and len(cluster) == 1 and cluster[0] >= 0:
                yield from self._at(cluster[0], held, least, most)
            elif held:
                yield held, depth, (most - least) * self._times(held, depth)

    def _clusters(self, node: int, some: Some) -> list[list[int]]:
        """Return the children of a loop, neighbours together between which an array's lines stay."""
        loop = self.plan.loops[node]
        found = [[loop.children[0]]]
        for child in loop.children[1:]:
            both = reduce(or_, map(self.plan.below, (*found[-1], child)))
            here = [k for k in some if k in both]
            if here and self.reuse.stays(here[0], loop.depth + 1, both) >= HALF:
                found[-1].append(child)
            else:
                found.append([child])
        return found

    def _times(self, some: Some, depth: int) -> float:
        return max(float(self.footprints.values[self.plan.references[k].iterations[depth]]) for k in some)
