r"""The scale of conformal scores: the expected size of the error of a prediction, compared with other predictions.

Errors of log time are divided by this scale (:mod:`perfmodel.fitting.conformal`):

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

Sources: J. Lei et al., *Distribution-free predictive inference for regression*, JASA 113 (2018), section 5.2; D. C.
Hoaglin, R. E. Welsch, *The hat matrix in regression and ANOVA*, The American Statistician 32 (1978); K. R. Rad, A.
Maleki, *A scalable estimate of the out-of-sample prediction error via approximate leave-one-out cross-validation*, JRSS
B 82 (2020), for the Newton step.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, Field

from perfmodel.fitting.types import STRICT, Finite, Floats

RIDGES = (0.3, 3.0)  # strengths of the ridge that are tried [groups]
REGISTERS = 1024.0  # most bytes that the registers of a work-item hold: 256 of 4 bytes
NEWTON_STEPS = 30  # about five are needed
WIDE = 2.0  # intervals with a larger scale get a caution; the geometric mean of measured kernels is 1
LEAST_SUPPORT = 0.3  # groups that are added to the support of each weight
LEAST_ERROR = 1e-3  # smaller errors count as this one, as in every other figure


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


def fit_local_scale(
    errors: Floats, groups: Sequence[str], columns: Floats, support: Mapping[str, float]
) -> tuple[LocalScale, Floats] | None:
    """Return the parameters of the scale, and the scale of each row by slopes without the group of the row.

    Return None if one scale for all predictions is best. The `errors` of log time, shape (n_rows,), belong to
    predictions without the group of each row. `support` has the support of each weight in the order of the columns
    (:attr:`~perfmodel.fitting.conformal.Unseen.scale_columns`).
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
