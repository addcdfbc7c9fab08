"""Which variant of a kernel is fastest, and which cannot be told apart: at one size, or at several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from perfmodel.display import data_frame, html_table, interval_text, percent, seconds_text
from perfmodel.documents import one_line, require
from perfmodel.errors import AnchorError, AssumptionError, ParameterError, PerfModelError, UnmeasuredFeatureError
from perfmodel.fitting.uncertainty.conformal import check_level
from perfmodel.fitting.uncertainty.selection import difference_quantile, probabilities_of_best, smallest_set
from perfmodel.kernels.space import Space
from perfmodel.predicting.crossovers import ROUNDING
from perfmodel.predicting.predictions import Anchor, predict_allowed, predict_each, to_be_anchored
from perfmodel.processes.variants import Variant, made

if TYPE_CHECKING:
    from pandas import DataFrame

    from perfmodel.counts import KernelCounts
    from perfmodel.fitting.uncertainty.cautions import Caution
    from perfmodel.fitting.uncertainty.selection import Scatter
    from perfmodel.predicting.model import FittedModel
    from perfmodel.predicting.prediction import Prediction
    from perfmodel.progress import Progress

COLUMNS = ("variant", "seconds", "low_s", "high_s", "fastest", "tied", "to_measure", "unmeasured")
"""Columns of :meth:`Ranking.to_frame`, before those of the terms."""


@dataclass(frozen=True, repr=False)
class RankedVariant:
    """A variant of a kernel with its predicted time.

    Parameters
    ----------
    name
        Name of the variant.
    seconds, interval, cautions, terms, unmeasured
        As of :class:`perfmodel.predicting.prediction.Prediction`, at one size.
    fastest
        Probability that it is the fastest of all [1]; None where the model cannot tell ties
        (:func:`perfmodel.predicting.ranking.with_ties`).
    tied
        Whether it cannot be told apart from the one predicted fastest; None likewise.
    to_measure
        Whether it is in the smallest set that holds the fastest with the probability asked for; None likewise.
    """

    name: str
    seconds: float
    interval: tuple[float, float] | None = None
    cautions: tuple[Caution, ...] = ()
    terms: Mapping[str, float] = field(default_factory=dict)
    unmeasured: tuple[str, ...] = ()
    fastest: float | None = None
    tied: bool | None = None
    to_measure: bool | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """The cautions in words, one sentence each."""
        return tuple(map(str, self.cautions))

    def __repr__(self) -> str:
        interval = f" ({interval_text(self.interval)})" if self.interval else ""
        tie = ", tied" * bool(self.tied)
        return one_line(f"<RankedVariant {self.name}: {seconds_text(self.seconds)}{interval}{tie}>")


class Ranking(tuple[RankedVariant, ...]):
    """Variants of a kernel, the one predicted fastest first: a tuple that shows itself as a table.

    Parameters
    ----------
    variants
        The variants.
    errors
        By name why others cannot be ranked (:func:`perfmodel.rank` with `jobs`).
    """

    errors: Mapping[str, PerfModelError]

    def __new__(
        cls, variants: Iterable[RankedVariant] = (), errors: Mapping[str, PerfModelError] | None = None
    ) -> Ranking:
        """Make the tuple, with the errors beside it."""
        found = super().__new__(cls, variants)
        found.errors = dict(errors or {})
        return found

    def __repr__(self) -> str:
        return one_line(f"<Ranking of {len(self)} variants, fastest first: {', '.join(one.name for one in self)}>")

    @property
    def table(self) -> list[tuple[str, ...]]:
        """A heading and a row of text for each variant; how probably it is the fastest, and ties, where known."""
        known = any(one.fastest is not None for one in self)
        rows = [("variant", "seconds", "times the best", *("fastest", "tie") * known, "interval")]
        for one in self:
            best = self[0].seconds
            times = f"{one.seconds / best:.2f}" if best > 0 else "-"
            ties = (percent(one.fastest), "tie" if one.tied else "") * known
            rows.append((one.name, seconds_text(one.seconds), times, *ties, interval_text(one.interval)))
        return rows

    def _repr_html_(self) -> str:
        """Return the ranking as a table for a notebook, warnings below it."""
        notes = [f"{one.name}: {warning}" for one in self for warning in one.warnings]
        notes += [f"{name}: {error}" for name, error in self.errors.items()]
        return html_table(self.table, "variants, the one predicted fastest first", notes)

    def to_frame(self) -> DataFrame:
        """Return a row for each variant as a pandas table, with :data:`COLUMNS` and ``term.<name>``.

        Times are in seconds.

        Raises
        ------
        MissingExtraError
            pandas is not installed.
        """
        terms = dict.fromkeys(name for one in self for name in one.terms)
        return data_frame(map(_record, self), [*COLUMNS, *(f"term.{name}" for name in terms)])


def _record(one: RankedVariant) -> dict[str, Any]:
    low, high = one.interval or (None, None)
    ties = one.fastest, one.tied, one.to_measure
    own = zip(COLUMNS, (one.name, one.seconds, low, high, *ties, " ".join(one.unmeasured)), strict=True)
    return {**dict(own), **{f"term.{name}": value for name, value in one.terms.items()}}


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
        As of :meth:`perfmodel.predicting.model.FittedModel.predict`.
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
    """Rank as :func:`rank` with `jobs`; options are those of :func:`perfmodel.predicting.predictions.predict_each`."""
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
    return RankedVariant(name, one.seconds, one.interval, one.cautions, one.terms, one.unmeasured)


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
        As of :func:`perfmodel.predicting.ranking.rank`.
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
        As of :func:`perfmodel.predicting.ranking.rank`.
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
            found.cautions,
            {term: part[place] for term, part in terms.items()},
            found.unmeasured,
        )
        for place in range(count)
    ]
