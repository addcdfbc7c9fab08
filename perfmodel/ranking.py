"""Which variant of a kernel is fastest, which cannot be told apart, and from which size on another is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from perfmodel.anchors import Anchor, to_be_anchored
from perfmodel.crossovers import ROUNDING, Lead, crossover
from perfmodel.documents import require
from perfmodel.errors import AnchorError, ParameterError, PerfModelError, UnmeasuredFeatureError
from perfmodel.fitting.uncertainty.conformal import check_level
from perfmodel.fitting.uncertainty.selection import difference_quantile, probabilities_of_best, smallest_set
from perfmodel.kernels.space import Space
from perfmodel.prediction_table import table
from perfmodel.predictions import predict_each
from perfmodel.processes.variants import Variant, made
from perfmodel.ranked import RankedVariant, Ranking

if TYPE_CHECKING:
    from perfmodel.fitting.uncertainty.scatter import Scatter
    from perfmodel.predict import FittedModel
    from perfmodel.prediction import Prediction
    from perfmodel.progress import Progress

__all__ = ["Lead", "RankedVariant", "Ranking", "crossover", "rank", "scatter_of", "table", "with_ties"]


def rank(
    variants: Mapping[str, Variant] | Space,
    model: FittedModel,
    sizes: Mapping[str, int] | None = None,
    /,
    *,
    level: float = 0.9,
    allow_unmeasured: bool = False,
    anchors: Mapping[str, Anchor] | None = None,
    jobs: int | None = None,
    progress: Progress | bool | None = None,
    **more_sizes: int,
) -> Ranking:
    """Return variants of a kernel, the one predicted fastest first.

    Parameters
    ----------
    variants
        Name to a Loopy ``TranslationUnit``, a function without arguments that makes one, or its counts; or a
        :class:`perfmodel.Space`.
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
    jobs
        Number of processes that build, count and predict variants, as of :func:`perfmodel.count_all`. Where it is
        given, 1 too, a variant that cannot be built, counted or predicted is left out: ``errors`` of the ranking has
        its error by its name. Else the first error is raised.
    progress
        With `jobs`, is told of each variant that is done; True for a bar on standard error.

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
    PerfModelError
        The first error, if `jobs` is given and no variant can be ranked.
    JobsError
        If `jobs` is 0 or no integer.
    """
    variants = variants.variants if isinstance(variants, Space) else variants
    require(isinstance(variants, Mapping), "rank: variants", variants, "a Space, or a mapping of names to kernels")
    require(hasattr(model, "counted"), "rank: model", model, "a fitted model, as pm.fit and pm.load return")
    require(sizes is None or isinstance(sizes, Mapping), "rank: sizes", sizes, "a mapping of names to sizes")
    at = {**(sizes or {}), **more_sizes}
    asked: dict[str, Any] = {"level": level, "allow_unmeasured": allow_unmeasured, "anchors": anchors}
    if jobs is not None:
        return rank_each(variants, model, at, jobs, progress=progress, **asked)
    ranked, withheld = rank_measured(variants, model, at, **asked)
    for error in withheld.values():
        raise error
    return with_ties(ranked, scatter_of(model, anchored=anchors is not None), level)


def rank_each(
    variants: Mapping[str, Variant],
    model: FittedModel,
    sizes: Mapping[str, int],
    jobs: int,
    *,
    level: float = 0.9,
    anchors: Mapping[str, Anchor] | None = None,
    **options: Any,
) -> Ranking:
    """Rank as :func:`rank` with `jobs`; options are those of :func:`perfmodel.predictions.predict_each`."""
    check_level(level)
    _check_one_size(sizes)
    basis = model if anchors is None else to_be_anchored(model)
    predicted = predict_each(variants, basis, sizes, jobs, level=level, **options)
    errors = {name: one for name, one in predicted.items() if isinstance(one, PerfModelError)}
    found = [_ranked(name, one, anchors) for name, one in predicted.items() if not isinstance(one, PerfModelError)]
    for error in errors.values():
        if isinstance(error, ParameterError) or not found:  # sizes are wrong for all of them
            raise error
    ranked = sorted(found, key=lambda variant: variant.seconds)
    return Ranking(with_ties(ranked, scatter_of(model, anchored=anchors is not None), level), errors)


def rank_measured(
    variants: Mapping[str, Variant],
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
    _check_one_size(sizes)
    found, withheld = [], {}
    basis = model if anchors is None else to_be_anchored(model)
    for name, kernel in variants.items():
        try:
            unit = made(name, kernel)
            one = basis.predict(unit, sizes, level=level, allow_unmeasured=allow_unmeasured)
        except UnmeasuredFeatureError as error:
            withheld[name] = error
        else:
            found.append(_ranked(name, one, anchors))
    return Ranking(sorted(found, key=lambda variant: variant.seconds)), withheld


def _check_one_size(sizes: Mapping[str, int]) -> None:
    for name, value in sizes.items():
        if np.ndim(value):
            raise ParameterError(name, "is an array; variants are ranked at one size", tuple(sizes))


def _ranked(name: str, one: Prediction, anchors: Mapping[str, Anchor] | None) -> RankedVariant:
    """Return a variant with its prediction, scaled by its anchor where there are some."""
    if anchors is not None:
        if name not in anchors:
            raise AnchorError(name, f"there are anchors only of {', '.join(anchors) or 'nothing'}")
        one = anchors[name].applied(one)
    return RankedVariant(name, one.seconds, one.interval, one.warnings, one.terms, one.unmeasured)


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
