r"""The order in which variants are run, and when the best is known.

First runs the variant predicted fastest, then each time the one with the largest expected improvement on the best so
far, by the belief that all runs so far give (:mod:`perfmodel.tuning.belief`). Variants leave the race as it becomes
improbable that they win: the search ends once

.. math:: \prod_i P(t_i > (1 - w)\, t_{best}) \ge P^*

over all variants that have not run. With the probability :math:`P^*` none of them is faster than the best by more than
the share :math:`w`. The product takes their errors as independent. Where errors are alike, as they are between like
variants, the probability is larger than that (D. Slepian, Bell System Technical Journal 41 (1962)), so the search
rather runs one variant more.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from perfmodel.fitting.uncertainty.selection import Floats
from perfmodel.tuning.belief import Belief, Outlook


class Race:
    """Variants of one kernel, of which some have run.

    Parameters
    ----------
    belief
        What is believed of them before any run.
    within
        Share by which a variant has to be faster than another to matter [1].

    Examples
    --------
    >>> race = Race(Belief(np.array([2.0, 1.0, 9.0]), (), 0.05))
    >>> race.following
    1
    >>> race.note(1, 1.5), race.best, race.settled > 0.9
    (None, 1, True)
    """

    def __init__(self, belief: Belief, within: float = 0.02) -> None:
        self.belief, self.within = belief, within
        self.times: dict[int, float | None] = {}

    def note(self, place: int, seconds: float | None) -> None:
        """Keep the time of the variant at a place [s]; None where it cannot run."""
        self.times[place] = seconds
        self.__dict__.pop("outlook", None)

    def forget(self, place: int) -> None:
        """Take back what was noted of the variant at a place, so that it may run."""
        self.times.pop(place, None)
        self.__dict__.pop("outlook", None)

    @cached_property
    def outlook(self) -> Outlook:
        """What is believed now."""
        good = {place: seconds for place, seconds in self.times.items() if seconds is not None}
        return self.belief.after(tuple(good), tuple(good.values()))

    @property
    def best(self) -> int | None:
        """Place of the fastest that has run; None where none has run well."""
        good = {place: seconds for place, seconds in self.times.items() if seconds is not None}
        return min(good, key=lambda place: good[place], default=None)

    @property
    def waiting(self) -> Floats:
        """Places of the variants that have not run."""
        return np.array([place for place in range(len(self.belief.predicted)) if place not in self.times], dtype=int)

    @property
    def following(self) -> int | None:
        """Place of the variant to run next; None where all have run."""
        waiting = self.waiting
        if not len(waiting):
            return None
        if (best := self.least) is None:
            return int(waiting[np.argmin(self.outlook.seconds[waiting])])
        return int(waiting[np.argmax(self.outlook.improvement(best)[waiting])])

    @property
    def settled(self) -> float:
        """Probability that no variant that has not run is faster than the best by more than the share that matters."""
        if (best := self.least) is None:
            return 0.0
        chances = self.outlook.below((1 - self.within) * best)[self.waiting]
        return float(np.exp(np.log1p(-chances).sum()))

    @property
    def least(self) -> float | None:
        """The time of the fastest that has run [s]; None likewise."""
        return None if self.best is None else self.times[self.best]
