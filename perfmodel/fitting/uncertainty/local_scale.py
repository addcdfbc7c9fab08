r"""How wrong a prediction is, compared with others, by what it rests on: the scale of its conformal score.

A predicted time T rests on the weights w. The *share* of weight j is how much of the time goes with it,

.. math:: e_j = \frac{|w_j \, \partial T / \partial w_j|}{\sum_l |w_l \, \partial T / \partial w_l|}

In a plain sum these are the shares of the terms; where resources overlap, those of what the bounding resource is made
of. With the errors :math:`r_i = |\log(t_i/p_i)|` of measured rows, each predicted by a fit without its group,
the typical error of weight j is the mean of :math:`r_i` over rows by their share, with the same weight for each of
K groups of :math:`N_k` rows, drawn to the mean error m of all groups as if one more group had it:

.. math:: \tau_j = \frac{m + \sum_k \frac{1}{N_k} \sum_{i \in k} e_{ij} r_i}
    {1 + \sum_k \frac{1}{N_k} \sum_{i \in k} e_{ij}}, \qquad
    m = \frac{1}{K} \sum_k \frac{1}{N_k} \sum_{i \in k} r_i

A prediction with shares e has the scale :math:`\sigma = (\sum_j e_j \tau_j / m)^\gamma`: 1 where the measurements say
nothing of its weights, and larger the more it rests on weights whose rows are predicted badly. The strength
:math:`\gamma` is 0 (one width for all kernels), 1/2 or 1, chosen by cross-validation: with the scales
:math:`\sigma_i` of each row from the rows of the other groups alone, it has the least

.. math:: \log \frac{1}{K} \sum_k \frac{1}{N_k} \sum_{i \in k} \frac{r_i}{\sigma_i}
    + \frac{1}{K} \sum_k \frac{1}{N_k} \sum_{i \in k} \log \sigma_i

which is the negative logarithm of the likelihood of errors with an exponential distribution of mean
:math:`\propto \sigma_i`, without constants.

Source: J. Lei, M. G'Sell, A. Rinaldo, R. J. Tibshirani, L. Wasserman, *Distribution-free predictive inference for
regression*, JASA 113 (2018), section 5.2 (locally weighted residuals); the estimate of the scale is our own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

Floats: TypeAlias = npt.NDArray[np.float64]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]

STRENGTHS = (0.5, 1.0)
"""Strengths that are tried beside none."""
PRIOR = 1.0
"""How many groups, of which a weight makes up all of the time, the mean error counts as."""
FLOOR = 1e-3
"""Smaller errors count as this one, as in every other figure."""


class LocalScale(BaseModel):
    r"""Typical errors of log time by weight, compared with the mean error.

    Parameters
    ----------
    strength
        :math:`\gamma`, above zero.
    weights
        :math:`\tau_j / m` of each fitted weight, by its name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    strength: Annotated[float, Field(gt=0, le=1)]
    weights: dict[str, Positive]

    def of(self, by_weight: Mapping[str, Any]) -> Any:
        """Return the scale of predictions from the seconds that rest on each weight, numbers or arrays of one shape.

        Weights that no fit determined, such as known facts of the device, do not count.

        Examples
        --------
        >>> LocalScale(strength=0.5, weights={"launches": 0.25, "op_float32_add": 4.0}).of({"op_float32_add": 2e-6})
        2.0
        """
        total: Any = 0.0
        wrong: Any = 0.0
        for name, seconds in by_weight.items():
            if (own := self.weights.get(name)) is not None:
                part = abs(seconds)
                total = total + part
                wrong = wrong + own * part
        if isinstance(total, float):
            return (wrong / total) ** self.strength if 0 < total < math.inf else 1.0
        known = np.isfinite(total) & (total > 0)
        return np.where(known, np.where(known, wrong, 1.0) / np.where(known, total, 1.0), 1.0) ** self.strength


def fit_local_scale(
    errors: Floats, groups: Sequence[str], by_weight: Floats, names: Sequence[str]
) -> tuple[LocalScale, Floats] | None:
    """Return what gives the scale of predictions, and the scale of each row from the rows of the other groups.

    None where one scale for all predictions is best.

    Parameters
    ----------
    errors
        Sizes of the errors of log time of rows, each predicted without its group, shape (n_rows,).
    groups
        The group of each row.
    by_weight
        Seconds that rest on each weight in these predictions, shape (n_rows, n_weights).
    names
        The weights' names.
    """
    labels, own = np.unique(np.array(groups), return_inverse=True)
    if len(labels) < 2:
        return None
    shares, found = _shares(by_weight), np.maximum(errors, FLOOR)
    members = (own == np.arange(len(labels))[:, None]) / np.bincount(own)[:, None]
    held, wrong, means = members @ shares, members @ (shares * found[:, None]), members @ found
    others = (means.sum() - means) / (len(labels) - 1)
    without = _typical(held.sum(axis=0) - held, wrong.sum(axis=0) - wrong, others[:, None])
    plain = 1 + (shares * (without[own] - 1)).sum(axis=1)
    losses = {g: math.log(np.mean(members @ (found / plain**g))) + g * np.mean(members @ np.log(plain))
              for g in (0.0, *STRENGTHS)}  # fmt: skip
    strength = min(losses, key=lambda one: losses[one])
    if not strength:
        return None
    typical = _typical(held.sum(axis=0), wrong.sum(axis=0), means.mean())
    weights = dict(zip(names, typical.tolist(), strict=True))
    return LocalScale(strength=strength, weights=weights), plain**strength


def _typical(held: Floats, wrong: Floats, mean: Any) -> Floats:
    """Return errors by weight over the mean, from sums of shares and of errors by share (perhaps rounded below 0)."""
    found: Floats = (np.maximum(wrong, 0.0) / mean + PRIOR) / (np.maximum(held, 0.0) + PRIOR)
    return found


def _shares(by_weight: Floats) -> Floats:
    """Return the share of each weight in each row; all zero where nothing rests on any, or that is not finite."""
    parts = np.abs(by_weight)
    total = parts.sum(axis=1, keepdims=True)
    known = np.isfinite(total) & (total > 0)
    found: Floats = np.where(known, parts, 0.0) / np.where(known, total, 1.0)
    return found
