r"""How far a measured time may lie from its prediction: conformal intervals.

The error of a measured row is :math:`r = |\log(t/p)|` with :math:`p` predicted by a fit without
any row of the row's group of kernels (Protocol B): measurement kernels, and with them the test kernels where
there are any. Its score is :math:`s = r/\sigma`, where the scale :math:`\sigma` depends on what the prediction
rests on, and comes from the rows of the other groups alone. At level
:math:`1 - \alpha` the interval of a new prediction with the scale :math:`\sigma`, from all rows, is
:math:`[p e^{-q \sigma}, p e^{q \sigma}]` with :math:`q` the :math:`1 - \alpha` quantile of

.. math:: \sum_{k=1}^{K} \sum_{i=1}^{N_k} \frac{1}{(K+1) N_k} \delta_{s_{ki}}
    + \frac{1}{K+1} \delta_{\infty}

over :math:`K` groups with :math:`N_k` rows each. If a new kernel's group is like one more draw from where the measured
groups came from, and the fits and scales were the same for every group, the interval holds its time with probability
:math:`1 - \alpha` or more, however rows within a group depend on each other. They change a little from group to group,
as in every cross-fit, so the probability is approximate. The last term is the correction for the finite number of
groups: with fewer than :math:`(1 - \alpha)/\alpha` of them the interval is unbounded. Rows predicted at zero or below
have no score: what is predicted so has the interval from zero to infinity, whatever q is. Where one width for all
kernels is as good, and in files from before scales were kept, :math:`\sigma = 1`.

Source: Y. Lee, R. F. Barber, R. Willett, *Distribution-free inference with hierarchical data*,
2023 (hierarchical conformal prediction); Lei et al. 2018, section 5.2, for scores over scales; R. F. Barber,
E. J. Candès, A. Ramdas, R. J. Tibshirani, *Predictive inference with the jackknife+*, Annals of Statistics 49 (2021),
for scores from fits that leave out a part each.

The scale of a score says how wrong a prediction is, compared with others, by what it rests on. A
predicted time T rests on the weights w. The *share* of weight j is how much of the time goes with it,

.. math:: e_j = \frac{|w_j \, \partial T / \partial w_j|}{\sum_l |w_l \, \partial T / \partial w_l|}

In a plain sum these are the shares of the terms; where resources overlap, those of what the bounding resource is made
of. Two numbers are known of each weight:

- its *typical error* over the mean error. With :math:`r_i = |\log(t_i/p_i)|` of measured rows, each predicted by a fit
  without its group, it is the mean of :math:`r_i` over rows by their share, with the same weight for each of K groups
  of :math:`N_k` rows, and one more group that has the mean error m:

  .. math:: \tau_j = \frac{1 + \frac{1}{m} \sum_k \frac{1}{N_k} \sum_{i \in k} e_{ij} r_i}
      {1 + \sum_k \frac{1}{N_k} \sum_{i \in k} e_{ij}}, \qquad
      m = \frac{1}{K} \sum_k \frac{1}{N_k} \sum_{i \in k} r_i

- its *support*, the number of groups of kernels that determine it: :math:`h_j = \sum_k \frac{1}{N_k} \sum_{i \in k}
  e_{ij}^2`, with 1 for each group in which the weight makes up all of the time. It has no errors in it.

The scale of a prediction with shares e is

.. math:: \sigma = \Big(\sum_j e_j \tau_j\Big)^\gamma \Big(\sum_j \frac{e_j^2}{h_j + 0.3}\Big)^{\delta/2}

so an interval is the wider, the more the prediction rests on weights whose rows are predicted badly, or on weights
that few groups determine. The second sum is the square of the prediction's *lack of support*: the leverage
:math:`e^T (H + 0.3 I)^{-1} e`, with groups as observations of the weights' logarithms. Of :math:`H = \sum_k
\frac{1}{N_k} \sum_{i \in k} e_i e_i^T` only the diagonal is used.

The powers :math:`\gamma` and :math:`\delta` are 0, 1/2 or 1, chosen by cross-validation: with the scales
:math:`\sigma_i` of each row from the rows of the other groups alone, they have the least

.. math:: \log \frac{1}{K} \sum_k \frac{1}{N_k} \sum_{i \in k} \frac{r_i}{\sigma_i}
    + \frac{1}{K} \sum_k \frac{1}{N_k} \sum_{i \in k} \log \sigma_i

which is the negative logarithm of the likelihood of errors with an exponential distribution of mean
:math:`\propto \sigma_i`, without constants. With both at 0 all kernels have one width.

Source: J. Lei, M. G'Sell, A. Rinaldo, R. J. Tibshirani, L. Wasserman, *Distribution-free predictive inference for
regression*, JASA 113 (2018), section 5.2 (locally weighted residuals); D. C. Hoaglin, R. E. Welsch, *The hat matrix in
regression and ANOVA*, The American Statistician 32 (1978), for leverage. The estimate of the scale, and the reduction
of leverage to groups and to the diagonal, are our own.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, model_validator

from perfmodel.documents import is_number
from perfmodel.errors import LevelError

Floats: TypeAlias = npt.NDArray[np.float64]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Power = Annotated[float, Field(ge=0, le=1)]
Score = Annotated[float, Field(ge=0, allow_inf_nan=False)]
STRICT = ConfigDict(frozen=True, extra="forbid")

POWERS = (0.0, 0.5, 1.0)
"""Powers of both factors that are tried."""
PRIOR = 1.0
"""How many groups, of which a weight makes up all of the time, the mean error counts as."""
LEAST_SUPPORT = 0.3
"""Groups that are added to the support of each weight: no prediction lacks more than one over its square root."""
LEAST_ERROR = 1e-3
"""Smaller errors count as this one, as in every other figure."""
WIDEST = 600.0
"""Half widths of log time beyond this have no bounds: their factors are near the largest number of a double."""
ROUNDING = 1e-12
"""What sums of shares may miss of a level that they reach."""


@dataclass(frozen=True, eq=False)
class Unseen:
    """Predictions of rows by fits that have not seen them, NaN where withheld.

    Parameters
    ----------
    seconds
        The predictions [s], shape (n_rows,).
    needs
        For each row the features that it exercises and its fit never saw; none where it is predicted.
    by_weight
        The seconds that rest on each weight of the design's model, shape (n_rows, n_weights); None where not known.
    lack
        Each prediction's lack of support in its fit, shape (n_rows,); None where not known.
    """

    seconds: Floats
    needs: tuple[tuple[str, ...], ...]
    by_weight: Floats | None = None
    lack: Floats | None = None

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """Where a row is predicted, shape (n_rows,)."""
        return np.array([not needs for needs in self.needs], dtype=np.bool_)

    def of(self, rows: npt.NDArray[np.int64]) -> Unseen:
        """Return the predictions of the rows at some positions."""
        by_weight, lack = (None if column is None else column[rows] for column in (self.by_weight, self.lack))
        return Unseen(self.seconds[rows], tuple(self.needs[i] for i in rows), by_weight, lack)


# {{{ scales of predictions, by what they rest on

def shares_of(by_weight: Floats) -> Floats:
    """Return the share of each weight in each row; all zero where nothing rests on any, or that is not finite."""
    parts = np.abs(by_weight)
    total = parts.sum(axis=1, keepdims=True)
    known = np.isfinite(total) & (total > 0)
    return np.asarray(np.where(known, parts, 0.0) / np.where(known, total, 1.0))


def support_of(by_weight: Floats, groups: Sequence[str]) -> Floats:
    r"""Return the support :math:`h_j` of each weight, shape (n_weights,), in a fit to rows of some groups.

    `by_weight` are the seconds that rest on each weight in these rows, by this fit, shape (n_rows, n_weights).
    """
    _, members, sizes = np.unique(np.array(groups), return_inverse=True, return_counts=True)
    return np.asarray((shares_of(by_weight) ** 2 / sizes[members][:, None]).sum(axis=0))


def lack_of_support(by_weight: Floats, support: Floats) -> Floats:
    """Return what rows lack of support, shape (n_rows,), in a fit whose weights have that support."""
    shares = shares_of(by_weight)
    lack: Floats = np.sqrt((shares**2 / (support + LEAST_SUPPORT)).sum(axis=1))
    lack[~shares.any(axis=1)] = LEAST_SUPPORT**-0.5
    return lack


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
        in the fit that predicts; by default it is that of the fit to all rows.

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
            if (weight := self.weights.get(name)) is not None:
                part = abs(seconds)
                total = total + part
                wrong = wrong + weight.error * part
                thin = thin + part * part / (weight.support + LEAST_SUPPORT)
        if isinstance(total, float):
            known = 0 < total < math.inf
            error, by_shares = (wrong / total, math.sqrt(thin) / total) if known else (1.0, LEAST_SUPPORT**-0.5)
            return error**self.error_power * (by_shares if lack is None else lack) ** self.support_power
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

    None where one scale for all predictions is best. Each row is predicted without its group. Of these predictions the
    errors of log time and the lack of support have the shape (n_rows,); the seconds that rest on each weight have the
    shape (n_rows, n_weights). `support` is that of each weight in the fit to all rows.
    """
    labels, members = np.unique(np.array(groups), return_inverse=True)
    if len(labels) < 2:
        return None
    shares, errors = shares_of(by_weight), np.maximum(errors, LEAST_ERROR)
    means = (members == np.arange(len(labels))[:, None]) / np.bincount(members)[:, None]  # over each group
    held, wrong, mean_errors = means @ shares, means @ (shares * errors[:, None]), means @ errors
    others = (mean_errors.sum() - mean_errors) / (len(labels) - 1)
    without = _typical(held.sum(axis=0) - held, wrong.sum(axis=0) - wrong, others[:, None])
    error = 1 + (shares * (without[members] - 1)).sum(axis=1)

    def loss(powers: tuple[float, float]) -> float:
        """Return the negative logarithm of the likelihood of the errors with some scales, without constants."""
        scales = error ** powers[0] * lack ** powers[1]
        return math.log(np.mean(means @ (errors / scales))) + float(np.mean(means @ np.log(scales)))

    powers = min(product(POWERS, POWERS), key=loss)
    if not any(powers):
        return None
    typical = _typical(held.sum(axis=0), wrong.sum(axis=0), mean_errors.mean()).tolist()
    weights = {
        name: WeightScale(error=tau, support=groups_of_weight)
        for (name, groups_of_weight), tau in zip(support.items(), typical, strict=True)
    }
    scale = LocalScale(error_power=powers[0], support_power=powers[1], weights=weights)
    return scale, error ** powers[0] * lack ** powers[1]


def _typical(held: Floats, wrong: Floats, mean: Any) -> Floats:
    """Return errors by weight over the mean, from sums of shares and of errors by share (perhaps rounded below 0)."""
    return np.asarray((np.maximum(wrong, 0.0) / mean + PRIOR) / (np.maximum(held, 0.0) + PRIOR))

# }}}


@dataclass(frozen=True)
class Quantiles:
    """Scores, and the level that each reaches, in ascending order."""

    levels: tuple[float, ...]
    scores: tuple[float, ...]

    def at(self, level: float) -> float:
        """Return q, the score at a level; infinite above the last one."""
        check_level(level)
        place = bisect_left(self.levels, level - ROUNDING)
        return self.scores[place] if place < len(self.scores) else math.inf


class Conformal(BaseModel):
    r"""Errors of measured rows, each by a fit without its own group, and their scales.

    Parameters
    ----------
    scores
        :math:`r = |\log(t/p)|` of each row that could be predicted, not yet divided by its scale.
    groups
        The group of each of these rows.
    withheld
        Rows without a score, because only their own group exercises some feature of theirs, or because
        the prediction was not above zero.
    scales
        :math:`\sigma` of each of these rows, from the rows of the other groups; None where all are 1.
    scale
        What gives the scale of a new prediction; None where it is 1.
    """

    model_config = STRICT
    scores: tuple[Score, ...]
    groups: tuple[str, ...]
    withheld: int = Field(default=0, ge=0)
    scales: tuple[Positive, ...] | None = None
    scale: LocalScale | None = None

    @model_validator(mode="after")
    def _has_one_each(self) -> Conformal:
        count = len(self.scores)
        if count != len(self.groups):
            raise ValueError(f"there are {count} scores and {len(self.groups)} groups; each score has one")
        if (self.scales is None) != (self.scale is None):
            raise ValueError("there are scales of rows without a scale of predictions, or the other way round")
        if self.scales is not None and count != len(self.scales):
            raise ValueError(f"there are {count} scores and {len(self.scales)} scales; each score has one")
        return self

    @property
    def group_count(self) -> int:
        """Number of groups of kernels: n of them give bounds up to the level n / (n + 1)."""
        return len(set(self.groups))

    def without(self, group: str) -> Conformal:
        """Return the scores of the other groups: a row of this group is not judged by its own scores."""
        kept = [i for i, name in enumerate(self.groups) if name != group]
        columns = {"scores": self.scores, "groups": self.groups, "scales": self.scales}
        return self.model_copy(
            update={name: column and tuple(column[i] for i in kept) for name, column in columns.items()}
        )

    @property
    def quantiles(self) -> Quantiles:
        """Scores by level, sorted once for many levels."""
        if not self.scores:
            return Quantiles((), ())
        scores = np.array(self.scores) / (1.0 if self.scales is None else np.array(self.scales))
        _, members, sizes = np.unique(np.array(self.groups), return_inverse=True, return_counts=True)
        order = np.argsort(scores, kind="stable")
        reached = np.cumsum((1 / ((len(sizes) + 1) * sizes[members]))[order])
        return Quantiles(tuple(reached.tolist()), tuple(scores[order].tolist()))

    def quantile(self, level: float) -> float:
        """Return q, how many scales the interval of log time reaches to each side, at a level; perhaps infinite.

        Examples
        --------
        >>> Conformal(scores=(0.1, 0.3, 0.2), groups=("a", "a", "b")).quantile(0.5)
        0.2
        """
        return self.quantiles.at(level)

    def half_width(self, q: float, by_weight: Mapping[str, Any], lack: Any = None) -> Any:
        r"""Return :math:`q \sigma`, half the width of the interval of log time, infinite as a float where q is.

        The other arguments are as of :meth:`LocalScale.of`.
        """
        return q if self.scale is None or math.isinf(q) else q * self.scale.of(by_weight, lack)


def scaled(seconds: Any, half_width: Any) -> tuple[Any, Any]:
    """Return :math:`p e^{-h}` and :math:`p e^{h}` for half widths h; 0 and infinity where p is not above zero."""
    if isinstance(seconds, float):
        if not (seconds > 0 and half_width <= WIDEST):
            return 0.0, math.inf
        factor = math.exp(half_width)
        return seconds / factor, seconds * factor
    p, h = np.asarray(seconds, dtype=np.float64), np.asarray(half_width, dtype=np.float64)
    unknown = ~(p > 0) | ~(h <= WIDEST)
    factors = np.exp(np.where(unknown, 0.0, h))
    return np.where(unknown, 0.0, p / factors), np.where(unknown, math.inf, p * factors)


def calibrate(
    unseen: Unseen, times: npt.ArrayLike, groups: Sequence[str], support: Mapping[str, float] | None = None
) -> Conformal:
    """Return the scores of rows from their predictions without their group, measured times [s] and groups.

    With the support of each weight in the fit to all rows, in the order of :attr:`Unseen.by_weight`, the scores have
    scales, unless one width for all is better.
    """
    known = unseen.known & (unseen.seconds > 0)
    scores = np.abs(np.log(np.asarray(times, dtype=np.float64)[known] / unseen.seconds[known]))
    kept = tuple(group for group, predicted in zip(groups, known, strict=True) if predicted)
    plain = Conformal(scores=tuple(scores.tolist()), groups=kept, withheld=int(np.sum(~known)))
    if support is None or unseen.by_weight is None or unseen.lack is None:
        return plain
    local = fit_local_scale(scores, kept, unseen.by_weight[known], unseen.lack[known], support)
    return plain if local is None else plain.model_copy(update={"scale": local[0], "scales": tuple(local[1].tolist())})


def check_level(level: float) -> None:
    """Raise an error unless the level is between 0 and 1."""
    if not (is_number(level) and 0 < level < 1):
        raise LevelError(level)
