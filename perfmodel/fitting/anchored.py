r"""Errors of predictions that one run of the same kernel scales.

The *anchor* of a kernel's variant is the smallest measured size. A *visit* is one series of runs of a configuration. At
the anchor, :math:`t_a` is the measured time (the minimum of one visit) and :math:`p_a` the predicted time. The
prediction p at another size becomes :math:`p \, (t_a / p_a)^b`. The share b is the part of the anchor's error that
other sizes have too. For groups k of :math:`N_k` rows with the measured times t:

.. math:: b = \arg\min_{0 \le b \le 1}
    \sum_k \frac{1}{N_k} \sum_{i \in k} \Big|\log\frac{t_i}{p_i} - b \log\frac{t_{a,i}}{p_{a,i}}\Big|

Intervals of such predictions are conformal (:mod:`perfmodel.fitting.conformal`). The score of each group uses the share
b of the other groups. The scatter of errors between variants is estimated as in :mod:`perfmodel.fitting.selection`. At
the anchor's size the prediction is the measured time, and its only error is noise.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, Field

from perfmodel.fitting.conformal import Conformal, Unseen, calibrate
from perfmodel.fitting.selection import Scatter, cells_of, estimate_scatter, weighted_median
from perfmodel.fitting.types import STRICT, Flags, Floats, Rows
from perfmodel.store import Measurement
from perfmodel.values import grouped


class Anchored(BaseModel):
    """Errors of anchored predictions, scatter between variants, the share b (`carried`), and the noise of one visit."""

    model_config = STRICT
    conformal: Conformal
    scatter: Scatter | None = None
    carried: Annotated[float, Field(ge=0, le=1)] = 1.0
    noise: Conformal | None = None


def anchor_rows(rows: Sequence[Measurement], unseen: Unseen, carried: float = 1.0) -> tuple[Rows, Unseen]:
    """Return the indices of rows that have another row as anchor, and their anchored predictions with `carried` as b.

    A prediction is NaN if the fit withheld the row or its anchor, or if the time of the anchor is not positive.
    """
    anchors = anchors_of(rows)
    others = np.flatnonzero((anchors >= 0) & (anchors != np.arange(len(rows))))
    anchors = anchors[others]
    measured = np.array([one_visit_s(rows[anchor]) for anchor in anchors], dtype=np.float64)
    predicted = np.where(unseen.seconds[anchors] > 0, unseen.seconds[anchors], np.nan)
    needs = (tuple(sorted({*unseen.needs[i], *unseen.needs[j]})) for i, j in zip(others, anchors, strict=True))
    return others, Unseen(unseen.seconds[others] * (measured / predicted) ** carried, tuple(needs))


def anchors_of(rows: Sequence[Measurement]) -> Rows:
    """Return the index of each row's anchor (the row with the smallest product of sizes), or -1 for a single size."""
    def text(values: Mapping[str, Any]) -> str:
        return repr(sorted(values.items()))

    def volume(number: int) -> tuple[int, str]:
        parameters = rows[number].parameters
        return math.prod(parameters.values()), text(parameters)

    variants = grouped((f"{row.kernel} {text(row.variant)}", number) for number, row in enumerate(rows))
    anchors = np.full(len(rows), -1, dtype=np.int64)
    for numbers in variants.values():
        if len({text(rows[number].parameters) for number in numbers}) > 1:
            anchors[numbers] = min(numbers, key=volume)
    return anchors


def one_visit_s(row: Measurement) -> float:
    """Return the time of the first visit to a configuration [s]."""
    return min(row.kept_by_visit_s[0])


def anchored_errors(
    rows: Sequence[Measurement], every: Sequence[str], times: Floats, unseen: Unseen, measured: int
) -> Anchored | None:
    """Return the errors of anchored predictions, or None if no kernel was measured at two sizes.

    For each row, `every` has the group and `times` the measured time [s]. `unseen` has the prediction by a fit without
    the group of the row. The scatter comes from the first `measured` rows, which are the rows of measurement kernels.
    """
    numbers, whole = anchor_rows(rows, unseen)
    if not len(numbers):
        return None
    plain, groups = unseen.seconds[numbers], np.array([every[number] for number in numbers])
    with np.errstate(invalid="ignore", divide="ignore"):
        anchors, errors = np.log(whole.seconds / plain), np.log(times[numbers] / plain)
    used = np.isfinite(anchors) & np.isfinite(errors) & (numbers < measured)
    shares = {group: carried_share(anchors, errors, groups, used & (groups != group)) for group in {*groups.tolist()}}
    seconds = plain * np.exp(anchors * np.array([shares[group] for group in groups.tolist()]))
    conformal = calibrate(replace(whole, seconds=seconds), times[numbers], groups.tolist())
    kernels = numbers[numbers < measured]
    cells = cells_of([rows[number] for number in kernels], times[kernels], seconds[: len(kernels)])
    return Anchored(
        conformal=conformal, scatter=estimate_scatter(cells), carried=carried_share(anchors, errors, groups, used),
        noise=_noise(rows, every, times),
    )  # fmt: skip


def carried_share(anchors: Floats, errors: Floats, groups: npt.NDArray[np.str_], used: Flags) -> float:
    """Return b, the weighted median of the ratios of a row's error to its anchor's error, in log time.

    The weight of a ratio is the absolute error of the anchor over the number of rows in the group. Without rows return
    1. Shapes are (n_rows,).
    """
    used = used & (anchors != 0)
    if not used.any():
        return 1.0
    _, members, sizes = np.unique(groups[used], return_inverse=True, return_counts=True)
    ratios, weights = errors[used] / anchors[used], np.abs(anchors[used]) / sizes[members]
    return min(max(weighted_median(ratios, weights), 0.0), 1.0)


def _noise(rows: Sequence[Measurement], groups: Sequence[str], times: Floats) -> Conformal | None:
    several = [i for i in np.unique(anchors_of(rows)) if i >= 0 and len(rows[i].kept_by_visit_s) > 1]
    scores = tuple(abs(math.log(one_visit_s(rows[i]) / times[i])) for i in several)
    return Conformal(scores=scores, groups=tuple(groups[i] for i in several)) if several else None
