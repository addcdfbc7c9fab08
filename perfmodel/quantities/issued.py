"""What one access of compiled code touches at one size."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from perfmodel.counts.lanes import LanePatterns, lane_patterns
from perfmodel.counts.nests.nest import IssuedAccess
from perfmodel.counts.quasipoly.count import Count
from perfmodel.quantities.reuse import AddressWalk, lines_touched
from perfmodel.quantities.traffic import WORD, bank_passes, segments_touched


@dataclass(frozen=True, eq=False)
class SizedAccess:
    """An access of compiled code at one size: how often, and what each execution by a sub-group touches."""

    access: IssuedAccess
    count: float
    lanes: tuple[int, ...] | None
    moves: tuple[tuple[str, int, float, bool], ...]
    start: int
    active: float  # lanes that execute it together
    sizes: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, access: IssuedAccess, value: Callable[[Count], Any], sizes: Mapping[str, int]) -> SizedAccess:
        """Return an access at some sizes, at which a function evaluates counts."""
        count = value(access.count)
        return cls(
            access, count * float(access.fresh),
            None if access.lanes is None else tuple(int(value(step)) for step in access.lanes),
            tuple((move.name, int(value(move.step)), value(move.values), move.written) for move in access.moves),
            int(value(access.start)), value(access.items) / count if count else 1.0, sizes,
        )  # fmt: skip

    @property
    def size(self) -> int:
        """Bytes of a lane's access."""
        return self.access.bits // 8

    def sectors(self, subgroup: int, sector: int) -> float:
        """Return the sectors that it touches, the mean over its executions."""
        if self.lanes is None or not self.count:
            return self.active
        if (patterns := self._patterns(subgroup, sector)) is not None:
            return patterns.segments(subgroup, self.size, sector)
        moves = tuple((step, math.ceil(values)) for _, step, values, _ in self.moves if step)
        touched = segments_touched(
            self.lanes, self.access.shape, subgroup, self.size, sector, self.start % sector, moves
        )
        return min(touched, self.active * (-(-self.size // sector) + 1))

    def passes(self, subgroup: int, banks: int | None) -> float:
        """Return how often local memory repeats it for lanes whose words share a bank."""
        words = max(self.size / WORD, 1.0)
        if banks is None:
            return words
        if self.lanes is None or not self.count:
            return self.active * words
        if (patterns := self._patterns(subgroup, WORD)) is not None:
            return patterns.passes(subgroup, self.size, banks)
        return min(bank_passes(self.lanes, self.access.shape, subgroup, self.size, banks), self.active * words)

    def _patterns(self, subgroup: int, period: int) -> LanePatterns | None:
        """Return what its lanes touch where some of them are idle, or where the address is not affine."""
        if self.access.site is None:
            return None
        items = math.prod(self.access.shape)
        filled = self.active == items / -(-items // subgroup)
        if filled and self.access.addressed and not self.access.guarded:
            return None
        return lane_patterns(*self.access.site, self.sizes, period)

    def entering(self, sector: int) -> float:
        """Return the share of its executions at which a lane's address enters another sector."""
        moves = [(step, values) for name, step, values, _ in self.moves if not name.startswith("g.")]
        executed = math.prod(values for _, values in moves) * float(self.access.fresh)
        return min(lines_touched(moves, self.size, sector) / max(executed, 1.0), 1.0)

    @property
    def kept(self) -> float:
        """Words that a work-item loads once and keeps, while a written-out loop that does not move them goes on."""
        moves = [(step, values) for _, step, values, written in self.moves if written and values > 1]
        again = next((k for k, (step, _) in enumerate(moves) if not step), None)
        if again is None or self.access.direction == "store":
            return 0.0
        return math.prod(values for step, values in moves[again:] if step) * self.size / WORD

    def walk(self, waits: bool) -> AddressWalk | None:
        """Return how its address moves, None where that is not known; copies that wait for each other are a loop."""
        if self.lanes is None or not self.access.addressed:
            return None
        lanes = tuple(zip(self.lanes, self.access.shape, strict=True))
        copies = tuple((step, values) for _, step, values, written in self.moves if written and not waits)
        groups = {name: (step, values) for name, step, values, _ in self.moves if name.startswith("g.")}
        loops = tuple(
            (name, step, values) for name, step, values, written in self.moves
            if (waits or not written) and not name.startswith("g.")
        )  # fmt: skip
        array = f"{self.access.direction} {self.access.array}"
        return AddressWalk(self.size, (*lanes, *copies), groups, loops, array, self.start)
