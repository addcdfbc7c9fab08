"""What a launch touches at given sizes between two uses of a line, in caches of any size."""

from __future__ import annotations

from itertools import pairwise

from perfmodel.counts.traffic.footprints import Footprint, Footprints, joined
from perfmodel.counts.traffic.plan import Gap

SAME = 1.25  # lines of a loop over those of an iteration, below which the iterations share their lines


class Between:
    """What is touched between uses of a line by an array's references that follow each other in a loop.

    A child of the loop touches half of what it touches, on average, after it uses a line or before.

    Parameters
    ----------
    footprints : Footprints
        What the loops touch.
    """

    def __init__(self, footprints: Footprints) -> None:
        self.footprints, self.plan = footprints, footprints.plan
        self._known: dict[tuple[int, int, int], tuple[Footprint, ...]] = {}
        self._last: dict[tuple[int, int, int], Footprint] = {}

    def uses(self, node: int, k: int) -> tuple[Footprint, ...]:
        """Return what is touched between each use of a reference's lines in a loop and the next.

        The last one is between the last use in an iteration and the first in the next.
        """
        key = node, k, self.plan.loops[node].depth
        if key not in self._known:
            own = self.plan.gaps(node, k)[:-1] if self.footprints.steps[k] is not None else ()
            self._known[key] = (*(self._in_gap(gap, *key) for gap in own), self._iterations(*key))
        return self._known[key]

    def _iterations(self, node: int, k: int, depth: int) -> Footprint:
        """Return what is touched from the last use in an iteration to the first in the next.

        The iterations of the loop at the depth, around this one, follow one another.
        """
        key = node, k, depth
        if key not in self._last:
            if self.footprints.steps[k] is None:
                self._last[key] = self._anywhere(node, k)
            else:
                self._last[key] = self._in_gap(self.plan.gaps(node, k)[-1], node, k, depth)
        return self._last[key]

    def _anywhere(self, node: int, k: int) -> Footprint:
        """Return the same where any line is used: in each iteration all of them, if it has as many accesses."""
        whole, one = (self.footprints.of_loop(node, whole) for whole in (True, False))
        array = self.plan.references[k].array
        return one if one.by_array[array].lines >= whole.by_array[array].lines else whole

    def _in_gap(self, gap: Gap, node: int, k: int, depth: int) -> Footprint:
        parts = [self.footprints.of(gap.others, self.plan.loops[node].depth + 1)] if gap.others else []
        if gap.before == gap.after:
            parts.append(self._in_child(gap.before, gap.one, depth))
        else:
            ends = self._in_child(gap.before, gap.one, depth), self._in_child(gap.after, gap.other, depth)
            parts += [end.half for end in ends]
        return joined(parts) if len(parts) > 1 else parts[0]

    def _in_child(self, child: int, k: int, depth: int) -> Footprint:
        """Return what a child of a loop touches between uses of a line in iterations of a loop at a depth around it."""
        if child < 0:
            return self.footprints.of(self.plan.below(child), depth + 1)
        steps, below = self.footprints.steps[k], self.plan.loops[child].depth
        whole = self.footprints.of_loop(child, whole=True)
        if steps is None:
            return whole
        if not steps[below] or self.footprints.extents[k][below] <= 1 or self._shares_lines(k, steps[below], below):
            return self._iterations(child, k, depth)
        part = self._skipped(k, depth, below)
        if not part:
            return whole
        one, found = self.footprints.of_loop(child, whole=False), {}
        for array, patches in whole.by_array.items():
            again = min(1.0, one.by_array[array].lines / max(patches.lines, 1.0))
            found[array] = patches.part(1 - part * (1 - again))
        return Footprint(found)

    def _skipped(self, k: int, depth: int, below: int) -> float:
        """Return the share of an inner loop's iterations that are skipped between uses of a line.

        What the reference touches in iteration ``i`` of the inner loop, it has touched in iteration ``i + m`` before
        the outer loop went on; nothing is skipped where the inner loop has no such iterations. With another start it
        may have touched the same in an iteration before that one, which counts where it is the last use for more of
        the ``i``. Runs that follow one another share a line.
        """
        steps = self.footprints.steps[k] or ()
        step, extent = steps[below], self.footprints.extent(k, depth, below)
        own, near = steps[depth] / step, self.footprints.line / (2 * abs(step))
        if not 0 < own <= extent + near:
            return 0.0
        others = (own + distance / step for distance in self.footprints.distances(k))
        moved = sorted({min(max(other, 0.0), extent) for other in others if -near <= other <= own})
        lasts = [after - before for before, after in pairwise([*moved, extent])]
        return moved[lasts.index(max(lasts))] / extent

    def _shares_lines(self, k: int, step: int, depth: int) -> bool:
        """Whether each iteration of a loop touches about the same lines as all of them."""
        if abs(step) >= self.footprints.line:
            return False
        return self.footprints.lines((k,), depth) < SAME * self.footprints.lines((k,), depth + 1)
