"""How many of the lines that an iteration of a loop touches are still in the cache in the next one."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from perfmodel.counts.traffic.boxes import Patch
from perfmodel.counts.traffic.footprints import Footprint, Footprints, joined, scaled, total
from perfmodel.counts.traffic.pressure import chance_to_stay, overlap

PAGE = 4096  # bytes; arrays in global memory begin on a page
SAME = 1.25  # lines of a loop over those of an iteration, below which the iterations share their lines


class Reuse:
    """The share of each reference's lines that stay from iteration to iteration of each loop.

    Parameters
    ----------
    footprints : Footprints
        What the loops touch.
    """

    def __init__(self, footprints: Footprints) -> None:
        self.footprints, self.plan, self.cache = footprints, footprints.plan, footprints.cache
        self._shares: dict[tuple[int, int], float] = {}

    def share(self, node: int, k: int) -> float:
        """Return the share of a reference's lines that stay between the iterations of a loop and of all inside it."""
        key = node, k
        if key not in self._shares:
            depth, nodes = self.plan.loops[node].depth, self.plan.references[k].nodes
            share = self.share(nodes[depth + 1], k) if depth + 1 < len(nodes) else 1.0
            if share > 0 and self.footprints.extents[k][depth] > 1:
                share = min(share, *(self.staying(k, depth + 1, one) for one in self._between(node, k, depth)))
            self._shares[key] = share
        return self._shares[key]

    def staying(self, k: int, depth: int, between: Footprint) -> float:
        """Return the share of a reference's lines that stay while a footprint, its own lines in it, is touched."""
        lines, sets = self.cache.lines, self.cache.sets
        if not sets:
            return float(sum(map(total, between.values())) <= lines)
        array = self.plan.references[k].array
        if sum(ceil(patch.load) for patches in between.values() for _, patch in patches) <= lines // sets:
            return 1.0
        found = [one for patches in (between[array], *(between[a] for a in between if a != array)) for one in patches]
        own = found[0]
        others = [(one[1].load, self._meeting(own, one, depth)) for one in found[1:]]
        return chance_to_stay(own[1].load, others, lines // sets)

    def _meeting(self, own: tuple[int, Patch], other: tuple[int, Patch], depth: int) -> float:
        """Return the share of the sets reached by a box that another box reaches too.

        It is known of boxes that move alike, as arrays begin on pages; else each set is as likely as any other.
        """
        (k, patch), (j, more) = own, other
        one, two = self.plan.references[k], self.plan.references[j]
        regular = more.period and PAGE % more.period == 0 == patch.period % more.period
        if regular and more.pitches in ((), patch.pitches[:1]) and one.paged and two.paged:
            steps = zip(
                self.footprints.steps[k] or (), self.footprints.steps[j] or (), self.footprints.extents[k][:depth],
                strict=False,
            )
            if all((a - b) % more.period == 0 for a, b, extent in steps if extent > 1):
                line = self.cache.line_bytes
                return max(
                    overlap(patch.low / line, patch.run, more.low / line, more.run, cycle / line)
                    for cycle in (more.period, *more.pitches)
                )
        return min(more.reached / self.cache.sets, 1.0)

    def _between(self, node: int, k: int, depth: int) -> Iterator[Footprint]:
        """Yield what is touched between uses of a line by an array's references that follow each other in a loop.

        The last of them is what is touched between the last use in an iteration and the first in the next. A child
        touches half of what it touches, on average, after it uses a line or before.
        """
        if self.footprints.steps[k] is None:  # any line: in each iteration all of them, if it has as many accesses
            whole, one = (self.footprints.of_loop(node, whole) for whole in (True, False))
            array = self.plan.references[k].array
            yield one if total(one[array]) >= total(whole[array]) else whole
            return
        for gap in self.plan.gaps(node, k):
            parts = [self.footprints.of(gap.others, self.plan.loops[node].depth + 1)] if gap.others else []
            if gap.before == gap.after:
                parts.append(self._in_child(gap.before, gap.one, depth))
            else:
                ends = self._in_child(gap.before, gap.one, depth), self._in_child(gap.after, gap.other, depth)
                parts += [scaled(end, 0.5) for end in ends]
            yield joined(parts) if len(parts) > 1 else parts[0]

    def _in_child(self, child: int, k: int, depth: int) -> Footprint:
        """Return what a child of a loop touches between uses of a line in iterations of a loop at a depth around it."""
        if child < 0:
            return self.footprints.of(self.plan.below(child), depth + 1)
        steps, below = self.footprints.steps[k], self.plan.loops[child].depth
        whole = self.footprints.of_loop(child, whole=True)
        if steps is None:
            return whole
        extent = self.footprints.extents[k][below]
        if not steps[below] or extent <= 1 or self._shares_lines(k, steps[below], below):
            *_, last = self._between(child, k, depth)
            return last
        moved = steps[depth] / steps[below]  # iterations of the child that an iteration of the loop skips
        if not 0 < moved <= extent:
            return whole
        part, one = moved / extent, self.footprints.of_loop(child, whole=False)
        return {
            array: [(j, patch.part(1 - part * (1 - min(1.0, total(one[array]) / max(total(found), 1.0)))))
                    for j, patch in found]
            for array, found in whole.items()
        }

    def _shares_lines(self, k: int, step: int, depth: int) -> bool:
        """Whether each iteration of a loop touches about the same lines as all of them."""
        if abs(step) >= self.cache.line_bytes:
            return False
        return self.footprints.lines((k,), depth) < SAME * self.footprints.lines((k,), depth + 1)
