"""What is believed of variants from their predictions alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from perfmodel.tuning.belief import Belief

if TYPE_CHECKING:
    from perfmodel.fitting.uncertainty.scatter import Scatter
    from perfmodel.fitting.uncertainty.selection import Floats

UNKNOWN_DEVIATION = 0.3
"""Scale of errors between variants where the weights do not tell it [1]."""
NORMAL = 8
"""Degrees of freedom where errors are normal: kernels scatter equally, but the scale is not known exactly."""


class Predicted(Protocol):
    """Of a prediction what a belief needs: its time and its terms [s]."""

    @property
    def seconds(self) -> float:
        """Predicted time [s]."""

    @property
    def terms(self) -> Mapping[str, float]:
        """Its terms by name [s]."""


def belief_of(predictions: Sequence[Predicted], scatter: Scatter | None, coordinates: Floats | None = None) -> Belief:
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


def _shares(predictions: Sequence[Predicted]) -> Floats:
    """Return the square roots of the terms' shares, shape (n_variants, n_terms).

    Their distance is Hellinger's, in which one large term does not hide the others.
    """
    names = sorted({name for one in predictions for name in one.terms})
    terms = np.array([[max(one.terms.get(name, 0.0), 0.0) for name in names] for one in predictions])
    found: Floats = np.sqrt(terms / np.maximum(terms.sum(axis=1, keepdims=True), np.finfo(float).tiny))
    return found
