r"""How many groups of kernels determine what a prediction rests on.

A predicted time T rests on the weights w. The share of weight j is how much of the time goes with it,

.. math:: e_j = \frac{|w_j \, \partial T / \partial w_j|}{\sum_l |w_l \, \partial T / \partial w_l|}

The *support* of a weight in a fit to rows of K groups, :math:`N_k` of group k, is
:math:`h_j = \sum_k \frac{1}{N_k} \sum_{i \in k} e_{ij}^2`: it is 1 for each group in which the weight makes up all of
the time. What a prediction with shares e lacks of support is

.. math:: u = \Big(\sum_j \frac{e_j^2}{h_j + 0.3}\Big)^{1/2}

This is the square root of the leverage :math:`e^T (H + 0.3 I)^{-1} e` of the prediction, with groups as observations of
the weights' logarithms, and of :math:`H = \sum_k \frac{1}{N_k} \sum_{i \in k} e_i e_i^T` the diagonal alone.

Source of leverage: D. C. Hoaglin, R. E. Welsch, *The hat matrix in regression and ANOVA*, The American Statistician 32
(1978); the reduction to groups and to the diagonal is our own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]

LEAST_SUPPORT = 0.3
"""Groups that are added to the support of each weight: no prediction lacks more than one over its square root."""


def shares_of(by_weight: Floats) -> Floats:
    """Return the share of each weight in each row; all zero where nothing rests on any, or that is not finite."""
    parts = np.abs(by_weight)
    total = parts.sum(axis=1, keepdims=True)
    known = np.isfinite(total) & (total > 0)
    found: Floats = np.where(known, parts, 0.0) / np.where(known, total, 1.0)
    return found


def support_of(by_weight: Floats, groups: Sequence[str]) -> Floats:
    r"""Return the support :math:`h_j` of each weight, shape (n_weights,), in a fit to rows of some groups.

    `by_weight` are the seconds that rest on each weight in these rows, by this fit, shape (n_rows, n_weights).
    """
    _, own, sizes = np.unique(np.array(groups), return_inverse=True, return_counts=True)
    found: Floats = (shares_of(by_weight) ** 2 / sizes[own][:, None]).sum(axis=0)
    return found


def lack_of_support(by_weight: Floats, support: Floats) -> Floats:
    r"""Return :math:`(\sum_j e_j^2 / (h_j + 0.3))^{1/2}` of rows, shape (n_rows,), by a fit with that support."""
    shares = shares_of(by_weight)
    found: Floats = np.sqrt((shares**2 / (support + LEAST_SUPPORT)).sum(axis=1))
    found[~shares.any(axis=1)] = LEAST_SUPPORT**-0.5
    return found
