r"""The order in which variants are run, and when the best is known.

First runs the variant predicted fastest, then each time the one with the largest expected improvement on the best so
far, by the belief that all runs so far give (:mod:`perfmodel.tuning.belief`). Variants leave the race as it becomes
improbable that they win: the search ends once

.. math:: \prod_i P(t_i > (1 - w)\, t_{best}) \ge P^*

over all variants that have not run. With the probability :math:`P^*` none of them is faster than the best by more than
the share :math:`w`. The product takes their errors as independent. Where errors are alike, as they are between like
variants, the probability is larger than that (D. Slepian, Bell System Technical Journal 41 (1962)), so the search
rather runs one variant more.

:func:`belief_of` makes the first belief from predictions; :func:`expected_outputs` checks what ``reference()`` gives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from perfmodel.errors import ReferenceOutputError
from perfmodel.fitting.conformal import Floats
from perfmodel.tuning.agreement import all_nan
from perfmodel.tuning.belief import Belief, Outlook

if TYPE_CHECKING:
    from loopy import TranslationUnit

    from perfmodel.fitting.selection import Scatter
    from perfmodel.predicting.model import Prediction


UNKNOWN_DEVIATION = 0.3
"""Scale of errors between variants where the weights do not tell it [1]."""
NORMAL = 8
"""Degrees of freedom where errors are normal: kernels scatter equally, but the scale is not known exactly."""


def belief_of(predictions: Sequence[Prediction], scatter: Scatter | None, coordinates: Floats | None = None) -> Belief:
    """Return the belief in variants of one kernel.

    Parameters
    ----------
    predictions
        One of each variant, at the same sizes. A time that is not above zero says nothing: it counts as the median.
    scatter
        How the model errs between variants of other kernels; None where its weights do not tell.
    coordinates
        Where the variants stand in their space, shape (n_variants, n_coordinates); None without a space.
    """
    seconds = np.array([one.seconds for one in predictions], dtype=np.float64)
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
    names = sorted({name for one in predictions for name in one.terms})
    terms = np.array([[max(one.terms.get(name, 0.0), 0.0) for name in names] for one in predictions])
    found: Floats = np.sqrt(terms / np.maximum(terms.sum(axis=1, keepdims=True), np.finfo(float).tiny))
    return found


Reference: TypeAlias = "Callable[..., Mapping[str, Any] | TranslationUnit]"


def expected_outputs(value: object, outputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arrays that a reference gives, each of the type of the variant's output of that name.

    Parameters
    ----------
    value
        What the function returned.
    outputs
        The outputs of a variant by name.

    Raises
    ------
    ReferenceOutputError
        If it is no dict of a variant's outputs, or an array has another shape or kind of numbers, or nothing but NaN.
    """
    names = ", ".join(outputs) or "none"
    if not isinstance(value, Mapping) or not value:
        kind = "an empty dict" if isinstance(value, Mapping) else type(value).__name__
        raise ReferenceOutputError(f"returns {kind}", f"a dict with some of the outputs: {names}")
    found = {}
    for name, one in value.items():
        if name not in outputs:
            raise ReferenceOutputError(f"gives {name!r}, which is no output", f"some of the outputs: {names}")
        found[str(name)] = _array(str(name), one, outputs[name])
    return found


def _array(name: str, value: Any, output: Any) -> Any:
    try:
        array = np.asarray(value)
    except Exception as error:  # a ragged list, or an object with a conversion of its own
        raise ReferenceOutputError(f"gives '{name}', which is no array ({error})", _allowed(output)) from error
    if array.shape != output.shape or not np.can_cast(array.dtype, output.dtype, "same_kind"):
        found = f"gives '{name}' as an array of {array.dtype.name} and shape {array.shape}"
        raise ReferenceOutputError(found, _allowed(output))
    with np.errstate(all="ignore"):
        same = array.astype(output.dtype)
    if all_nan(same):
        raise ReferenceOutputError(f"gives '{name}' with NaN in every element", "numbers that can be compared")
    return same


def _allowed(output: Any) -> str:
    return f"an array of {output.dtype.name} and shape {output.shape}"


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
