"""Rankings of variants as text, with the ties in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from perfmodel.display import interval_text as interval_text
from perfmodel.predicting.ranking import Ranking
from perfmodel.report.fitted import fitted_text

if TYPE_CHECKING:
    from perfmodel.fitting.uncertainty.scatter import Scatter
    from perfmodel.predicting.ranking import RankedVariant

MOST_NAMES = 8
"""Most variants that a sentence names."""
UNKNOWN = (
    "ties cannot be told: the weights do not keep how errors scatter between variants of one kernel; fit again "
    "(perfmodel fit), with two variants of some kernels among the measurements"
)
NOT_POSITIVE = "ties cannot be told: a predicted time is not above zero, or not finite; leave that variant out"


def ranking_table(ranked: Sequence[RankedVariant], width: int | None = None) -> str:
    """Return a row for each variant; how probably it is the fastest, and ties, where the ranking has them.

    On a narrow terminal the interval is left out first, then the probability, then how many times the best it takes.
    """
    return fitted_text(Ranking(ranked).table, 1, ("interval", "fastest", "times the best"), width)


def ties_text(ranked: Sequence[RankedVariant], scatter: Scatter | None, level: float) -> str:
    """Return which variants cannot be told apart, and how many must be measured to have the fastest.

    Empty where there is only one variant.
    """
    if len(ranked) < 2:
        return ""
    if scatter is None or ranked[0].fastest is None:
        return UNKNOWN if scatter is None else NOT_POSITIVE
    tied = [one.name for one in ranked if one.tied]
    chosen = [one.name for one in ranked if one.to_measure]
    by = f"errors between variants of one kernel scatter by a factor of {math.exp(scatter.deviation):.3g}"
    first = f"{_listed(tied)} cannot be told apart ({by})" if tied else f"nothing ties with {ranked[0].name} ({by})"
    if len(chosen) == 1:
        return f"{first}; {chosen[0]} is the fastest with {ranked[0].fastest:.0%}, and none has to be measured"
    return f"{first}; measure the first {len(chosen)} to have the fastest with {level:.0%}: {_listed(chosen)}"


def ties_document(ranked: Sequence[RankedVariant], scatter: Scatter | None, level: float) -> dict[str, Any] | None:
    """Return the same for JSON; None where ties cannot be told."""
    if scatter is None or not ranked or ranked[0].fastest is None:
        return None
    return {
        "level": level,
        "deviation": scatter.deviation,
        "freedom": scatter.freedom,
        "tied": [one.name for one in ranked if one.tied],
        "to_measure": [one.name for one in ranked if one.to_measure],
    }


def _listed(names: Sequence[str]) -> str:
    """Return names as ``a, b and c``; of many the first."""
    if len(names) > MOST_NAMES:
        return f"{', '.join(names[:MOST_NAMES])} and {len(names) - MOST_NAMES} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
