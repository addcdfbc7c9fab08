r"""Predictions that one cheap run of the same kernel scales: where the run is, and how far they are off.

Of each kernel and variant the smallest measured size is the *anchor*. With the measured and predicted times
:math:`t_a` and :math:`p_a` there, the prediction at another size is :math:`p \, t_a / p_a`. :math:`t_a` is the minimum
of one visit, since an anchor is visited once. The scores of such predictions are conformal, as those of plain ones
(:mod:`perfmodel.fitting.uncertainty.conformal`), and their scatter between variants is that of
:mod:`perfmodel.fitting.uncertainty.selection`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict

from perfmodel.fitting.uncertainty.conformal import Conformal, calibrate
from perfmodel.fitting.uncertainty.selection import Scatter, cells_of, estimate_scatter

if TYPE_CHECKING:
    from perfmodel.fitting.heldout import Unseen
    from perfmodel.store import Measurement

Places = npt.NDArray[np.int64]


class Anchored(BaseModel):
    """How far anchored predictions are off.

    Parameters
    ----------
    conformal
        Scores for their intervals.
    scatter
        Their errors between variants of one kernel; None where no kernel has two variants at the same sizes.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    conformal: Conformal
    scatter: Scatter | None = None


@dataclass(frozen=True, eq=False)
class AnchoredRows:
    """Anchored predictions of the rows that are no anchors.

    Parameters
    ----------
    places
        Their positions among all rows, ascending.
    unseen
        Their predictions. Where the row or its anchor was withheld, or the anchor's prediction is not above zero, it is
        NaN.
    """

    places: Places
    unseen: Unseen


def anchor_rows(rows: Sequence[Measurement], found: Unseen) -> AnchoredRows:
    """Scale predictions of rows by what was measured at the smallest size of the same kernel and variant.

    Rows of kernels and variants that were measured at one size only are left out.
    """
    from perfmodel.fitting.heldout import Unseen

    anchors = anchors_of(rows)
    places = np.flatnonzero((anchors >= 0) & (anchors != np.arange(len(rows))))
    own = anchors[places]
    measured = np.array([one_visit_s(rows[anchor]) for anchor in own], dtype=np.float64)
    predicted = np.where(found.seconds[own] > 0, found.seconds[own], np.nan)
    needs = tuple(tuple(sorted({*found.needs[i], *found.needs[j]})) for i, j in zip(places, own, strict=True))
    return AnchoredRows(places, Unseen(found.seconds[places] * measured / predicted, needs))


def anchors_of(rows: Sequence[Measurement]) -> Places:
    """Return the position of each row's anchor, its own for an anchor; -1 where there is one size only.

    The smallest size has the smallest product of all parameters; of several, the first in the order of their values.
    """
    found: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        found.setdefault(f"{row.kernel} {_text(row.variant)}", []).append(place)
    anchors = np.full(len(rows), -1, dtype=np.int64)
    for places in found.values():
        if len({_text(rows[place].parameters) for place in places}) > 1:
            anchors[places] = min(places, key=lambda place: _volume(rows[place].parameters))
    return anchors


def one_visit_s(row: Measurement) -> float:
    """Return the time that the first visit to a configuration gave [s]."""
    return min(row.kept_by_visit_s[0])


def anchored_errors(
    rows: Sequence[Measurement], times: npt.NDArray[np.float64], found: Unseen, measured: int
) -> Anchored | None:
    """Return how far anchored predictions of rows are off; None where no kernel was measured at two sizes.

    Parameters
    ----------
    rows
        Measured rows, those of the measurement kernels first.
    times
        Their times [s], shape (n_rows,).
    found
        Their predictions, each by a fit without its group.
    measured
        Number of rows of the measurement kernels, from which the scatter comes.
    """
    anchored = anchor_rows(rows, found)
    if not len(anchored.places):
        return None
    conformal = calibrate(anchored.unseen, times[anchored.places], [rows[place].group for place in anchored.places])
    own = anchored.places[anchored.places < measured]
    cells = cells_of([rows[place] for place in own], times[own], anchored.unseen.seconds[: len(own)])
    return Anchored(conformal=conformal, scatter=estimate_scatter(cells))


def _volume(parameters: Mapping[str, int]) -> tuple[int, str]:
    return math.prod(parameters.values()), _text(parameters)


def _text(values: Mapping[str, Any]) -> str:
    return repr(sorted(values.items()))
