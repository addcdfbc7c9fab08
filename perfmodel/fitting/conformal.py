r"""Conformal intervals: how far a measured time may be from its prediction.

A *group* is a set of related kernels. The error of a measured row is :math:`r = |\log(t/p)|`, where :math:`p` is the
prediction of a fit without the row's group (protocol B). The rows are those of measurement kernels, of test kernels if
there are any, and of *samples*, which are random kernels. The samples are dealt into as many groups as the other rows
have, so that samples have half of the weight. The score is :math:`s = r/\sigma` with the scale :math:`\sigma` of
:mod:`perfmodel.fitting.local_scale`, computed from the rows of the other groups. At level :math:`1 - \alpha` the
interval of a new prediction with scale :math:`\sigma` is :math:`[p e^{-q \sigma}, p e^{q \sigma}]` with :math:`q` the
:math:`1 - \alpha` quantile of

.. math:: \frac{1}{K} \sum_{k=1}^{K} \frac{1}{N_k} \sum_{i=1}^{N_k} \delta_{s_{ki}}

over :math:`K` groups with :math:`N_k` rows each. If groups are exchangeable, and fits and scales are the same for every
group, the coverage is at least :math:`(1 - \alpha) K/(K + 1)`. This holds even if rows within a group depend on each
other. With fewer than :math:`(1 - \alpha)/\alpha` groups the interval is unbounded. A prediction that is not positive
has no score, and its interval is from zero to infinity.

Sources: Y. Lee, R. F. Barber, R. Willett, *Distribution-free inference with hierarchical data*, 2023; J. Lei et al.,
*Distribution-free predictive inference for regression*, JASA 113 (2018), section 5.2; R. F. Barber et al., *Predictive
inference with the jackknife+*, Annals of Statistics 49 (2021).
"""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, Field, model_validator

from perfmodel.documents import is_number
from perfmodel.errors import OptionError
from perfmodel.fitting.local_scale import LocalScale, fit_local_scale, private_share, shares_of
from perfmodel.fitting.types import STRICT, Flags, Floats, Positive, Rows

Score = Annotated[float, Field(ge=0, allow_inf_nan=False)]

WIDEST = 600.0  # half widths of log time above this count as infinite: their factors are near the largest double
ROUNDING = 1e-12  # rounding error of sums of shares


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


def check_level(level: float) -> None:
    """Raise an OptionError unless the level is between 0 and 1."""
    if not (is_number(level) and 0 < level < 1):
        raise OptionError(f"level is {level!r}", "give a number between 0 and 1, as 0.9 for 90 %")
