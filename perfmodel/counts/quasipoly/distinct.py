"""Counts without duplicates, so that each is evaluated once at each size."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perfmodel.counts.quasipoly.count import Count


class DistinctCounts:
    """Distinct counts, each with its position: that of the first call."""

    def __init__(self) -> None:
        self.counts: list[Count] = []
        self._places: dict[str, int] = {}

    def __call__(self, count: Count) -> int:
        """Return the position of a count."""
        # as text: comparing counts as functions takes isl longer than evaluating one twice
        key = json.dumps(count.to_json(), sort_keys=True)
        place = self._places.setdefault(key, len(self.counts))
        if place == len(self.counts):
            self.counts.append(count)
        return place
