r"""How far a measured time may lie from its prediction: conformal intervals.

The error of a measured row is :math:`r = |\log(t/p)|` with :math:`p` predicted by a fit without
any row of the row's group of kernels (Protocol B): measurement kernels, and with them the test kernels where
there are any. Its score is :math:`s = r/\sigma`, where the scale :math:`\sigma` depends on what the prediction
rests on, and comes from the rows of the other groups alone. At level
:math:`1 - \alpha` the interval of a new prediction with the scale :math:`\sigma`, from all rows, is
:math:`[p e^{-q \sigma}, p e^{q \sigma}]` with :math:`q` the :math:`1 - \alpha` quantile of

.. math:: \frac{1}{K} \sum_{k=1}^{K} \frac{1}{N_k} \sum_{i=1}^{N_k} \delta_{s_{ki}}

over :math:`K` groups with :math:`N_k` rows each. If a new kernel's group is like one more draw from where the measured
groups came from, and the fits and scales were the same for every group, the interval holds its time with a probability
of at least :math:`(1 - \alpha) K/(K + 1)`, and of about :math:`1 - \alpha` where groups are many, however rows within a
group depend on each other. (With one more group of infinite scores in the sum it would be :math:`1 - \alpha` or more:
this is q at the level :math:`(1 - \alpha) K/(K + 1)` of that sum. With 13 to 46 groups its intervals are 1.3 to 3 times
as wide.) Fits and scales change a little from group to group, as in every cross-fit. With fewer than
:math:`(1 - \alpha)/\alpha` groups the interval is unbounded. Rows predicted at zero or below
have no score: what is predicted so has the interval from zero to infinity, whatever q is. Where one width for all
kernels is as good, and in files from before these scales, :math:`\sigma = 1`.

Source: Y. Lee, R. F. Barber, R. Willett, *Distribution-free inference with hierarchical data*,
2023 (hierarchical conformal prediction); Lei et al. 2018, section 5.2, for scores over scales; R. F. Barber,
E. J. Candès, A. Ramdas, R. J. Tibshirani, *Predictive inference with the jackknife+*, Annals of Statistics 49 (2021),
for scores from fits that leave out a part each.

The scale says how wrong a prediction is, compared with others, by what it rests on:

.. math:: \log \sigma = \sum_j b_j e_j + b_l \log l + b_v v - c

- A predicted time T rests on the weights w. The *share* of weight j is how much of the time goes with it,
  :math:`e_j = |w_j \, \partial T / \partial w_j| / \sum_l |w_l \, \partial T / \partial w_l|`. In a plain sum these are
  the shares of the terms; where resources overlap, those of what the bounding resource is made of.
- The *support* of a weight is the number of groups of kernels that determine it: :math:`h_j = \sum_k \frac{1}{N_k}
  \sum_{i \in k} e_{ij}^2`, with 1 for each group in which the weight makes up all of the time. The *lack of support*
  of a prediction is :math:`l = (\sum_j e_j^2/(h_j + 0.3))^{1/2}`: its leverage, with groups as observations of the
  weights' logarithms, without what is off the diagonal.
- *Private data*: :math:`v = \min(1, \text{bytes of a work-item}/1024)`, of the most that its registers hold on any GPU.
  Whether a compiler keeps private arrays in registers is what all models know least.

The slopes b minimise

.. math:: \log \frac{1}{K} \sum_k \frac{1}{N_k} \sum_{i \in k} \frac{r_i}{\sigma_i}
    + \frac{1}{K} \sum_k \frac{1}{N_k} \sum_{i \in k} \log \sigma_i + \frac{\lambda}{2 K} |b|^2

which is the negative logarithm of the likelihood of errors with an exponential distribution of mean
:math:`\propto \sigma_i`, without constants, and a ridge: :math:`\lambda` groups say that there is nothing to tell.
It is convex. The constant c makes the mean of :math:`\log \sigma` over groups zero. For each group, one step of
Newton's method gives the slopes without it. With these the first two terms choose the ridge, or one width for all.

Source: J. Lei, M. G'Sell, A. Rinaldo, R. J. Tibshirani, L. Wasserman, *Distribution-free predictive inference for
regression*, JASA 113 (2018), section 5.2 (locally weighted residuals); D. C. Hoaglin, R. E. Welsch, *The hat matrix in
regression and ANOVA*, The American Statistician 32 (1978), for leverage; K. R. Rad, A. Maleki, *A scalable estimate of
the out-of-sample prediction error via approximate leave-one-out cross-validation*, JRSS B 82 (2020), for one step of
Newton's method. What the scale depends on is our own choice, by groups left out on six devices.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from perfmodel.documents import is_number
from perfmodel.errors import LevelError

Floats: TypeAlias = npt.NDArray[np.float64]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Score = Annotated[float, Field(ge=0, allow_inf_nan=False)]
STRICT = ConfigDict(frozen=True, extra="forbid")

RIDGES = (0.3, 3.0)
"""How many groups say that scales are equal; both are tried."""
REGISTERS = 1024.0
"""Most bytes that the registers of a work-item hold: 256 of 4 bytes."""
NEWTON_STEPS = 30
"""Most steps to the slopes of a scale; about five are needed."""
WIDE = 2.0
"""Scales above this one are wide: measured kernels have 1 in the geometric mean."""
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
    private
        Bytes of a work-item's private data, shape (n_rows,); None where not known.
    """

    seconds: Floats
    needs: tuple[tuple[str, ...], ...]
    by_weight: Floats | None = None
    lack: Floats | None = None
    private: Floats | None = None

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """Where a row is predicted, shape (n_rows,)."""
        return np.array([not needs for needs in self.needs], dtype=np.bool_)

    @property
    def rests_on(self) -> Floats | None:
        """Shares, logarithm of the lack, private data, shape (n_rows, n_weights + 2); None where not all are known."""
        if self.by_weight is None or self.lack is None or self.private is None:
            return None
        return np.column_stack([shares_of(self.by_weight), np.log(self.lack), private_share(self.private)])

    def of(self, rows: npt.NDArray[np.int64]) -> Unseen:
        """Return the predictions of the rows at some positions."""
        rests_on = (None if column is None else column[rows] for column in (self.by_weight, self.lack, self.private))
        return Unseen(self.seconds[rows], tuple(self.needs[i] for i in rows), *rests_on)


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
    r"""What is known of predictions that rest on a weight: the slope :math:`b_j` and the support :math:`h_j`."""

    model_config = STRICT
    slope: Finite
    support: Annotated[float, Field(ge=0, allow_inf_nan=False)]


class LocalScale(BaseModel):
    r"""What gives the scale of a prediction.

    Parameters
    ----------
    constant
        c, which makes the scales of measured kernels 1 in the geometric mean.
    lack, private
        The slopes :math:`b_l` and :math:`b_v`.
    weights
        What is known of each fitted weight, by its name.
    """

    model_config = STRICT
    constant: Finite
    lack: Finite
    private: Finite
    weights: dict[str, WeightScale]

    def of(self, by_weight: Mapping[str, Any], private: Any = 0.0, lack: Any = None) -> Any:
        """Return the scale of predictions from the seconds that rest on each weight, numbers or arrays of one shape.

        Weights that no fit determined, such as known facts of the device, do not count. `private` is the private data
        of a work-item [B]. `lack` is the lack of support in the fit that predicts; by default it is that of the fit to
        all rows.

        Examples
        --------
        >>> launches = WeightScale(slope=-0.5, support=0.7)
        >>> scale = LocalScale(constant=0.5, lack=1.0, private=1.0, weights={"launches": launches})
        >>> round(scale.of({"launches": 2e-6}, private=512), 3)  # exp(-0.5 + log(1) + 1/2 - 0.5)
        0.607
        """
        total: Any = 0.0
        wrong: Any = 0.0
        thin: Any = 0.0
        for name, seconds in by_weight.items():
            if (weight := self.weights.get(name)) is not None:
                part = abs(seconds)
                total = total + part
                wrong = wrong + weight.slope * part
                thin = thin + part * part / (weight.support + LEAST_SUPPORT)
        if isinstance(total, float) and not isinstance(lack, np.ndarray):
            known = 0 < total < math.inf
            if lack is None:
                lack = math.sqrt(thin) / total if known else LEAST_SUPPORT**-0.5
            return math.exp(self._log(wrong / total if known else 0.0, math.log(lack), min(1.0, private / REGISTERS)))
        known = np.isfinite(total) & (total > 0)
        total = np.where(known, total, 1.0)
        if lack is None:
            lack = np.sqrt(np.where(known, thin, 1 / LEAST_SUPPORT)) / total
        return np.exp(self._log(np.where(known, wrong, 0.0) / total, np.log(lack), private_share(private)))

    def _log(self, by_shares: Any, log_lack: Any, private: Any) -> Any:
        return by_shares + self.lack * log_lack + self.private * private - self.constant

    def reason(self, by_weight: Mapping[str, float], private: float = 0.0) -> str:
        """Return in words what makes the scale of a prediction large most: a weight, little support, or private data.

        Examples
        --------
        >>> known = {"gathers": WeightScale(slope=2, support=0.7), "launches": WeightScale(slope=-1, support=2)}
        >>> LocalScale(constant=0, lack=1.0, private=0.0, weights=known).reason({"gathers": 3.0, "launches": 1.0})
        'kernels whose time rests on gathers are predicted badly'
        """
        parts = {name: abs(by_weight.get(name, 0.0)) for name in self.weights}
        total = sum(parts.values()) or 1.0
        support = [weight.support + LEAST_SUPPORT for weight in self.weights.values()]
        squares = sum((part / total) ** 2 / h for part, h in zip(parts.values(), support, strict=True))
        reasons = {
            f"kernels whose time rests on {name} are predicted badly": weight.slope * parts[name] / total
            for name, weight in self.weights.items()
        }
        least = 1 / max(support, default=LEAST_SUPPORT)
        lacking = (squares or 1 / LEAST_SUPPORT) / least
        reasons["few measured kernels are like this one"] = self.lack / 2 * math.log(lacking)
        many = f"kernels whose work-items hold {private:.0f} bytes of private data are predicted badly"
        reasons[many] = self.private * min(1.0, private / REGISTERS)
        return max(reasons, key=lambda reason: reasons[reason])


def private_share(private: Any) -> Any:
    """Return v, private data [B] over the most that a work-item's registers hold, at most 1."""
    return np.minimum(np.asarray(private, dtype=np.float64) / REGISTERS, 1.0)


def fit_local_scale(
    errors: Floats, groups: Sequence[str], rests_on: Floats, support: Mapping[str, float]
) -> tuple[LocalScale, Floats] | None:
    """Return what gives the scale of predictions, and the scale of each row by slopes without its group.

    None where one scale for all predictions is best. Rows are predicted without their group; of these predictions the
    errors of log time have the shape (n_rows,), and what they rest on is :attr:`Unseen.rests_on`. `support` is that of
    each weight in the fit to all rows, in the same order.
    """
    labels, members = np.unique(np.array(groups), return_inverse=True)
    if len(labels) < 2:
        return None
    means = (members == np.arange(len(labels))[:, None]) / np.bincount(members)[:, None]  # over each group
    errors = np.maximum(errors, LEAST_ERROR)
    plain = math.log(float(np.mean(means @ errors)))
    tried = [_fit_slopes(rests_on, errors, means, ridge) for ridge in RIDGES]
    slopes, scales, loss = min(tried, key=lambda fit: fit[2])
    if not loss < plain:
        return None
    *of_weights, lack, private = slopes.tolist()
    weights = {
        name: WeightScale(slope=slope, support=groups_of_weight)
        for (name, groups_of_weight), slope in zip(support.items(), of_weights, strict=True)
    }
    constant = float(np.mean(means @ (rests_on @ slopes)))
    return LocalScale(constant=constant, lack=lack, private=private, weights=weights), scales


def _fit_slopes(rests_on: Floats, errors: Floats, means: Floats, ridge: float) -> tuple[Floats, Floats, float]:
    """Return slopes, the scales of rows by slopes without their group, and the loss of these scales."""
    groups, count = means.shape[0], rests_on.shape[1]
    penalty, of_row = ridge / groups, np.mean(means, axis=0)
    slopes, typical = np.zeros(count), of_row @ rests_on
    for _ in range(NEWTON_STEPS):
        raised = of_row * errors * np.exp(-rests_on @ slopes)
        raised /= raised.sum()
        mean = raised @ rests_on
        slope = typical - mean + penalty * slopes
        curve = (rests_on * raised[:, None]).T @ rests_on - np.outer(mean, mean) + penalty * np.eye(count)
        step = np.linalg.solve(curve, slope)
        slopes = slopes - step / max(1.0, float(np.abs(rests_on @ step).max()))
        if slope @ step < 1e-12:
            break
    log_scales = _without_groups(rests_on, errors, means, slopes, penalty)
    loss = math.log(np.mean(means @ (errors / np.exp(log_scales)))) + float(np.mean(means @ log_scales))
    return slopes, np.exp(log_scales), loss


def _without_groups(rests_on: Floats, errors: Floats, means: Floats, slopes: Floats, penalty: float) -> Floats:
    """Return the logarithm of each row's scale by slopes that are one step of Newton's from those of all groups."""
    groups, count = means.shape[0], rests_on.shape[1]
    raised, typical = errors * np.exp(-rests_on @ slopes), means @ rests_on
    sums, firsts = means @ raised, means @ (rests_on * raised[:, None])
    seconds = [(rests_on * (of_group * raised)[:, None]).T @ rests_on for of_group in means]
    total, logs = np.sum(seconds, axis=0), np.zeros(len(errors))
    for k, of_group in enumerate(means):
        others, rows = sums.sum() - sums[k], of_group > 0
        mean = (firsts.sum(axis=0) - firsts[k]) / others
        usual = (typical.sum(axis=0) - typical[k]) / (groups - 1)
        curve = (total - seconds[k]) / others - np.outer(mean, mean) + penalty * np.eye(count)
        without = slopes - np.linalg.solve(curve, usual - mean + penalty * slopes)
        logs[rows] = (rests_on[rows] - usual) @ without
    return logs

# }}}


@dataclass(frozen=True)
class Quantiles:
    """Scores, and the level that each reaches, in ascending order; the highest level with bounds."""

    levels: tuple[float, ...]
    scores: tuple[float, ...]
    highest: float = 0.0

    def at(self, level: float) -> float:
        """Return q, the score at a level; infinite above the highest one."""
        check_level(level)
        if level > self.highest + ROUNDING:
            return math.inf
        return self.scores[bisect_left(self.levels, level - ROUNDING)]


def _of_this_form(scale: Any) -> Any:
    return None if isinstance(scale, Mapping) and "error_power" in scale else scale


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
        What gives the scale of a new prediction; None where all scales are 1, as in files with another form of it.
    """

    model_config = STRICT
    scores: tuple[Score, ...]
    groups: tuple[str, ...]
    withheld: int = Field(default=0, ge=0)
    scales: tuple[Positive, ...] | None = None
    scale: Annotated[LocalScale | None, BeforeValidator(_of_this_form)] = None

    @model_validator(mode="after")
    def _has_one_each(self) -> Conformal:
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
        scores = np.array(self.scores) / (1.0 if self.scale is None else np.array(self.scales))
        _, members, sizes = np.unique(np.array(self.groups), return_inverse=True, return_counts=True)
        order = np.argsort(scores, kind="stable")
        reached = np.cumsum((1 / (len(sizes) * sizes[members]))[order])
        return Quantiles(tuple(reached.tolist()), tuple(scores[order].tolist()), len(sizes) / (len(sizes) + 1))

    def quantile(self, level: float) -> float:
        """Return q, how many scales the interval of log time reaches to each side, at a level; perhaps infinite.

        Examples
        --------
        >>> Conformal(scores=(0.1, 0.3, 0.2), groups=("a", "a", "b")).quantile(0.5)
        0.2
        """
        return self.quantiles.at(level)

    def half_width(self, q: float, by_weight: Mapping[str, Any], private: Any = 0.0, lack: Any = None) -> Any:
        r"""Return :math:`q \sigma`, half the width of the interval of log time, infinite as a float where q is.

        The other arguments are as of :meth:`LocalScale.of`.
        """
        return q if self.scale is None or math.isinf(q) else q * self.scale.of(by_weight, private, lack)


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
    rests_on = unseen.of(np.flatnonzero(known)).rests_on
    if support is None or rests_on is None:
        return plain
    local = fit_local_scale(scores, kept, rests_on, support)
    return plain if local is None else plain.model_copy(update={"scale": local[0], "scales": tuple(local[1].tolist())})


def check_level(level: float) -> None:
    """Raise an error unless the level is between 0 and 1."""
    if not (is_number(level) and 0 < level < 1):
        raise LevelError(level)
