"""Rankings of a kernel's variants with ties, at one size or at several."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

import numpy as np

from perfmodel.counts.quasipoly.arguments import size_error
from perfmodel.display import DataFrame, columns_text, data_frame, html_table, interval_text, percent, seconds_text
from perfmodel.documents import one_line, require
from perfmodel.errors import PerfModelError
from perfmodel.features import HOST_LAUNCH
from perfmodel.fitting.cautions import Caution
from perfmodel.fitting.conformal import check_level
from perfmodel.fitting.selection import Scatter, difference_quantile, probabilities_of_best, smallest_set
from perfmodel.kernels.space import Space
from perfmodel.predicting.model import FittedModel
from perfmodel.predicting.prediction import Anchor, Prediction
from perfmodel.predicting.predictions import Predicting, Predictions
from perfmodel.processes.variants import Variant
from perfmodel.progress import Progress

ROUNDING = 1e-12  # largest relative difference of equal times
COLUMNS = ("variant", "seconds", "low_s", "high_s", "fastest", "tied", "to_measure", "unmeasured")
"""Keys of :meth:`RankedVariant.record`, before the terms."""


@dataclass(frozen=True, repr=False)
class RankedVariant:
    """A variant of a kernel with its prediction and its ties at one size. Unknown values of ties are None.

    `fastest` is the probability that this variant is the fastest of all [1]. `tied` is true if the variant may be as
    fast as the variant predicted fastest. `to_measure` is true if a search for the fastest should run it
    (:func:`with_ties`).
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

    @classmethod
    def of(cls, name: str, at: Prediction) -> "RankedVariant":
        """Return a variant with its prediction at one size, without ties."""
        return cls(name, at.seconds, at.interval, at.cautions, at.terms, at.unmeasured)

    @property
    def device_s(self) -> float | None:
        """The time without the launch [s], or None if the prediction has no term for the launch."""
        launch = self.terms.get(HOST_LAUNCH)
        return None if launch is None else self.seconds - launch

    @property
    def warnings(self) -> tuple[str, ...]:
        """The cautions as text, one sentence each."""
        return tuple(map(str, self.cautions))

    def record(self) -> dict[str, Any]:
        """Return the variant as a record of :data:`COLUMNS` and, for each term, ``term.<name>`` [s]."""
        of_ties = (self.fastest, self.tied, self.to_measure)
        values = (self.name, self.seconds, *(self.interval or (None, None)), *of_ties, " ".join(self.unmeasured))
        terms = {f"term.{name}": seconds for name, seconds in self.terms.items()}
        return {**dict(zip(COLUMNS, values, strict=True)), **terms}

    def __repr__(self) -> str:
        interval = f" ({interval_text(self.interval)})" if self.interval else ""
        tie = ", tied" if self.tied else ""
        return one_line(f"<RankedVariant {self.name}: {seconds_text(self.seconds)}{interval}{tie}>")


class Ranking(tuple[RankedVariant, ...]):
    """Variants of a kernel in the order of their predicted times, fastest first: a tuple that is shown as a table.

    `errors` has the errors of variants that cannot be ranked, by name (:func:`perfmodel.rank` with `jobs`). `sizes` are
    the size parameters. `broken` names the variants that do not allow these sizes by their assumptions.
    """

    errors: Mapping[str, PerfModelError]
    sizes: Mapping[str, int]
    broken: tuple[str, ...]

    def __new__(
        cls, variants: Iterable[RankedVariant] = (), errors: Mapping[str, PerfModelError] | None = None,
        sizes: Mapping[str, int] | None = None, broken: Iterable[str] = ()
    ) -> "Ranking":  # fmt: skip
        """Make the tuple and set the attributes."""
        ranking = super().__new__(cls, variants)
        ranking.errors, ranking.sizes, ranking.broken = dict(errors or {}), dict(sizes or {}), tuple(broken)
        return ranking

    def __repr__(self) -> str:
        names = ", ".join(variant.name for variant in self)
        return one_line(f"<Ranking of {len(self)} variants, fastest first: {names}>")

    def __str__(self) -> str:
        return columns_text(self.table)

    @property
    def table(self) -> list[tuple[str, ...]]:
        """A row of headings, and a row of text for each variant. Probabilities and ties are shown if known."""
        known = any(variant.fastest is not None for variant in self)
        rows = [("variant", "seconds", "times the best", *(("fastest", "tie") if known else ()), "interval")]
        for variant in self:
            best = self[0].seconds
            times = f"{variant.seconds / best:.2f}" if best > 0 else "-"
            ties = (percent(variant.fastest), "tie" if variant.tied else "") if known else ()
            rows.append((variant.name, seconds_text(variant.seconds), times, *ties, interval_text(variant.interval)))
        return rows

    def _repr_html_(self) -> str:
        notes = [f"{variant.name}: {warning}" for variant in self for warning in variant.warnings]
        notes += [f"{name}: {error}" for name, error in self.errors.items()]
        return html_table(self.table, "variants, the one predicted fastest first", notes)

    def to_frame(self) -> DataFrame:
        """Return a pandas table with a row for each variant. Times are in seconds, and each term is ``term.<name>``."""
        rows = [variant.record() for variant in self]
        return data_frame(rows, list(dict.fromkeys(name for row in rows for name in row)) or list(COLUMNS))


def rank(
    variants: Mapping[str, Variant] | Space, model: FittedModel, sizes: Mapping[str, int] | None = None, /, *,
    level: float = 0.9, allow_unmeasured: bool = False, anchors: Mapping[str, Anchor] | None = None,
    jobs: int | None = None, progress: Progress | bool | None = None, strict: bool = False, **more_sizes: int
) -> Ranking:  # fmt: skip
    """Rank variants of a kernel by predicted time, the fastest first. If weights have the scatter of errors, mark ties.

    Parameters
    ----------
    variants
        A :class:`perfmodel.Space`, or each variant by name. A variant is a Loopy ``TranslationUnit``, a function
        without arguments that makes a unit, or its counts.
    model, allow_unmeasured, strict
        As in :meth:`perfmodel.predicting.model.FittedModel.predict`, also for the errors that are raised.
    sizes, **more_sizes
        The size parameters, integers.
    level
        Probability with which an interval contains the measured time, and the variants to measure contain the fastest.
    anchors
        A run of each variant by name, which scales its prediction (:func:`perfmodel.tuning.anchor_variants`).
    jobs, progress
        As in :func:`perfmodel.count_all`. If `jobs` is given, even 1, a variant with an error is left out, and its
        error is in ``errors`` of the ranking. Otherwise the first error is raised.
    """
    variants = variants.variants if isinstance(variants, Space) else variants
    named = isinstance(variants, Mapping) and all(isinstance(name, str) for name in variants)
    require(named, "rank: variants", variants, "a Space, or a mapping of names to kernels")
    require(hasattr(model, "counted"), "rank: model", model, "a fitted model, as pm.fit and pm.load return")
    require(sizes is None or isinstance(sizes, Mapping), "rank: sizes", sizes, "a mapping of names to sizes")
    at = {**(sizes or {}), **more_sizes}
    for name, value in at.items():
        if np.ndim(value):
            raise size_error(name, "is an array; variants are ranked at one size", tuple(at))
    skipped = () if jobs is None else PerfModelError
    model = replace(model, strict=True) if strict else model
    asked = Predicting(model, level, allow_unmeasured, anchors, skipped, jobs=jobs, progress=progress)
    (ranking,) = rankings(asked.predicted(variants, at).required())
    return ranking


def rankings(predictions: Predictions) -> tuple[Ranking, ...]:
    """Return the ranking at each of the sizes, with ties (:func:`with_ties`)."""
    columns = [
        [RankedVariant.of(name, prediction) if allowed else name for allowed, prediction in variant.at_each_size()]
        for name, variant in predictions.variants.items()
    ]
    ranked = []
    for sizes, *here in zip(predictions.points, *columns, strict=True):
        variants = [variant for variant in here if isinstance(variant, RankedVariant)]
        tied = with_ties(sorted(variants, key=attrgetter("seconds")), predictions.scatter, predictions.level)
        ranked.append(Ranking(tied, predictions.errors, sizes, (name for name in here if isinstance(name, str))))
    return tuple(ranked)


def with_ties(ranked: Sequence[RankedVariant], scatter: Scatter | None, level: float = 0.9) -> Ranking:
    r"""Return ranked variants with the probability that each is the fastest, and the ties.

    Errors :math:`\sigma e_i` of log times are independent. A variant is *tied* with the variant predicted fastest if it
    is truly faster with a probability above one minus the level. This is :math:`\log(p_i/p_1) < \sigma q`, with
    :math:`q` the quantile of :math:`e_1 - e_i` at the level. The variants *to measure* are the first in predicted order
    that contain the fastest with the probability `level` (:mod:`perfmodel.fitting.selection`). Without a scatter, or if
    a predicted time is not positive and finite, ties are unknown.
    """
    check_level(level)
    seconds = np.array([variant.seconds for variant in ranked], dtype=np.float64)
    if scatter is None or not ranked or not np.all((seconds > 0) & np.isfinite(seconds)):
        return Ranking(ranked)
    chances = probabilities_of_best(seconds, scatter.deviation, scatter.freedom)
    count = smallest_set(chances, level)
    limit = scatter.deviation * difference_quantile(scatter.freedom, level)
    near = np.log(seconds / seconds[0]) < limit + ROUNDING
    near[0] = near[1:].any()
    return Ranking(
        replace(variant, fastest=float(chance), tied=bool(tied), to_measure=number < count)
        for number, (variant, chance, tied) in enumerate(zip(ranked, chances, near, strict=True))
    )
