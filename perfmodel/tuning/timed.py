"""Measured times of a kernel's variants beside their predicted ones, as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

from perfmodel.compare.figures import Choice
from perfmodel.store.measurement import AGREEMENT

if TYPE_CHECKING:
    from perfmodel.predicting.ranking import RankedVariant
    from perfmodel.store import Measurement


@dataclass(frozen=True)
class TimedVariant:
    """A variant at one point: its record, and its prediction where there is one.

    Parameters
    ----------
    name
        The variant.
    row
        All its visits in one record, or its failure.
    predicted
        Its prediction at these sizes.
    """

    name: str
    row: Measurement
    predicted: RankedVariant | None = None

    @property
    def seconds(self) -> float | None:
        """The measured time, the minimum of all runs that count [s]; None of a failure."""
        return self.row.seconds if self.row.status == "ok" else None

    @property
    def factor(self) -> float | None:
        """Predicted over measured time [1]; None where one of them is missing."""
        return None if self.seconds is None or self.predicted is None else self.predicted.seconds / self.seconds

    @property
    def inside(self) -> bool | None:
        """Whether the measured time lies inside of the prediction's interval; None where one of them is missing."""
        if self.seconds is None or self.predicted is None or self.predicted.interval is None:
            return None
        low, high = self.predicted.interval
        return low <= self.seconds <= high


@dataclass(frozen=True)
class TimedPoint:
    """The variants of a kernel at one point: those that ran from the fastest on, then those that failed.

    Parameters
    ----------
    sizes
        The size parameters.
    variants
        All variants.
    """

    sizes: Mapping[str, int] = field(hash=False)
    variants: tuple[TimedVariant, ...]

    @property
    def ran(self) -> tuple[TimedVariant, ...]:
        """Those that ran, the fastest first."""
        return tuple(one for one in self.variants if one.seconds is not None)

    @property
    def order_predicted(self) -> tuple[str, ...]:
        """Names of those with a prediction, the one predicted fastest first."""
        known = [(one.predicted.seconds, one.name) for one in self.variants if one.predicted is not None]
        return tuple(name for _, name in sorted(known, key=lambda pair: pair[0]))

    @property
    def tied(self) -> tuple[str, ...]:
        """Those whose time is at most 5 % above that of the fastest, as visits of one variant may differ."""
        ran = self.ran
        return tuple(one.name for one in ran if one.row.seconds <= (1 + AGREEMENT) * ran[0].row.seconds)

    @property
    def chosen(self) -> str | None:
        """The one predicted fastest of those that ran; None where fewer than two of these have a prediction."""
        known = self._known
        return None if len(known) < 2 else min(known, key=lambda one: one[2])[0]

    @property
    def regret(self) -> float | None:
        """Measured time of :attr:`chosen` over that of the fastest variant, less one [1]."""
        known = self._known
        if len(known) < 2:
            return None
        choice = Choice(tuple(measured for _, measured, _ in known), tuple(predicted for *_, predicted in known))
        return choice.regret - 1

    @property
    def pairs(self) -> tuple[int, int]:
        """How many pairs of variants are predicted in the order measured, and of how many; ties are left out."""
        apart = [
            (one, other)
            for one, other in combinations(self._known, 2)
            if max(one[1], other[1]) > (1 + AGREEMENT) * min(one[1], other[1])
        ]
        return sum((one[1] < other[1]) == (one[2] < other[2]) for one, other in apart), len(apart)

    @property
    def _known(self) -> list[tuple[str, float, float]]:
        """Name, measured and predicted time of those that have both [s]."""
        return [(one.name, one.row.seconds, one.predicted.seconds) for one in self.ran if one.predicted is not None]


def timed_point(
    sizes: Mapping[str, int], rows: Mapping[str, Measurement], predicted: Sequence[RankedVariant] = ()
) -> TimedPoint:
    """Return the records of variants at one point beside their predictions, by name."""
    known = {one.name: one for one in predicted}
    found = [TimedVariant(name, row, known.get(name)) for name, row in rows.items()]
    ran = sorted((one for one in found if one.seconds is not None), key=lambda one: one.row.seconds)
    return TimedPoint(dict(sizes), (*ran, *(one for one in found if one.seconds is None)))
