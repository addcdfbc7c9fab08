r"""The probability that each of several variants is the fastest, from the scatter of prediction errors.

Variant :math:`i` has the predicted time :math:`p_i` and the true time :math:`t_i`, with :math:`\log t_i = \log p_i + c
+ \sigma e_i`. The offset :math:`c`, common to all variants of a kernel, does not matter for the choice. The :math:`e_i`
are independent with density :math:`f` and survival function :math:`S`: normal, or Student's with few degrees of
freedom. With :math:`z_i = \log(p_i) / \sigma` the probability that variant :math:`i` is the fastest is

.. math:: P_i = \int f(x - z_i) \prod_{j \ne i} S(x - z_j)\, dx .

The set to measure is the smallest set that holds the best variant with a probability of at least :math:`P^*`. It has
the :math:`k` predicted fastest variants with :math:`P_1 + \ldots + P_k \ge P^*` (S. S. Gupta, *On some multiple
decision (selection and ranking) rules*, Technometrics 7 (1965), with known predictions in place of unknown means).

The scatter comes from the errors :math:`r = \log(t/p)` of measured rows. A fit without the group of the row predicts p.
Rows of one kernel at the same sizes are a *cell*. Only differences inside a cell count:

.. math:: \sigma = \operatorname{median}_{i < j} |r_i - r_j| \;/\; q_{3/4}

with :math:`q_{3/4}` the 3/4 quantile of :math:`e_i - e_j` (P. J. Rousseeuw, C. Croux, *Alternatives to the Median
Absolute Deviation*, JASA 88 (1993)). Every kernel has the same weight. The distribution is chosen by cross-validation
over groups: it maximises the mean log probability of the truly fastest variant (I. J. Good, *Rational Decisions*, J.
Royal Statistical Society B 14 (1952)). The scatter includes the noise of measurements.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Annotated, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, Field

from perfmodel.fitting.conformal import WIDEST
from perfmodel.fitting.types import STRICT, Floats
from perfmodel.store import Measurement
from perfmodel.values import FrozenValue, grouped

REACH = 12.0  # the integrals end where arsinh of an error has this value: at 81,000 standard deviations
NORMAL_REACH = 4.5  # the same for normal errors: 45 standard deviations
STEP = 0.08  # distance of two nodes in arsinh
CHUNK = 1 << 17  # most values that one step of the integration holds
SMALLEST = 1e-300  # least survival probability whose logarithm is taken
ROUNDING = 1e-9  # least scatter [1], and the rounding error of a sum of probabilities
# degrees of freedom that are tried; None is the normal distribution
FREEDOMS: tuple[Literal[2, 4, 8] | None, ...] = (None, 8, 4, 2)
LEAST = 1e-12  # least probability in the score of a choice

Function: TypeAlias = Callable[[Floats], Floats]


def probabilities_of_best(seconds: npt.ArrayLike, deviation: float, freedom: int | None = None) -> Floats:
    r"""Return the probability of each variant to be the fastest, shape (n_variants,). The probabilities add up to 1.

    The predicted times [s] are positive. `deviation` is the scale :math:`\sigma` of the errors of log time. If
    `freedom`, an even number, is given, the distribution is Student's. Otherwise the distribution is normal. The
    trapezoid rule in :math:`\operatorname{arsinh}(x - \min z)` computes the integral, and converges exponentially.
    """
    logs = np.log(np.asarray(seconds, dtype=np.float64))
    z = (logs - logs.min()) / max(deviation, ROUNDING)
    density, survival = distribution(freedom)
    chances = np.zeros(len(z))
    nodes, widths = _nodes(freedom)
    several = max(1, CHUNK // len(z))
    for first in range(0, len(nodes), several):
        x = nodes[first : first + several, np.newaxis] - z
        logs = np.log(np.maximum(survival(x), SMALLEST))
        others = np.exp(np.minimum(logs.sum(axis=1, keepdims=True) - logs, 0.0))
        chances += widths[first : first + several] @ (density(x) * others)
    return np.asarray(chances / chances.sum())


def smallest_set(probabilities: npt.ArrayLike, level: float) -> int:
    """Return how many of the first variants contain the best one with the probability `level`."""
    reached = np.cumsum(np.asarray(probabilities, dtype=np.float64))
    return min(int(np.searchsorted(reached, level - ROUNDING)) + 1, len(reached))


@lru_cache(maxsize=256)
def difference_quantile(freedom: int | None, share: float) -> float:
    """Return the quantile of the difference of two errors, in units of their scale."""
    density, survival = distribution(freedom)
    nodes, widths = _nodes(freedom)
    mass = widths * density(nodes)
    high = math.sinh(NORMAL_REACH if freedom is None else REACH)
    low = -high
    while low < (middle := 0.5 * (low + high)) < high:  # importing scipy.optimize takes 0.2 s
        above = float(mass @ survival(middle + nodes))
        low, high = (middle, high) if above > 1 - share else (low, middle)
    return middle


def distribution(freedom: int | None) -> tuple[Function, Function]:
    """Return density and survival function of an error of scale 1 (Student's: Abramowitz and Stegun, 26.7.4)."""
    if freedom is None:
        from scipy.special import ndtr

        return lambda x: np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi), lambda x: ndtr(-x)
    scale = math.gamma((freedom + 1) / 2) / (math.sqrt(math.pi * freedom) * math.gamma(freedom / 2))

    def density(x: Floats) -> Floats:
        squared = freedom / (freedom + x * x)
        product: Floats = scale * np.sqrt(squared)
        for _ in range(freedom // 2):  # quicker than a power
            product *= squared
        return product

    def survival(x: Floats) -> Floats:
        squared = freedom / (freedom + x * x)  # cos^2, where sin is x / sqrt(freedom + x^2)
        terms = np.ones_like(x)
        for k in range(freedom // 2 - 1, 0, -1):  # Horner's rule
            terms = 1 + squared * ((2 * k - 1) / (2 * k)) * terms
        return np.asarray(0.5 - 0.5 * x / np.sqrt(freedom + x * x) * terms)

    return density, survival


def _nodes(freedom: int | None) -> tuple[Floats, Floats]:
    reach = NORMAL_REACH if freedom is None else REACH
    points = np.arange(-reach, reach + STEP / 2, STEP)
    return np.sinh(points), STEP * np.cosh(points)


class Scatter(BaseModel):
    r"""Errors of the log time of the variants of a kernel, without the common offset.

    The scale :math:`\sigma` is the standard deviation of normal errors, or the scale of Student's distribution with
    `freedom`. `cells` is the number of kernels at given sizes with two variants or more.
    """

    model_config = STRICT
    deviation: Annotated[float, Field(ge=0, le=WIDEST)]
    freedom: Literal[2, 4, 8] | None = None
    cells: int = Field(ge=1)


@dataclass(frozen=True, eq=False)
class VariantErrors(FrozenValue):
    """Variants of one kernel at the same sizes: logarithms of measured times, and of measured over predicted times."""

    kernel: str
    group: str
    logs: Floats
    errors: Floats

    @cached_property
    def differences(self) -> Floats:
        """The absolute differences of all pairs of errors [1]."""
        lower, upper = np.triu_indices(len(self.errors), 1)
        return np.abs(self.errors[lower] - self.errors[upper])


def cells_of(rows: Sequence[Measurement], times: Floats, predicted: Floats) -> tuple[VariantErrors, ...]:
    """Return the cells of rows with two variants or more. Rows whose predicted time is not positive are left out."""
    cells = grouped(
        ((row.kernel, tuple(sorted(row.parameters.items()))), number)
        for number, row in enumerate(rows) if predicted[number] > 0
    )  # fmt: skip
    logs = np.log(times)
    return tuple(
        VariantErrors(kernel, rows[numbers[0]].group, logs[numbers], logs[numbers] - np.log(predicted[numbers]))
        for (kernel, _), numbers in cells.items()
        if len(numbers) > 1
    )


def estimate_scatter(cells: Sequence[VariantErrors]) -> Scatter | None:
    """Return the scatter of errors inside cells, or None without cells. With one group, the distribution is normal."""
    if not cells:
        return None
    groups = sorted({cell.group for cell in cells})
    freedom = None
    if len(groups) > 1:
        scores = {tried: _score(cells, groups, tried) for tried in FREEDOMS}
        freedom = max(scores, key=scores.__getitem__)
    return Scatter(deviation=min(scale(cells, freedom), WIDEST), freedom=freedom, cells=len(cells))


def scale(cells: Iterable[VariantErrors], freedom: int | None) -> float:
    """Return the scale of the errors inside cells [1]. `freedom` are the degrees of freedom of their distribution."""
    by_kernel = grouped((cell.kernel, cell.differences) for cell in cells)
    differences = [np.concatenate(parts) for parts in by_kernel.values()]
    weights = [np.full(len(part), 1 / len(part)) for part in differences]
    return weighted_median(np.concatenate(differences), np.concatenate(weights)) / difference_quantile(freedom, 0.75)


def _score(cells: Sequence[VariantErrors], groups: Iterable[str], freedom: int | None) -> float:
    """Return the mean log probability of the fastest variants. The scale for each group comes from the other groups."""
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
    """Return the weighted median, which is the least value up to which half of the weight lies."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(reached, reached[-1] / 2 * (1 - 1e-12))])
