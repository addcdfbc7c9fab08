"""The options of a fit."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class FitOptions(BaseModel):
    """How a fit is made; see :class:`~perfmodel.fitting.RelativeLeastSquares`.

    Parameters
    ----------
    nonnegative
        Whether weights below zero are ruled out. In a family with an expression they always are,
        and its own weights keep their own bounds.
    ridge
        How strongly weights are drawn to zero (linear families).
    loss
        ``linear``, ``huber``, ``soft_l1`` or ``cauchy``.
    merge
        Whether features that the rows cannot tell apart share one cost, with a note, instead of
        being refused (linear families).
    weighting
        ``equal`` for every row whose visits agree (:func:`~perfmodel.fitting.noise.agreement_weights`), or by
        measured ``noise`` (:func:`~perfmodel.fitting.noise_weights`).
    fit_facts
        Whether a weight is fitted where the device's facts do not give it; otherwise a family that
        needs such a fact is refused.
    starts, seed
        Number of starting points, and the seed they are drawn with (families with an expression).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    nonnegative: bool = False
    ridge: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    loss: str = "linear"
    merge: bool = True
    weighting: Literal["equal", "noise"] = "equal"
    fit_facts: bool = True
    starts: int = 8
    seed: int = 0
