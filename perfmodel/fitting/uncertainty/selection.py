r"""Which of several variants is the fastest, where predictions are off by errors of a known scatter.

Variant :math:`i` is predicted to take :math:`p_i` and takes :math:`t_i` with :math:`\log t_i = \log p_i + c +
\sigma e_i`. The offset :math:`c` is common to all variants of one kernel, and does not matter for the choice. The
:math:`e_i` are independent and have one density :math:`f` and survival function :math:`S`: normal, or Student's with
few degrees of freedom. With :math:`z_i = \log(p_i) / \sigma` the probability that variant :math:`i` is the fastest is

.. math:: P_i = \int f(x - z_i) \prod_{j \ne i} S(x - z_j)\, dx .

The set to measure holds the best variant with a probability of at least :math:`P^*` and is the smallest such set: the
:math:`k` predicted fastest with :math:`P_1 + \ldots + P_k \ge P^*`. Of equal scatters the order of the :math:`P_i` is
that of the predictions.

Source: S. S. Gupta, *On some multiple decision (selection and ranking) rules*, Technometrics 7 (1965), whose subset
selection chooses a subset, its size not fixed, that contains the best population with probability :math:`P^*`. There
the populations' means are unknown and the rule holds for the worst of them; here the predictions are given and the
errors' distribution is known, so the probability itself is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]

REACH = 12.0
"""The integrals end where the inverse hyperbolic sine of an error is so large: at 81,000 standard deviations."""
NORMAL_REACH = 4.5
"""The same for normal errors: 45 standard deviations."""
STEP = 0.08
"""Distance of two nodes, in the inverse hyperbolic sine."""
CHUNK = 1 << 17
"""Largest number of values that one step of the integration holds."""
SMALLEST = 1e-300
"""Smallest survival that is told from zero."""
ROUNDING = 1e-9
"""Least scatter [1], and what a sum of probabilities may miss of a level that it reaches."""

Function: TypeAlias = Callable[[Floats], Floats]


def probabilities_of_best(seconds: npt.ArrayLike, deviation: float, freedom: int | None = None) -> Floats:
    r"""Return for each variant the probability that it is the fastest; they add up to 1.

    The integral is taken by the trapezoid rule in :math:`\operatorname{arsinh}(x - \min z)`, where it converges
    exponentially; no random numbers are drawn. The time is in proportion to the number of variants.

    Parameters
    ----------
    seconds
        Predicted times [s], above zero, shape (n_variants,).
    deviation
        Scale :math:`\sigma` of the errors of log time [1].
    freedom
        Degrees of freedom of Student's distribution, an even number; None for normal errors.

    Examples
    --------
    >>> probabilities_of_best([1.0, 1.0, 8.0], 0.1).round(6).tolist()
    [0.5, 0.5, 0.0]
    """
    logs = np.log(np.asarray(seconds, dtype=np.float64))
    places = (logs - logs.min()) / max(deviation, ROUNDING)
    density, survival = distribution(freedom)
    found = np.zeros(len(places))
    nodes, widths = _nodes(freedom)
    several = max(1, CHUNK // len(places))
    for begin in range(0, len(nodes), several):
        x = nodes[begin : begin + several, np.newaxis] - places
        logs = np.log(np.maximum(survival(x), SMALLEST))
        others = np.exp(np.minimum(logs.sum(axis=1, keepdims=True) - logs, 0.0))
        found += widths[begin : begin + several] @ (density(x) * others)
    total: Floats = found / found.sum()
    return total


def smallest_set(probabilities: npt.ArrayLike, level: float) -> int:
    """Return how many variants, in the order given, hold the best one with the probability `level`.

    Examples
    --------
    >>> smallest_set([0.6, 0.25, 0.1, 0.05], 0.9)
    3
    """
    reached = np.cumsum(np.asarray(probabilities, dtype=np.float64))
    return min(int(np.searchsorted(reached, level - ROUNDING)) + 1, len(reached))


@lru_cache(maxsize=256)
def difference_quantile(freedom: int | None, share: float) -> float:
    """Return the quantile of the difference of two errors, in units of their scale.

    Examples
    --------
    >>> round(difference_quantile(None, 0.9), 4)  # the square root of 2 times 1.2816
    1.8124
    """
    density, survival = distribution(freedom)
    nodes, widths = _nodes(freedom)
    mass = widths * density(nodes)

    def beyond(x: float) -> float:
        """Probability of a difference above x, less that of the quantile."""
        return float(mass @ survival(x + nodes)) - (1 - share)

    high = math.sinh(NORMAL_REACH if freedom is None else REACH)
    low = -high
    while low < (middle := 0.5 * (low + high)) < high:  # SciPy's root finders take 0.2 s to import
        low, high = (middle, high) if beyond(middle) > 0 else (low, middle)
    return middle


def distribution(freedom: int | None) -> tuple[Function, Function]:
    """Return density and survival function of an error of scale 1: normal, or Student's.

    For an even number of degrees of freedom the latter is a finite sum (Abramowitz and Stegun, 26.7.4).
    """
    if freedom is None:
        from scipy.special import ndtr

        return lambda x: np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi), lambda x: ndtr(-x)
    scale = math.gamma((freedom + 1) / 2) / (math.sqrt(math.pi * freedom) * math.gamma(freedom / 2))

    def density(x: Floats) -> Floats:
        squared = freedom / (freedom + x * x)
        found: Floats = scale * np.sqrt(squared)
        for _ in range(freedom // 2):  # a power of its own would be slow
            found *= squared
        return found

    def survival(x: Floats) -> Floats:
        squared = freedom / (freedom + x * x)  # the cosine's square, where the sine is x / sqrt(freedom + x^2)
        terms = np.ones_like(x)
        for k in range(freedom // 2 - 1, 0, -1):  # Horner's rule
            terms = 1 + squared * ((2 * k - 1) / (2 * k)) * terms
        found: Floats = 0.5 - 0.5 * x / np.sqrt(freedom + x * x) * terms
        return found

    return density, survival


def _nodes(freedom: int | None) -> tuple[Floats, Floats]:
    """Nodes of the trapezoid rule, and the width that each stands for."""
    reach = NORMAL_REACH if freedom is None else REACH
    places = np.arange(-reach, reach + STEP / 2, STEP)
    return np.sinh(places), STEP * np.cosh(places)
