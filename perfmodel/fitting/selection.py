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

The scatter of a model's errors between variants of one kernel decides which variants it can tell apart. The
error of a measured row is :math:`r = \log(t/p)` with :math:`p` predicted by a fit without any row of the
row's group of kernels. Rows of one kernel at the same sizes are a *cell*: an offset that they share moves no variant
past another, so only differences inside of a cell count. With errors :math:`r_i = c + \sigma e_i` as above the scale
is

.. math:: \sigma = \operatorname{median}_{i < j} |r_i - r_j| \;/\; q_{3/4}

where :math:`q_{3/4}` is the quantile of :math:`e_i - e_j`, which 3/4 do not exceed, so that half of all absolute
differences are below it. No offset has to be estimated, and cells of two variants count as they should. Every kernel
has the same weight. The median makes the scale robust; how heavy the tails are is chosen among normal and Student's
distributions by cross-validation: the scale comes from all other groups of kernels, and what counts is the mean
logarithm of the probability that is given to the variant that was the fastest in truth, over the cells of the group.

The times are noisy, so the noise is part of the scatter.

Source of the scale: P. J. Rousseeuw, C. Croux, *Alternatives to the Median Absolute Deviation*, JASA 88 (1993), on
scales from pairwise differences; of the score: I. J. Good, *Rational Decisions*, J. Royal Statistical Society B 14
(1952).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, Field

from perfmodel.fitting.conformal import WIDEST
from perfmodel.fitting.local_scale import STRICT, Floats
from perfmodel.values import FrozenValue

if TYPE_CHECKING:
    from perfmodel.store import Measurement

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

    The predicted times [s] are above zero, shape (n_variants,); `deviation` is the scale :math:`\sigma` of the errors
    of log time. With an even number of degrees of `freedom` errors have Student's distribution, else a normal one.

    Examples
    --------
    >>> probabilities_of_best([1.0, 1.0, 8.0], 0.1).round(6).tolist()
    [0.5, 0.5, 0.0]
    """
    logs = np.log(np.asarray(seconds, dtype=np.float64))
    places = (logs - logs.min()) / max(deviation, ROUNDING)
    density, survival = distribution(freedom)
    chances = np.zeros(len(places))
    nodes, widths = _nodes(freedom)
    several = max(1, CHUNK // len(places))
    for begin in range(0, len(nodes), several):
        x = nodes[begin : begin + several, np.newaxis] - places
        logs = np.log(np.maximum(survival(x), SMALLEST))
        others = np.exp(np.minimum(logs.sum(axis=1, keepdims=True) - logs, 0.0))
        chances += widths[begin : begin + several] @ (density(x) * others)
    return np.asarray(chances / chances.sum())


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
        product: Floats = scale * np.sqrt(squared)
        for _ in range(freedom // 2):  # a power of its own would be slow
            product *= squared
        return product

    def survival(x: Floats) -> Floats:
        squared = freedom / (freedom + x * x)  # the cosine's square, where the sine is x / sqrt(freedom + x^2)
        terms = np.ones_like(x)
        for k in range(freedom // 2 - 1, 0, -1):  # Horner's rule
            terms = 1 + squared * ((2 * k - 1) / (2 * k)) * terms
        return np.asarray(0.5 - 0.5 * x / np.sqrt(freedom + x * x) * terms)

    return density, survival


def _nodes(freedom: int | None) -> tuple[Floats, Floats]:
    """Nodes of the trapezoid rule, and the width that each stands for."""
    reach = NORMAL_REACH if freedom is None else REACH
    places = np.arange(-reach, reach + STEP / 2, STEP)
    return np.sinh(places), STEP * np.cosh(places)


FREEDOMS: tuple[Literal[2, 4, 8] | None, ...] = (None, 8, 4, 2)
"""Degrees of freedom that are tried; None is the normal distribution."""
LEAST = 1e-12
"""Least probability that the score of a choice may have."""


class Scatter(BaseModel):
    r"""Errors of the log time of a kernel's variants, beside the offset that they share.

    Parameters
    ----------
    deviation
        Their scale :math:`\sigma` [1]: the standard deviation, where they are normal. At most
        :data:`~perfmodel.fitting.conformal.WIDEST`, as the widest interval.
    freedom
        Degrees of freedom of Student's distribution; None where they are normal.
    cells
        Kernels at given sizes with two variants or more, from which these come.
    """

    model_config = STRICT
    deviation: Annotated[float, Field(ge=0, le=WIDEST)]
    freedom: Literal[2, 4, 8] | None = None
    cells: int = Field(ge=1)


@dataclass(frozen=True, eq=False)
class VariantErrors(FrozenValue):
    """Variants of one kernel at the same sizes.

    `logs` are of the measured times [log s], `errors` those of measured over predicted times [1], shape (n_variants,).
    """

    kernel: str
    group: str
    logs: Floats
    errors: Floats

    @cached_property
    def differences(self) -> Floats:
        """The size of the difference of any two errors [1]."""
        lower, upper = np.triu_indices(len(self.errors), 1)
        return np.abs(self.errors[lower] - self.errors[upper])


def cells_of(rows: Sequence[Measurement], times: Floats, predicted: Floats) -> tuple[VariantErrors, ...]:
    """Return the cells of measured rows with two variants or more, from measured and predicted times [s].

    Rows whose prediction is NaN, or not above zero, are left out.
    """
    cells: dict[tuple[str, tuple[tuple[str, int], ...]], list[int]] = {}
    for place, row in enumerate(rows):
        if predicted[place] > 0:
            cells.setdefault((row.kernel, tuple(sorted(row.parameters.items()))), []).append(place)
    logs = np.log(times)
    return tuple(
        VariantErrors(kernel, rows[places[0]].group, logs[places], logs[places] - np.log(predicted[places]))
        for (kernel, _), places in cells.items()
        if len(places) > 1
    )


def estimate_scatter(cells: Sequence[VariantErrors]) -> Scatter | None:
    """Return the scatter of errors inside of cells; None where there is no cell.

    With the cells of one group alone, tails cannot be chosen, and the errors count as normal.
    """
    if not cells:
        return None
    groups = sorted({cell.group for cell in cells})
    freedom = None
    if len(groups) > 1:
        scores = {tried: _score(cells, groups, tried) for tried in FREEDOMS}
        freedom = max(scores, key=scores.__getitem__)
    return Scatter(deviation=min(scale(cells, freedom), WIDEST), freedom=freedom, cells=len(cells))


def scale(cells: Iterable[VariantErrors], freedom: int | None) -> float:
    """Return the scale of errors inside of cells, of a distribution with so many degrees of freedom [1]."""
    by_kernel: dict[str, list[Floats]] = {}
    for cell in cells:
        by_kernel.setdefault(cell.kernel, []).append(cell.differences)
    differences = [np.concatenate(parts) for parts in by_kernel.values()]
    weights = [np.full(len(part), 1 / len(part)) for part in differences]
    return weighted_median(np.concatenate(differences), np.concatenate(weights)) / difference_quantile(freedom, 0.75)


def _score(cells: Sequence[VariantErrors], groups: Iterable[str], freedom: int | None) -> float:
    """Return the mean log probability of the truly fastest variant, by the scale of the other groups' cells."""
    by_kernel: dict[str, list[float]] = {}
    for group in groups:
        deviation = scale([cell for cell in cells if cell.group != group], freedom)
        for cell in cells:
            if cell.group == group:
                predicted = np.exp(cell.logs - cell.errors)
                best = probabilities_of_best(predicted, deviation, freedom)[np.argmin(cell.logs)]
                by_kernel.setdefault(cell.kernel, []).append(float(np.log(max(best, LEAST))))
    return float(np.mean([float(np.mean(scores)) for scores in by_kernel.values()]))


def weighted_median(values: Floats, weights: Floats) -> float:
    """Return the weighted median: the least value up to which half of the weight lies."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(reached, reached[-1] / 2 * (1 - 1e-12))])
