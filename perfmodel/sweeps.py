"""Variants of a kernel over several sizes, each predicted at all of them at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from perfmodel.anchors import Anchor, to_be_anchored
from perfmodel.errors import AnchorError, AssumptionError, ParameterError, PerfModelError, UnmeasuredFeatureError
from perfmodel.predictions import predict_allowed
from perfmodel.ranking import RankedVariant, scatter_of, with_ties

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts
    from perfmodel.predict import FittedModel
    from perfmodel.prediction import Prediction


@dataclass(frozen=True)
class SweptPoint:
    """The variants of a kernel at one of several sizes.

    Parameters
    ----------
    sizes
        The size parameters.
    variants
        The variants that can be predicted here, the one predicted fastest first, with ties where they can be told.
    broken
        The variants whose assumptions these sizes break.
    """

    sizes: Mapping[str, int] = field(hash=False)
    variants: tuple[RankedVariant, ...]
    broken: tuple[str, ...] = ()


def sweep(
    variants: Mapping[str, KernelCounts],
    model: FittedModel,
    points: Sequence[Mapping[str, int]],
    /,
    *,
    level: float = 0.9,
    allow_unmeasured: bool = False,
    anchors: Mapping[str, Anchor] | None = None,
    leave_out: bool = False,
) -> tuple[tuple[SweptPoint, ...], dict[str, PerfModelError]]:
    """Rank variants of a kernel at each of several sizes.

    Parameters
    ----------
    variants
        Name to the counts of a variant.
    model
        A fitted model.
    points
        Size parameters by their names; every point has the same names.
    level, allow_unmeasured, anchors
        As of :func:`perfmodel.ranking.rank`.
    leave_out
        Whether a variant that cannot be predicted is left out whatever the reason; else only one that needs a feature
        that was never measured is.

    Returns
    -------
    tuple of SweptPoint
        In the order of the points.
    dict
        The error of each variant that is left out; it is at no point.

    Raises
    ------
    UnmeasuredFeatureError
        If no variant can be predicted; with `leave_out` the first error, whatever it is.
    AssumptionError
        If no point meets what any variant assumes.
    ParameterError, LevelError, AnchorError
        As of :func:`perfmodel.ranking.rank`.
    """
    found: dict[str, dict[int, RankedVariant]] = {}
    withheld: dict[str, PerfModelError] = {}
    spared = PerfModelError if leave_out else UnmeasuredFeatureError
    refused: AssumptionError | None = None
    basis = model if anchors is None else to_be_anchored(model)
    at = {name: np.array([point[name] for point in points], dtype=np.int64) for name in points[0]}
    for name, counts in variants.items():
        if anchors is not None and name not in anchors:
            raise AnchorError(name, f"there are anchors only of {', '.join(anchors) or 'nothing'}")
        try:
            kept, prediction = predict_allowed(basis, counts, at, level, allow_unmeasured)
        except AssumptionError as error:
            found[name], refused = {}, error
        except ParameterError:  # sizes are wrong for all of them
            raise
        except spared as error:
            withheld[name] = error
        else:
            if anchors is not None:
                prediction = anchors[name].applied(prediction)
            found[name] = dict(zip(kept.tolist(), _each(name, prediction, len(kept)), strict=True))
    if not any(found.values()):
        raise refused or next(iter(withheld.values()))
    scatter = scatter_of(model, anchored=anchors is not None)
    swept = []
    for place, sizes in enumerate(points):
        here = sorted((own[place] for own in found.values() if place in own), key=lambda one: one.seconds)
        broken = tuple(name for name, own in found.items() if place not in own)
        swept.append(SweptPoint(dict(sizes), with_ties(here, scatter, level), broken))
    return tuple(swept), withheld


def _each(name: str, found: Prediction, count: int) -> list[RankedVariant]:
    """Return the prediction of a variant at each of its points."""

    def numbers(value: Any) -> list[float]:
        listed: list[float] = np.broadcast_to(np.asarray(value, dtype=np.float64), (count,)).tolist()
        return listed

    seconds = numbers(found.seconds)
    terms = {term: numbers(part) for term, part in found.terms.items()}
    low, high = ([], []) if found.interval is None else (numbers(end) for end in found.interval)
    return [
        RankedVariant(
            name,
            seconds[place],
            (low[place], high[place]) if found.interval is not None else None,
            found.warnings,
            {term: part[place] for term, part in terms.items()},
            found.unmeasured,
        )
        for place in range(count)
    ]
