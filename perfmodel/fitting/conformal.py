r"""Conformal intervals: how far a measured time may be from its prediction.

A *group* is a set of related kernels. The error of a measured row is :math:`r = |\log(t/p)|`, where :math:`p` is the
prediction of a fit without the row's group (protocol B). The rows are those of measurement kernels, of test kernels if
there are any, and of *samples*, which are random kernels. The samples are dealt into as many groups as the other rows
have, so that samples have half of the weight. The score is :math:`s = r/\sigma` with a scale :math:`\sigma` computed
from the rows of the other groups. At level :math:`1 - \alpha` the interval of a new prediction with scale
:math:`\sigma` is :math:`[p e^{-q \sigma}, p e^{q \sigma}]` with :math:`q` the :math:`1 - \alpha` quantile of

.. math:: \frac{1}{K} \sum_{k=1}^{K} \frac{1}{N_k} \sum_{i=1}^{N_k} \delta_{s_{ki}}

over :math:`K` groups with :math:`N_k` rows each. If groups are exchangeable, and fits and scales are the same for every
group, the coverage is at least :math:`(1 - \alpha) K/(K + 1)`. This holds even if rows within a group depend on each
other. With fewer than :math:`(1 - \alpha)/\alpha` groups the interval is unbounded. A prediction that is not positive
has no score, and its interval is from zero to infinity.

The *scale* is the expected size of the error of a prediction, compared with other predictions:

.. math:: \log \sigma = \sum_j b_j e_j + b_l \log l + b_v v - c

- The *share* of weight j in a predicted time T is :math:`e_j = |w_j \, \partial T / \partial w_j| / \sum_l |w_l \,
  \partial T / \partial w_l|`.
- The *support* of a weight is the number of groups of kernels that determine it: :math:`h_j = \sum_k \frac{1}{N_k}
  \sum_{i \in k} e_{ij}^2`. The *lack of support* of a prediction is :math:`l = (\sum_j e_j^2/(h_j + 0.3))^{1/2}`. This
  lack is large if weights with large shares have little support (an approximate leverage).
- *Private data*: :math:`v = \min(1, \text{bytes of a work-item}/1024)`. No model knows whether a compiler keeps private
  arrays in registers.

The slopes b minimise

.. math:: \log \frac{1}{K} \sum_k \frac{1}{N_k} \sum_{i \in k} \frac{r_i}{\sigma_i}
    + \frac{1}{K} \sum_k \frac{1}{N_k} \sum_{i \in k} \log \sigma_i + \frac{\lambda}{2 K} |b|^2

The first two terms are the negative log likelihood of errors with an exponential distribution whose mean is
proportional to :math:`\sigma_i`. The third term is a ridge that pulls all scales towards one value. The constant c
makes the mean of :math:`\log \sigma` over groups zero. One Newton step gives the slopes of a fit without a group. The
first two terms with these slopes choose the ridge, or a single scale for all predictions.

Sources: Y. Lee, R. F. Barber, R. Willett, *Distribution-free inference with hierarchical data*, 2023; J. Lei et al.,
*Distribution-free predictive inference for regression*, JASA 113 (2018), section 5.2; R. F. Barber et al., *Predictive
inference with the jackknife+*, Annals of Statistics 49 (2021); D. C. Hoaglin, R. E. Welsch, *The hat matrix in
regression and ANOVA*, The American Statistician 32 (1978); K. R. Rad, A. Maleki, *A scalable estimate of the
out-of-sample prediction error via approximate leave-one-out cross-validation*, JRSS B 82 (2020), for the Newton step.
"""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, Field, model_validator

from perfmodel.documents import is_number
from perfmodel.errors import OptionError
from perfmodel.fitting.types import STRICT, Finite, Flags, Floats, Positive, Rows

Score = Annotated[float, Field(ge=0, allow_inf_nan=False)]

WIDEST = 600.0  # half widths of log time above this count as infinite: their factors are near the largest double
ROUNDING = 1e-12  # rounding error of sums of shares
RIDGES = (0.3, 3.0)  # strengths of the ridge that are tried [groups]
REGISTERS = 1024.0  # most bytes that the registers of a work-item hold: 256 of 4 bytes
NEWTON_STEPS = 30  # about five are needed
WIDE = 2.0  # intervals with a larger scale get a caution; the geometric mean of measured kernels is 1
LEAST_SUPPORT = 0.3  # groups that are added to the support of each weight
LEAST_ERROR = 1e-3  # smaller errors count as this one, so that one lucky row does not dominate a geometric mean


def shares_of(by_weight: Floats) -> Floats:
    """Return the share of each weight in the time of each row. If the time is zero or not finite, the share is 0."""
    parts = np.abs(by_weight)
    total = parts.sum(axis=1, keepdims=True)
    known = np.isfinite(total) & (total > 0)
    return np.asarray(np.where(known, parts, 0.0) / np.where(known, total, 1.0))


def support_of(by_weight: Floats, groups: Sequence[str]) -> Floats:
    """Return the support :math:`h_j` of each weight from its seconds in the fitted rows, shape (n_rows, n_weights)."""
    _, members, sizes = np.unique(np.array(groups), return_inverse=True, return_counts=True)
    return np.asarray((shares_of(by_weight) ** 2 / sizes[members][:, None]).sum(axis=0))


def lack_of_support(by_weight: Floats, support: Floats) -> Floats:
    """Return the lack of support of rows, shape (n_rows,), in a fit with this `support` of each weight."""
    shares = shares_of(by_weight)
    lack: Floats = np.sqrt((shares**2 / (support + LEAST_SUPPORT)).sum(axis=1))
    lack[~shares.any(axis=1)] = LEAST_SUPPORT**-0.5
    return lack


def private_share(private: Any) -> Any:
    """Return v: private data [B] over the size of a work-item's registers, at most 1."""
    return np.minimum(np.asarray(private, dtype=np.float64) / REGISTERS, 1.0)


class WeightScale(BaseModel):
    r"""The slope :math:`b_j` and the support :math:`h_j` of a weight."""

    model_config = STRICT
    slope: Finite
    support: Annotated[float, Field(ge=0, allow_inf_nan=False)]


class LocalScale(BaseModel):
    """The parameters of the scale: the constant c, the slopes :math:`b_l` and :math:`b_v`, and a slope per weight."""

    model_config = STRICT
    constant: Finite
    lack: Finite
    private: Finite
    weights: dict[str, WeightScale]

    def of(self, by_weight: Mapping[str, Any], private: Any = 0.0, lack: Any = None) -> Any:
        """Return the scale from the seconds due to each weight, the private data [B] and the lack of support."""
        total: Any = 0.0
        slopes: Any = 0.0
        squares: Any = 0.0
        known_weights = self._slopes_and_supports
        for name, seconds in by_weight.items():
            if type(seconds) is float and not seconds:
                continue  # the most frequent case, and predictions must be quick
            if (weight := known_weights.get(name)) is not None:
                slope, support = weight
                part = abs(seconds)
                total = total + part
                slopes = slopes + slope * part
                squares = squares + part * part / support
        if isinstance(total, float) and not isinstance(lack, np.ndarray):
            known = 0 < total < math.inf
            if lack is None:
                lack = math.sqrt(squares) / total if known else LEAST_SUPPORT**-0.5
            return math.exp(self._log(slopes / total if known else 0.0, math.log(lack), min(1.0, private / REGISTERS)))
        known = np.isfinite(total) & (total > 0)
        total = np.where(known, total, 1.0)
        if lack is None:
            lack = np.sqrt(np.where(known, squares, 1 / LEAST_SUPPORT)) / total
        return np.exp(self._log(np.where(known, slopes, 0.0) / total, np.log(lack), private_share(private)))

    @cached_property
    def _slopes_and_supports(self) -> Mapping[str, tuple[float, float]]:
        return {name: (weight.slope, weight.support + LEAST_SUPPORT) for name, weight in self.weights.items()}

    def _log(self, by_shares: Any, log_lack: Any, private: Any) -> Any:
        return by_shares + self.lack * log_lack + self.private * private - self.constant

    def reason(self, by_weight: Mapping[str, float], private: float = 0.0) -> str:
        """Return as text what increases the scale of a prediction most: a weight, little support, or private data."""
        parts = {name: abs(by_weight.get(name, 0.0)) for name in self.weights}
        total = sum(parts.values()) or 1.0
        support = [weight.support + LEAST_SUPPORT for weight in self.weights.values()]
        squares = sum((part / total) ** 2 / h for part, h in zip(parts.values(), support, strict=True))
        reasons = {
            f"kernels whose time depends on {name} are predicted badly": weight.slope * parts[name] / total
            for name, weight in self.weights.items()
        }
        lacking = (squares or 1 / LEAST_SUPPORT) * max(support, default=LEAST_SUPPORT)
        reasons["few measured kernels are like this one"] = self.lack / 2 * math.log(lacking)
        many = f"kernels whose work-items hold {private:.0f} bytes of private data are predicted badly"
        reasons[many] = self.private * min(1.0, private / REGISTERS)
        return max(reasons, key=lambda reason: reasons[reason])


@dataclass(frozen=True, eq=False)
class Unseen:
    """Predictions of rows [s], shape (n_rows,), by fits that have not seen them. A withheld prediction is NaN.

    `needs` has for each row the features that no row of the fit exercises. `by_weight` has the seconds due to each
    weight, shape (n_rows, n_weights). `lack` is the lack of support in the fit. `private` is the private data of a
    work-item [B].
    """

    seconds: Floats
    needs: tuple[tuple[str, ...], ...]
    by_weight: Floats | None = None
    lack: Floats | None = None
    private: Floats | None = None

    @property
    def known(self) -> Flags:
        """Whether a row is predicted, shape (n_rows,)."""
        return np.array([not needs for needs in self.needs], dtype=np.bool_)

    @property
    def scale_columns(self) -> Floats | None:
        """The inputs of the scale, shape (n_rows, n_weights + 2), or None if one of the inputs is unknown.

        The inputs are the shares of weights, the logarithm of the lack of support, and the share of private data.
        """
        if self.by_weight is None or self.lack is None or self.private is None:
            return None
        return np.column_stack([shares_of(self.by_weight), np.log(self.lack), private_share(self.private)])

    def of(self, rows: Rows) -> "Unseen":
        """Return the predictions of the rows with these numbers."""
        columns = (None if column is None else column[rows] for column in (self.by_weight, self.lack, self.private))
        return Unseen(self.seconds[rows], tuple(self.needs[i] for i in rows), *columns)


@dataclass(frozen=True)
class Quantiles:
    """Scores in ascending order, the level of each, and the highest level at which intervals have bounds."""

    levels: tuple[float, ...]
    scores: tuple[float, ...]
    highest: float = 0.0

    def at(self, level: float) -> float:
        """Return q, the score at a level. The score is infinite if the level is too high for bounds."""
        check_level(level)
        if level > self.highest + ROUNDING:
            return math.inf
        return self.scores[bisect_left(self.levels, level - ROUNDING)]


class Conformal(BaseModel):
    r"""Errors :math:`r = |\log(t/p)|` of measured rows, each by a fit without its own group, and their scales.

    `withheld` is the number of rows without a score. A row has no score if no other group exercises one of its
    features, or if the predicted time is not positive. `scales` has for each row :math:`\sigma` from the rows of the
    other groups. `scale` has the parameters for new predictions. Both are None if all scales are 1.
    """

    model_config = STRICT
    scores: tuple[Score, ...]
    groups: tuple[str, ...]
    withheld: int = Field(default=0, ge=0)
    scales: tuple[Positive, ...] | None = None
    scale: LocalScale | None = None

    @model_validator(mode="after")
    def _has_one_each(self) -> "Conformal":
        count = len(self.scores)
        if count != len(self.groups):
            raise ValueError(f"there are {count} scores and {len(self.groups)} groups; each score has one")
        if self.scales is None and self.scale is not None:
            raise ValueError("there is a scale of predictions without scales of rows")
        if self.scales is not None and count != len(self.scales):
            raise ValueError(f"there are {count} scores and {len(self.scales)} scales; each score has one")
        return self

    @property
    def group_count(self) -> int:
        """The number n of groups of kernels. Intervals have bounds up to the level n / (n + 1)."""
        return len(set(self.groups))

    def without(self, group: str) -> "Conformal":
        """Return the scores of the other groups."""
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
        scores = np.array(self.scores) / (1.0 if self.scale is None else np.array(self.scales))
        _, members, sizes = np.unique(np.array(self.groups), return_inverse=True, return_counts=True)
        order = np.argsort(scores, kind="stable")
        reached = np.cumsum((1 / (len(sizes) * sizes[members]))[order])
        return Quantiles(tuple(reached.tolist()), tuple(scores[order].tolist()), len(sizes) / (len(sizes) + 1))

    def quantile(self, level: float) -> float:
        """Return q, the half width of the interval in log time, divided by the scale. The result may be infinite."""
        return self.quantiles.at(level)

    def half_width(self, q: float, by_weight: Mapping[str, Any], private: Any = 0.0, lack: Any = None) -> Any:
        r"""Return :math:`q \sigma`, half the width of the interval of log time. Arguments: :meth:`LocalScale.of`."""
        return q if self.scale is None or math.isinf(q) else q * self.scale.of(by_weight, private, lack)


def scaled(seconds: Any, half_width: Any) -> tuple[Any, Any]:
    """Return :math:`p e^{-h}` and :math:`p e^{h}` for half widths h. Where p is not positive, return 0 and infinity."""
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
    """Return the scores of rows from measured times [s], groups, and predictions by fits without the group of each row.

    `support` has the support of each weight in the fit to all rows, in the order of ``unseen.by_weight``. If `support`
    is given, scores have scales, unless a single width for all predictions is better.
    """
    known = unseen.known & (unseen.seconds > 0)
    scores = np.abs(np.log(np.asarray(times, dtype=np.float64)[known] / unseen.seconds[known]))
    kept = tuple(group for group, predicted in zip(groups, known, strict=True) if predicted)
    plain = Conformal(scores=tuple(scores.tolist()), groups=kept, withheld=int(np.sum(~known)))
    columns = unseen.of(np.flatnonzero(known)).scale_columns
    if support is None or columns is None:
        return plain
    local = fit_local_scale(scores, kept, columns, support)
    return plain if local is None else plain.model_copy(update={"scale": local[0], "scales": tuple(local[1].tolist())})


def fit_local_scale(
    errors: Floats, groups: Sequence[str], columns: Floats, support: Mapping[str, float]
) -> tuple[LocalScale, Floats] | None:
    """Return the parameters of the scale, and the scale of each row by slopes without the group of the row.

    Return None if one scale for all predictions is best. The `errors` of log time, shape (n_rows,), belong to
    predictions without the group of each row. `support` has the support of each weight in the order of the columns
    (:attr:`Unseen.scale_columns`).
    """
    labels, members = np.unique(np.array(groups), return_inverse=True)
    if len(labels) < 2:
        return None
    means = (members == np.arange(len(labels))[:, None]) / np.bincount(members)[:, None]  # over each group
    errors = np.maximum(errors, LEAST_ERROR)
    plain = math.log(float(np.mean(means @ errors)))
    tried = [_fit_slopes(columns, errors, means, ridge) for ridge in RIDGES]
    slopes, scales, loss = min(tried, key=lambda fit: fit[2])
    if not loss < plain:
        return None
    *of_weights, lack, private = slopes.tolist()
    weights = {
        name: WeightScale(slope=slope, support=groups_of_weight)
        for (name, groups_of_weight), slope in zip(support.items(), of_weights, strict=True)
    }
    constant = float(np.mean(means @ (columns @ slopes)))
    return LocalScale(constant=constant, lack=lack, private=private, weights=weights), scales


def _fit_slopes(columns: Floats, errors: Floats, means: Floats, ridge: float) -> tuple[Floats, Floats, float]:
    """Return slopes, the scale of each row by slopes fitted without its group, and the loss of these scales."""
    groups, count = means.shape[0], columns.shape[1]
    penalty, of_row = ridge / groups, np.mean(means, axis=0)
    slopes, typical = np.zeros(count), of_row @ columns
    for _ in range(NEWTON_STEPS):
        raised = of_row * errors * np.exp(-columns @ slopes)
        raised /= raised.sum()
        mean = raised @ columns
        slope = typical - mean + penalty * slopes
        curve = (columns * raised[:, None]).T @ columns - np.outer(mean, mean) + penalty * np.eye(count)
        step = np.linalg.solve(curve, slope)
        slopes = slopes - step / max(1.0, float(np.abs(columns @ step).max()))
        if slope @ step < 1e-12:
            break
    log_scales = _without_groups(columns, errors, means, slopes, penalty)
    loss = math.log(np.mean(means @ (errors / np.exp(log_scales)))) + float(np.mean(means @ log_scales))
    return slopes, np.exp(log_scales), loss


def _without_groups(columns: Floats, errors: Floats, means: Floats, slopes: Floats, penalty: float) -> Floats:
    """Return the log of the scale of each row by slopes without its group: common slopes after one Newton step."""
    groups, count = means.shape[0], columns.shape[1]
    raised, typical = errors * np.exp(-columns @ slopes), means @ columns
    sums, firsts = means @ raised, means @ (columns * raised[:, None])
    rows_of = [np.flatnonzero(of_group) for of_group in means]
    seconds = [(columns[i] * (means[k, i] * raised[i])[:, None]).T @ columns[i] for k, i in enumerate(rows_of)]
    total, logs = np.sum(seconds, axis=0), np.zeros(len(errors))
    for k, rows in enumerate(rows_of):
        others = sums.sum() - sums[k]
        mean = (firsts.sum(axis=0) - firsts[k]) / others
        usual = (typical.sum(axis=0) - typical[k]) / (groups - 1)
        curve = (total - seconds[k]) / others - np.outer(mean, mean) + penalty * np.eye(count)
        without = slopes - np.linalg.solve(curve, usual - mean + penalty * slopes)
        logs[rows] = (columns[rows] - usual) @ without
    return logs


def check_level(level: float) -> None:
    """Raise an OptionError unless the level is between 0 and 1."""
    if not (is_number(level) and 0 < level < 1):
        raise OptionError(f"level is {level!r}", "give a number between 0 and 1, as 0.9 for 90 %")
