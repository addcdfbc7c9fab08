r"""The order in which variants are run, and when the best is known.

First runs the variant predicted fastest, then each time the one with the largest expected improvement on the best so
far, by the belief that all runs so far give (:mod:`perfmodel.tuning.belief`). Variants leave the race as it becomes
improbable that they win: the search ends once

.. math:: \prod_i P(t_i > (1 - w)\, t_{best}) \ge P^*

over all variants that have not run. With the probability :math:`P^*` none of them is faster than the best by more than
the share :math:`w`. The product takes their errors as independent. Where errors are alike, as they are between like
variants, the probability is larger than that (D. Slepian, Bell System Technical Journal 41 (1962)), so the search
rather runs one variant more.

:func:`belief_of` makes the first belief from predictions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from perfmodel.fitting.conformal import Floats
from perfmodel.fitting.selection import Scatter
from perfmodel.predicting.model import Prediction
from perfmodel.tuning.belief import Belief, Outlook

UNKNOWN_DEVIATION = 0.3
"""Scale of errors between variants where the weights do not tell it [1]."""
NORMAL = 8
"""Degrees of freedom where errors are normal: kernels scatter equally, but the scale is not known exactly."""


def belief_of(predictions: Sequence[Prediction], scatter: Scatter | None, coordinates: Floats | None = None) -> Belief:
    """Return the belief in variants of one kernel, by their predictions at the same sizes.

    A time that is not above zero says nothing: it counts as the median. `scatter` is how the model errs between
    variants of other kernels, None where its weights do not tell; `coordinates` are where the variants stand in their
    space, shape (n_variants, n_coordinates).
    """
    seconds = np.array([prediction.seconds for prediction in predictions], dtype=np.float64)
    good = np.isfinite(seconds) & (seconds > 0)
    known = np.where(good, seconds, np.median(seconds[good]) if good.any() else 1.0)
    shares = _shares(predictions)
    likenesses = (shares,) if coordinates is None else (shares, coordinates, np.hstack([shares, coordinates]))
    if scatter is None:
        return Belief(known, likenesses, UNKNOWN_DEVIATION)
    return Belief(known, likenesses, scatter.deviation, scatter.freedom or NORMAL)


def _shares(predictions: Sequence[Prediction]) -> Floats:
    """Return the square roots of the terms' shares, shape (n_variants, n_terms).

    Their distance is Hellinger's, in which one large term does not hide the others.
    """
    names = sorted({name for prediction in predictions for name in prediction.terms})
    terms = np.array([[max(prediction.terms.get(name, 0.0), 0.0) for name in names] for prediction in predictions])
    roots: Floats = np.sqrt(terms / np.maximum(terms.sum(axis=1, keepdims=True), np.finfo(float).tiny))
    return roots


class Race:
    """Variants of one kernel, of which some have run.

    `belief` is what is believed of them before any run, and `within` the share by which a variant has to be faster than
    another to matter [1].

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

    @property
    def _known(self) -> dict[int, float]:
        """The times of those that have run well, by their places."""
        return {place: seconds for place, seconds in self.times.items() if seconds is not None}

    @cached_property
    def outlook(self) -> Outlook:
        """What is believed now."""
        return self.belief.after(tuple(self._known), tuple(self._known.values()))

    @property
    def best(self) -> int | None:
        """Place of the fastest that has run; None where none has run well."""
        return min(self._known, key=self._known.__getitem__, default=None)

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
