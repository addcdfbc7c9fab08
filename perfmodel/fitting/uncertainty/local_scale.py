r"""How wrong a prediction is, compared with others, by what it rests on: the scale of its conformal score.

A predicted time T rests on the weights w. The *share* of weight j is how much of the time goes with it,

.. math:: e_j = \frac{|w_j \, \partial T / \partial w_j|}{\sum_l |w_l \, \partial T / \partial w_l|}

In a plain sum these are the shares of the terms; where resources overlap, those of what the bounding resource is made
of. Two numbers are known of each weight:

- its *typical error* over the mean error. With :math:`r_i = |\log(t_i/p_i)|` of measured rows, each predicted by a fit
  without its group, it is the mean of :math:`r_i` over rows by their share, with the same weight for each of K groups
  of :math:`N_k` rows, and one more group that has the mean error m:

  .. math:: \tau_j = \frac{1 + \frac{1}{m} \sum_k \frac{1}{N_k} \sum_{i \in k} e_{ij} r_i}
      {1 + \sum_k \frac{1}{N_k} \sum_{i \in k} e_{ij}}, \qquad
      m = \frac{1}{K} \sum_k \frac{1}{N_k} \sum_{i \in k} r_i

- its *support* :math:`h_j`: how many groups of kernels determine it (:mod:`perfmodel.fitting.support`). It has no
  errors in it.

The scale of a prediction with shares e is

.. math:: \sigma = \Big(\sum_j e_j \tau_j\Big)^\gamma \Big(\sum_j \frac{e_j^2}{h_j + 0.3}\Big)^{\delta/2}

so an interval is the wider, the more the prediction rests on weights whose rows are predicted badly, or on weights
that few groups determine.

The powers :math:`\gamma` and :math:`\delta` are 0, 1/2 or 1, chosen by cross-validation: with the scales
:math:`\sigma_i` of each row from the rows of the other groups alone, they have the least

.. math:: \log \frac{1}{K} \sum_k \frac{1}{N_k} \sum_{i \in k} \frac{r_i}{\sigma_i}
    + \frac{1}{K} \sum_k \frac{1}{N_k} \sum_{i \in k} \log \sigma_i

which is the negative logarithm of the likelihood of errors with an exponential distribution of mean
:math:`\propto \sigma_i`, without constants. With both at 0 all kernels have one width.

Source: J. Lei, M. G'Sell, A. Rinaldo, R. J. Tibshirani, L. Wasserman, *Distribution-free predictive inference for
regression*, JASA 113 (2018), section 5.2 (locally weighted residuals); the estimate of the scale is our own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Annotated, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from perfmodel.fitting.support import LEAST_SUPPORT, shares_of

Floats: TypeAlias = npt.NDArray[np.float64]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Power = Annotated[float, Field(ge=0, le=1)]

POWERS = (0.0, 0.5, 1.0)
"""Powers of both factors that are tried."""
PRIOR = 1.0
"""How many groups, of which a weight makes up all of the time, the mean error counts as."""
FLOOR = 1e-3
"""Smaller errors count as this one, as in every other figure."""
STRICT = ConfigDict(frozen=True, extra="forbid")


class WeightScale(BaseModel):
    r"""What is known of predictions that rest on a weight: :math:`\tau_j` and :math:`h_j`."""

    model_config = STRICT
    error: Positive
    support: Annotated[float, Field(ge=0, allow_inf_nan=False)]


class LocalScale(BaseModel):
    r"""What gives the scale of a prediction.

    Parameters
    ----------
    error_power, support_power
        :math:`\gamma` and :math:`\delta`.
    weights
        What is known of each fitted weight, by its name.
    """

    model_config = STRICT
    error_power: Power
    support_power: Power
    weights: dict[str, WeightScale]

    def of(self, by_weight: Mapping[str, Any], lack: Any = None) -> Any:
        """Return the scale of predictions from the seconds that rest on each weight, numbers or arrays of one shape.

        Weights that no fit determined, such as known facts of the device, do not count. `lack` is the lack of support
        in the fit that predicts (:mod:`perfmodel.fitting.support`); by default it is that of the fit to all rows.

        Examples
        --------
        >>> known = {"launches": WeightScale(error=0.5, support=0.7), "op_float32_add": WeightScale(error=2, support=2)}
        >>> LocalScale(error_power=1, support_power=0.5, weights=known).of({"launches": 2e-6})
        0.5
        """
        total: Any = 0.0
        wrong: Any = 0.0
        thin: Any = 0.0
        for name, seconds in by_weight.items():
            if (own := self.weights.get(name)) is not None:
                part = abs(seconds)
                total = total + part
                wrong = wrong + own.error * part
                thin = thin + part * part / (own.support + LEAST_SUPPORT)
        if isinstance(total, float):
            known = 0 < total < math.inf
            error, own_lack = (wrong / total, math.sqrt(thin) / total) if known else (1.0, LEAST_SUPPORT**-0.5)
            return error**self.error_power * (own_lack if lack is None else lack) ** self.support_power
        known = np.isfinite(total) & (total > 0)
        total = np.where(known, total, 1.0)
        error = np.where(known, wrong, 1.0) / total
        if lack is None:
            lack = np.sqrt(np.where(known, thin, 1 / LEAST_SUPPORT)) / total
        return error**self.error_power * lack**self.support_power


def fit_local_scale(
    errors: Floats, groups: Sequence[str], by_weight: Floats, lack: Floats, support: Mapping[str, float]
) -> tuple[LocalScale, Floats] | None:
    """Return what gives the scale of predictions, and the scale of each row from the rows of the other groups.

    None where one scale for all predictions is best.

    Parameters
    ----------
    errors
        Sizes of the errors of log time of rows, each predicted without its group, shape (n_rows,).
    groups
        The group of each row.
    by_weight, lack
        Seconds that rest on each weight in these predictions, shape (n_rows, n_weights), and their lack of
        support in the fits that made them, shape (n_rows,).
    support
        The support of each weight in the fit to all rows, by the weight's name.
    """
    labels, own = np.unique(np.array(groups), return_inverse=True)
    if len(labels) < 2:
        return None
    shares, found = shares_of(by_weight), np.maximum(errors, FLOOR)
    members = (own == np.arange(len(labels))[:, None]) / np.bincount(own)[:, None]
    held, wrong, means = members @ shares, members @ (shares * found[:, None]), members @ found
    others = (means.sum() - means) / (len(labels) - 1)
    without = _typical(held.sum(axis=0) - held, wrong.sum(axis=0) - wrong, others[:, None])
    error = 1 + (shares * (without[own] - 1)).sum(axis=1)
    powers = min(product(POWERS, POWERS), key=lambda one: _loss(found, error ** one[0] * lack ** one[1], members))
    if not any(powers):
        return None
    typical = _typical(held.sum(axis=0), wrong.sum(axis=0), means.mean())
    weights = {
        name: WeightScale(error=tau, support=own)
        for (name, own), tau in zip(support.items(), typical.tolist(), strict=True)
    }
    scale = LocalScale(error_power=powers[0], support_power=powers[1], weights=weights)
    return scale, error ** powers[0] * lack ** powers[1]


def _typical(held: Floats, wrong: Floats, mean: Any) -> Floats:
    """Return errors by weight over the mean, from sums of shares and of errors by share (perhaps rounded below 0)."""
    found: Floats = (np.maximum(wrong, 0.0) / mean + PRIOR) / (np.maximum(held, 0.0) + PRIOR)
    return found


def _loss(errors: Floats, scales: Floats, members: Floats) -> float:
    """Return the negative logarithm of the likelihood of errors with some scales, without constants."""
    return math.log(np.mean(members @ (errors / scales))) + float(np.mean(members @ np.log(scales)))
