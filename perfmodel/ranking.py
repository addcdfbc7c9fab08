"""Which variant of a kernel is fastest, which cannot be told apart, and from which size on another is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from perfmodel.anchors import Anchor, to_be_anchored
from perfmodel.errors import AnchorError, AssumptionError, NoCommonSizeError, ParameterError, UnmeasuredFeatureError
from perfmodel.fitting.uncertainty.conformal import check_level
from perfmodel.fitting.uncertainty.selection import difference_quantile, probabilities_of_best, smallest_set
from perfmodel.ranked import RankedVariant as RankedVariant
from perfmodel.ranked import Ranking

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts
    from perfmodel.fitting.uncertainty.scatter import Scatter
    from perfmodel.predict import FittedModel

Sizes: TypeAlias = npt.NDArray[np.int64]
Winners: TypeAlias = npt.NDArray[np.bool_]

WINDOW = 1 << 16
"""Number of sizes at each end of a range that are tested against the variants' assumptions."""
EXHAUSTIVE = 1 << 17
"""Largest number of sizes that are all compared; more sizes are compared on a geometric grid."""
GRID = 1 << 14
"""Number of sizes in that grid."""
PARTS = 1 << 10
"""Number of sizes that one refinement compares between two neighbours with different winners."""
ROUNDING = 1e-12
"""Relative difference of two times below which neither is faster."""


@dataclass(frozen=True)
class Lead:
    """Sizes from `low` to `high` at which the variant `name` is the faster of two."""

    name: str
    low: int
    high: int


def rank(
    variants: Mapping[str, Any],
    model: FittedModel,
    sizes: Mapping[str, int] | None = None,
    /,
    *,
    level: float = 0.9,
    allow_unmeasured: bool = False,
    anchors: Mapping[str, Anchor] | None = None,
    **more_sizes: int,
) -> Ranking:
    """Return variants of a kernel, the one predicted fastest first.

    Parameters
    ----------
    variants
        Name to a Loopy ``TranslationUnit`` or its counts.
    model
        A fitted model.
    sizes, **more_sizes
        The size parameters, integers.
    level
        Probability of intervals, and that the variants to measure hold the fastest.
    allow_unmeasured
        As of :meth:`perfmodel.predict.FittedModel.predict`.
    anchors
        By the name of each variant a run of it, by which its prediction is scaled
        (:func:`perfmodel.tuning.anchor_variants`).

    Returns
    -------
    Ranking
        A tuple of RankedVariant that shows itself as a table; with ties, where the model's weights keep how its errors
        scatter (:func:`with_ties`).

    Raises
    ------
    UnmeasuredFeatureError
        If a variant needs a feature that no measurement exercised.
    ParameterError, AssumptionError
        If a size is left out, unknown, no integer, or not one that a variant assumes.
    AnchorError
        If anchors are given, and none for some variant.
    """
    at = {**(sizes or {}), **more_sizes}
    asked: dict[str, Any] = {"level": level, "allow_unmeasured": allow_unmeasured, "anchors": anchors}
    ranked, withheld = rank_measured(variants, model, at, **asked)
    for error in withheld.values():
        raise error
    return with_ties(ranked, scatter_of(model, anchored=anchors is not None), level)


def rank_measured(
    variants: Mapping[str, Any],
    model: FittedModel,
    sizes: Mapping[str, int],
    /,
    *,
    level: float = 0.9,
    allow_unmeasured: bool = False,
    anchors: Mapping[str, Anchor] | None = None,
) -> tuple[Ranking, dict[str, UnmeasuredFeatureError]]:
    """Rank as :func:`rank`, and return the error of each variant that needs unmeasured features beside it.

    Ties are for :func:`with_ties`, once all variants are ranked.
    """
    for name, value in sizes.items():
        if np.ndim(value):
            raise ParameterError(name, "is an array; variants are ranked at one size", tuple(sizes))
    found, withheld = [], {}
    basis = model if anchors is None else to_be_anchored(model)
    for name, kernel in variants.items():
        try:
            one = basis.predict(kernel, sizes, level=level, allow_unmeasured=allow_unmeasured)
        except UnmeasuredFeatureError as error:
            withheld[name] = error
        else:
            if anchors is not None:
                if name not in anchors:
                    raise AnchorError(name, f"there are anchors only of {', '.join(anchors) or 'nothing'}")
                one = anchors[name].applied(one)
            found.append(RankedVariant(name, one.seconds, one.interval, one.warnings, one.terms, one.unmeasured))
    return Ranking(sorted(found, key=lambda variant: variant.seconds)), withheld


def scatter_of(model: FittedModel, anchored: bool = False) -> Scatter | None:
    """Return how a model's errors scatter between variants of one kernel; None where its weights do not say."""
    if anchored:
        return model.fitted.anchored.scatter if model.fitted.anchored else None
    return model.fitted.scatter


def with_ties(
    ranked: Sequence[RankedVariant], scatter: Scatter | None, level: float = 0.9
) -> Ranking:
    r"""Return ranked variants with the probability that each is the fastest, and the ties.

    Of independent errors :math:`\sigma e_i` of the log times, a variant is *tied* with the one predicted fastest if it
    is faster in truth with a probability above one minus the level: :math:`\log(p_i/p_1) < \sigma q` with :math:`q` the
    quantile of :math:`e_1 - e_i` at the level. The variants *to measure* are the first in predicted order that hold the
    fastest with the probability `level` (:mod:`perfmodel.fitting.uncertainty.selection`).

    Without a scatter, or where a predicted time is not above zero or not finite, nothing is said of ties.

    Raises
    ------
    LevelError
        If the level is not between 0 and 1.
    """
    check_level(level)
    seconds = np.array([one.seconds for one in ranked], dtype=np.float64)
    if scatter is None or not ranked or not np.all((seconds > 0) & np.isfinite(seconds)):
        return Ranking(ranked)
    chances = probabilities_of_best(seconds, scatter.deviation, scatter.freedom)
    count = smallest_set(chances, level)
    limit = scatter.deviation * difference_quantile(scatter.freedom, level)
    near = np.log(seconds / seconds[0]) < limit + ROUNDING
    near[0] = near[1:].any()
    return Ranking(
        replace(one, fastest=float(chance), tied=bool(tied), to_measure=place < count)
        for place, (one, chance, tied) in enumerate(zip(ranked, chances, near, strict=True))
    )


def crossover(
    a: Any,
    b: Any,
    model: FittedModel,
    parameter: str,
    low: int,
    high: int,
    fixed: Mapping[str, int] | None = None,
    /,
    *,
    names: tuple[str, str] = ("a", "b"),
    allow_unmeasured: bool = False,
    **more_fixed: int,
) -> tuple[Lead, ...]:
    """Return which of two variants is faster from which size on, over a range of sizes.

    The times are evaluated from the kernels' symbolic counts at all sizes of the range that meet the assumptions
    of both variants. If these are more than 131072, they are evaluated at 16384 sizes in geometric steps first,
    and then between neighbours with different winners until no size is left between them. So each change is
    found exactly, except where two changes lie between neighbours of the grid. Assumptions may repeat
    after at most 65536 sizes.

    Parameters
    ----------
    a, b
        Loopy ``TranslationUnit`` values, or their counts (``pm.count``), which is quicker.
    model
        A fitted model.
    parameter, low, high
        The size parameter that varies, and its range, both ends included.
    fixed, **more_fixed
        The other size parameters.
    names
        Names of the variants.
    allow_unmeasured
        Whether features that no measurement exercised may be counted as free.

    Returns
    -------
    tuple of Lead
        In order of the sizes. Where the times are equal, the variant that led before keeps the lead; at the
        lowest size the first variant leads.

    Raises
    ------
    NoCommonSizeError
        If no size in the range meets what both variants assume.
    UnmeasuredFeatureError, ParameterError
        As of :meth:`perfmodel.predict.FittedModel.predict`.
    """
    others = {**(fixed or {}), **more_fixed}
    pair = _Pair(model.counted(a), model.counted(b), model, parameter, others, allow_unmeasured)
    lattice = _lattice(pair, low, high)
    if len(lattice) <= EXHAUSTIVE:
        places = np.arange(len(lattice))
    else:
        places = np.unique(np.geomspace(1, len(lattice), GRID).astype(np.int64) - 1)
    tried = lattice.start + lattice.step * places
    sizes, b_leads = pair.compared(tried)
    while len(added := np.setdiff1d(_between(tried, sizes, b_leads, lattice.step), tried)):
        tried = np.union1d(tried, added)
        sizes, b_leads = pair.compared(np.union1d(sizes, added))
    return _leads(sizes, b_leads, names)


@dataclass(frozen=True, eq=False)
class _Pair:
    a: KernelCounts
    b: KernelCounts
    model: FittedModel
    parameter: str
    fixed: Mapping[str, int]
    allow_unmeasured: bool

    def compared(self, sizes: Sizes) -> tuple[Sizes, Winners]:
        """Return the sizes that meet the assumptions of both variants, and whether b leads at each."""
        while len(sizes):
            try:
                return sizes, self._b_leads({**self.fixed, self.parameter: sizes})
            except AssumptionError as error:
                if not error.indices:
                    raise
                sizes = np.delete(sizes, error.indices)
        return sizes, np.zeros(0, np.bool_)

    def _b_leads(self, at: Mapping[str, Any]) -> Winners:
        one, other = (
            self.model.predict(kernel, at, allow_unmeasured=self.allow_unmeasured).seconds
            for kernel in (self.a, self.b)
        )
        difference, margin = one - other, ROUNDING * np.maximum(np.abs(one), np.abs(other))
        # With equal times the winner is that of the last smaller size with different times.
        decided = np.where(np.abs(difference) > margin, np.arange(len(difference)), 0)
        winners: Winners = (difference > margin)[np.maximum.accumulate(decided)]
        return winners


def _lattice(pair: _Pair, low: int, high: int) -> range:
    """Return equally spaced sizes that include all sizes which meet the assumptions of both variants."""
    ends = [
        np.arange(low, min(high, low + WINDOW) + 1, dtype=np.int64),
        np.arange(max(low, high - WINDOW), high + 1, dtype=np.int64),
    ]
    known = np.unique(np.concatenate([pair.compared(sizes)[0] for sizes in ends]))
    if len(known) == 0:
        assumptions = tuple(dict.fromkeys((pair.a.assumptions, pair.b.assumptions)))
        raise NoCommonSizeError(pair.parameter, low, high, assumptions)
    step = int(np.gcd.reduce(np.diff(known))) or 1
    return range(int(known[0]) - (int(known[0]) - low) // step * step, high + 1, step)


def _between(tried: Sizes, sizes: Sizes, b_leads: Winners, step: int) -> Sizes:
    """Return sizes between neighbours with different winners, and beyond the first and the last valid size."""
    changes = np.flatnonzero(b_leads[1:] != b_leads[:-1])
    gaps = list(zip(sizes[changes].tolist(), sizes[changes + 1].tolist(), strict=True))
    gaps += [(int(below), int(sizes[0])) for below in tried[tried < sizes[0]][-1:]]
    gaps += [(int(sizes[-1]), int(above)) for above in tried[tried > sizes[-1]][:1]]
    parts = [np.zeros(0, np.int64)]
    for low, high in gaps:
        count = (high - low) // step
        parts.append(low + step * np.linspace(0, count, min(count, PARTS) + 1).astype(np.int64))
    return np.unique(np.concatenate(parts))


def _leads(sizes: Sizes, b_leads: Winners, names: tuple[str, str]) -> tuple[Lead, ...]:
    starts = [0, *(np.flatnonzero(b_leads[1:] != b_leads[:-1]) + 1).tolist(), len(sizes)]
    return tuple(Lead(names[int(b_leads[i])], int(sizes[i]), int(sizes[end - 1])) for i, end in pairwise(starts))
