"""Counts without duplicates, so that each is evaluated once at each size, all of them by one function."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from perfmodel.counts.quasipoly.together import Together, together
from perfmodel.lazy import cached_property

if TYPE_CHECKING:
    from perfmodel.counts.quasipoly.count import Count
    from perfmodel.counts.quasipoly.evaluation import QuasiPolynomial


class JointCounts(tuple["Count", ...]):
    """Counts that are evaluated at the same sizes."""

    def at(self, sizes: Mapping[str, int]) -> tuple[int | Fraction, ...]:
        """Return what each count gives at one size. Sizes and assumptions are checked once for all.

        Raises
        ------
        ParameterError, AssumptionError, CountTooHardError
            As for a :class:`~perfmodel.counts.quasipoly.count.Count`.
        """
        if not self._are_allowed(sizes):
            return tuple(count(**sizes) for count in self)  # one of them says what is wrong, or can use them
        function, parameters = self._function
        found = function(*[sizes[name] for name in parameters])
        if not self._unexpanded:
            return found
        return tuple(self[k](**sizes) if k in self._unexpanded else value for k, value in enumerate(found))

    def _are_allowed(self, sizes: Mapping[str, int]) -> bool:
        if not all(type(value) is int and value >= 0 for value in sizes.values()):
            return False
        if not sizes.keys() >= self._needed:
            return False
        return all(one.holds(*[sizes[name] for name in one.parameters]) for one in self._allowed)

    @cached_property
    def _allowed(self) -> tuple[QuasiPolynomial, ...]:
        return tuple(dict.fromkeys(count.evaluator.allowed for count in self))

    @cached_property
    def _function(self) -> Together:
        return together([count.evaluator.function for count in self])

    @cached_property
    def _needed(self) -> frozenset[str]:
        return frozenset(self._function.parameters).union(*(one.parameters for one in self._allowed))

    @cached_property
    def _unexpanded(self) -> frozenset[int]:
        return frozenset(k for k, count in enumerate(self) if count.unexpanded)


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

    def joint(self) -> JointCounts:
        """Return the counts by their positions."""
        return JointCounts(self.counts)
