"""How many of the lines that an iteration of a loop touches are still in a cache in the next one."""

from __future__ import annotations

from perfmodel.counts.traffic.between import Between
from perfmodel.counts.traffic.boxes import Patch
from perfmodel.counts.traffic.footprints import Cache, Footprint
from perfmodel.counts.traffic.pressure import chance_to_stay, overlap

PAGE = 4096  # bytes; arrays in global memory begin on a page


class Reuse:
    """The share of each reference's lines that stay from iteration to iteration of each loop.

    Parameters
    ----------
    between : Between
        What is touched between uses of lines.
    cache : Cache
        The cache.
    """

    def __init__(self, between: Between, cache: Cache) -> None:
        self.between, self.cache = between, cache
        self.footprints, self.plan = between.footprints, between.plan
        self.holds_everything = not cache.sets and self.footprints.most <= cache.lines
        self._shares: dict[tuple[int, int], float] = {}

    def share(self, node: int, k: int) -> float:
        """Return the share of a reference's lines that stay between the iterations of a loop and of all inside it."""
        if self.holds_everything:
            return 1.0
        key = node, k
        if key not in self._shares:
            depth, nodes = self.plan.loops[node].depth, self.plan.references[k].nodes
            share = self.share(nodes[depth + 1], k) if depth + 1 < len(nodes) else 1.0
            if share > 0 and self.footprints.extents[k][depth] > 1:
                share = min(share, *(self._staying(k, depth + 1, one) for one in self.between.uses(node, k)))
            self._shares[key] = share
        return self._shares[key]

    def stays(self, k: int, depth: int, others: frozenset[int]) -> float:
        """Return the share of a reference's lines that stay while it and others touch theirs from a depth inwards."""
        return 1.0 if self.holds_everything else self._staying(k, depth, self.footprints.of(others, depth))

    def _staying(self, k: int, depth: int, between: Footprint) -> float:
        """Return the share of a reference's lines that stay while a footprint, its own lines in it, is touched."""
        lines, sets = self.cache.lines, self.cache.sets
        if not sets:
            return float(between.lines <= lines)
        if between.crowd(sets) <= lines // sets:
            return 1.0
        array = self.plan.references[k].array
        parts = between.by_array
        found = [*parts[array].boxes, *(one for a in parts if a != array for one in parts[a].boxes)]
        own = found[0]
        others = [(one[1].load(sets), self._meeting(own, one, depth)) for one in found[1:]]
        return chance_to_stay(own[1].load(sets), others, lines // sets)

    def _meeting(self, own: tuple[int, Patch], other: tuple[int, Patch], depth: int) -> float:
        """Return the share of the sets reached by a box that another box reaches too.

        It is known of boxes that move alike, as arrays begin on pages; else each set is as likely as any other.
        """
        (k, patch), (j, more) = own, other
        one, two = self.plan.references[k], self.plan.references[j]
        here, there = (part.box.place(self.cache.sets) for part in (patch, more))
        regular = there.period and PAGE % there.period == 0 == here.period % there.period
        if regular and there.pitches in ((), here.pitches[:1]) and one.paged and two.paged:
            steps = zip(
                self.footprints.steps[k] or (), self.footprints.steps[j] or (), self.footprints.extents[k][:depth],
                strict=False,
            )
            if all((a - b) % there.period == 0 for a, b, extent in steps if extent > 1):
                line = self.cache.line_bytes
                return max(
                    overlap(patch.box.low / line, here.run, more.box.low / line, there.run, cycle / line)
                    for cycle in (there.period, *there.pitches)
                )
        return min(more.reached(self.cache.sets) / self.cache.sets, 1.0)
