"""Predictions of many variants of a kernel at many sizes, made by one path in one process or in several.

:class:`Predicting` holds the settings, and its ``predicted(variants, sizes)`` gives :class:`Predictions`. Rankings,
crossovers and tables are views of these. One run of each variant may anchor its predictions (:class:`Anchor`).
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from perfmodel.counts import KernelCounts, count
from perfmodel.counts.quasipoly.arguments import check_exact, size_error
from perfmodel.counts.unused import statistics_of_variants
from perfmodel.errors import AssumptionError, PerfModelError, SizeError, not_anchored
from perfmodel.fitting.anchored import Anchored
from perfmodel.fitting.cautions import SuspiciousAnchor
from perfmodel.fitting.conformal import WIDEST, check_level, scaled
from perfmodel.fitting.selection import Scatter
from perfmodel.kernels.files import built
from perfmodel.predicting.model import FittedModel, Prediction
from perfmodel.processes.counting import Counting
from perfmodel.processes.pool import Pool
from perfmodel.processes.variants import Variant, attempt
from perfmodel.progress import FailedStep, Progress, shown, task as reported
from perfmodel.values import FrozenValue

if TYPE_CHECKING:
    from loopy import TranslationUnit

ROWS = 50_000
"""Sizes of all variants that travel between processes at once, about."""
TITLE = "counting and predicting"
#: Every size by its name: an integer, or of several sizes an array, shape (n_sizes,).
Sizes: TypeAlias = Mapping[str, Any]


def columns_of(sizes: Sizes) -> dict[str, NDArray[np.int64]]:
    """Return the sizes as arrays of one length; an integer beside arrays stands at each of their places."""
    for name, values in sizes.items():
        check_exact(name, values, tuple(sizes))
    arrays = {name: np.atleast_1d(np.asarray(values)) for name, values in sizes.items()}
    for name, values in arrays.items():
        if values.size and values.dtype.kind not in "iu":  # an empty list has no integers to be told by
            raise size_error(name, f"holds {values.dtype.name}, and no integers", tuple(sizes))
    try:
        shape = np.broadcast_shapes(*(values.shape for values in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {values.shape}" for name, values in arrays.items())
        problem = f"has a shape that does not fit the others ({shapes})"
        raise size_error(next(iter(arrays)), problem, tuple(arrays)) from None
    return {name: np.broadcast_to(values, shape).ravel().astype(np.int64) for name, values in arrays.items()}


def length_of(sizes: Sizes) -> int:
    """Return how many sizes there are; a kernel without size parameters has one."""
    return max((np.size(values) for values in sizes.values()), default=1)


def together(points: Sequence[Mapping[str, int]]) -> dict[str, Any]:
    """Return points as one array of sizes for each name.

    Examples
    --------
    >>> together([{"n": 8}, {"n": 16}])
    {'n': array([ 8, 16])}
    """
    return {name: np.array([point[name] for point in points], dtype=np.int64) for name in points[0]}


# {{{ the values

@dataclass(frozen=True, eq=False)
class Predicted:
    """One variant at all sizes.

    Parameters
    ----------
    prediction
        Its prediction: numbers, or arrays of shape (n_sizes,), NaN where ``allowed`` is false.
    allowed
        At which sizes the kernel's assumptions hold, shape (n_sizes,).
    problem
        Why there is no prediction at the others; an empty text where there is one at all.
    broken
        The error of the last size that breaks an assumption, where no size is allowed of those that were predicted at
        once.
    counts
        The variant's counts, where they were made in this process.
    """

    prediction: Prediction
    allowed: NDArray[np.bool_]
    problem: str = ""
    broken: AssumptionError | None = None
    counts: KernelCounts | None = None

    def at_each_size(self) -> Iterator[tuple[bool, Prediction]]:
        """Yield whether each size is allowed, with the prediction there."""
        return zip(self.allowed.tolist(), self.prediction.at_each_size(), strict=True)


@dataclass(frozen=True, eq=False)
class Predictions(FrozenValue):
    """Variants of a kernel at sizes.

    Parameters
    ----------
    sizes
        The size parameters.
    variants
        By name each variant that can be predicted, in the order given.
    errors
        By name why others cannot be.
    level
        Probability of the intervals.
    scatter
        How errors scatter between these variants (:func:`scatter_of`); None where the weights do not say.
    anchors
        The runs that scale the predictions, by name; empty without them.
    """

    sizes: Sizes
    variants: Mapping[str, Predicted]
    errors: Mapping[str, PerfModelError] = field(default_factory=dict)
    level: float = 0.9
    scatter: Scatter | None = None
    anchors: Mapping[str, Anchor] = field(default_factory=dict)

    @cached_property
    def points(self) -> tuple[dict[str, int], ...]:
        """Each of the sizes."""
        if not any(np.ndim(values) for values in self.sizes.values()):
            return (dict(self.sizes),)
        columns = (np.asarray(values).tolist() for values in self.sizes.values())
        return tuple(dict(zip(self.sizes, point, strict=True)) for point in zip(*columns, strict=True))

    @property
    def counts(self) -> dict[str, KernelCounts]:
        """The counts of the variants by name, of those that were counted in this process."""
        return {name: variant.counts for name, variant in self.variants.items() if variant.counts is not None}

    def required(self) -> Predictions:
        """Return this where any variant has a prediction at any size.

        Raises
        ------
        PerfModelError
            Why there is none: that all sizes break an assumption, or else the first error.
        """
        if not any(variant.allowed.any() for variant in self.variants.values()):
            broken = (variant.broken for variant in self.variants.values() if variant.broken is not None)
            for error in (*broken, *self.errors.values()):
                raise error
        return self

# }}}


# {{{ the path

@dataclass(frozen=True)
class Predicting:
    """How variants of a kernel are counted and predicted.

    Parameters
    ----------
    model
        A fitted model.
    level, allow_unmeasured
        As of :meth:`perfmodel.predicting.model.FittedModel.predict`.
    anchors
        By the name of each variant a run of it, by which its prediction is scaled.
    spared
        Errors that leave a variant out; any other is raised.
    jobs, progress
        As of :func:`perfmodel.count_all`; None for this process, in which a variant's own function may raise anything.
    options
        As of :func:`perfmodel.count`; the size of sub-groups is the model's unless it is given.

    Examples
    --------
    ::

        made = Predicting(model, spared=PerfModelError, jobs=-1).predicted(variants, {"n": numpy.array([256, 512])})
        made.variants["tiled"].prediction.seconds, made.errors
    """

    model: FittedModel
    level: float = 0.9
    allow_unmeasured: bool = False
    anchors: Mapping[str, Anchor] | None = None
    spared: type[PerfModelError] | tuple[type[PerfModelError], ...] = ()
    jobs: int | None = None
    progress: Progress | bool | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @statistics_of_variants()
    def predicted(self, variants: Mapping[str, Variant], sizes: Sizes) -> Predictions:
        """Return all variants at all sizes.

        Raises
        ------
        LevelError
            If the level is not between 0 and 1.
        SizeError
            If sizes are left out, unknown, negative or no integers: they are wrong for all variants.
        PerfModelError
            The first error that is not spared.
        AnchorError
            If there are anchors, and none of a variant.
        """
        check_level(self.level)
        if any(map(np.ndim, sizes.values())):
            sizes = columns_of(sizes)
        outcomes = dict(self.stream(variants, sizes))
        good = {name: outcome for name, outcome in outcomes.items() if isinstance(outcome, Predicted)}
        errors = {name: outcome for name, outcome in outcomes.items() if isinstance(outcome, PerfModelError)}
        scatter = scatter_of(
            self.model, [variant.prediction for variant in good.values()], anchored=self.anchors is not None
        )
        return Predictions(dict(sizes), good, errors, self.level, scatter, self.anchors or {})

    def stream(
        self, variants: Mapping[str, Variant], sizes: Sizes, rows: int | None = None
    ) -> Generator[tuple[str, Predicted | PerfModelError], None, None]:
        """Yield each variant with its prediction or its error, in their order, as soon as it is there.

        Several sizes are given as :func:`columns_of` returns them. With `rows` so many sizes are predicted at once, and
        terms are left out: memory for a long table is small. For the errors that are raised see :meth:`predicted`.
        """
        model = self.model if self.anchors is None else to_be_anchored(self.model)
        asked = replace(self, model=model, anchors=None, progress=None)
        task = _Task(asked, sizes, rows, here=rows is None and self.jobs in (None, 1))
        with closing(self._outcomes(task, variants)) as outcomes:
            for name, outcome in outcomes:
                if isinstance(outcome, Predicted):
                    yield name, self._anchored(name, outcome)
                elif isinstance(outcome, SizeError):
                    raise outcome
                elif isinstance(outcome, self.spared):
                    yield name, outcome
                else:
                    raise outcome

    def _outcomes(
        self, task: _Task, variants: Mapping[str, Variant]
    ) -> Generator[tuple[str, Predicted | PerfModelError], None, None]:
        """Yield what comes of each variant, made by this process or by several."""
        if self.jobs is None:
            with reported(progress := shown(self.progress), TITLE, len(variants)):
                for name in variants:
                    outcome: Predicted | PerfModelError
                    try:
                        outcome = task(built(name, variants[name]))
                    except PerfModelError as error:
                        outcome = error
                    progress.advance(FailedStep(name, outcome) if isinstance(outcome, PerfModelError) else name)
                    yield name, outcome
            return
        pool = Pool(self.jobs, self.progress)
        if pool.alone or not self.model.family.definition.endswith(".py"):
            most = max(1, (task.rows or ROWS) // max(1, length_of(task.sizes)))
            yield from pool.stream(task, variants, TITLE, most)
            return
        # no other process can import a family that is in a user's file: they count, and this one predicts
        with closing(pool.stream(Counting(self._counting, here=False), variants, TITLE)) as counted:
            for name, counts in counted:
                failed = isinstance(counts, PerfModelError)
                yield name, counts if failed else attempt(task, name, KernelCounts.from_json(json.loads(counts)))

    def _anchored(self, name: str, plain: Predicted) -> Predicted:
        if self.anchors is None:
            return plain
        if name not in self.anchors:
            raise not_anchored(name, f"there are anchors only of {', '.join(self.anchors) or 'nothing'}")
        return replace(plain, prediction=self.anchors[name].applied(plain.prediction))

    @property
    def _counting(self) -> dict[str, Any]:
        return {"subgroup_size": self.model.fitted.subgroup_size, **self.options}

    def _prediction(self, counts: KernelCounts, sizes: Sizes) -> Prediction:
        return self.model.predict(counts, sizes, level=self.level, allow_unmeasured=self.allow_unmeasured)


@dataclass(frozen=True)
class _Task:
    """Counts and predicts one variant; with `rows`, so many sizes at once and without terms.

    Only where the task is done `here`, in this process, the counts are kept with what the prediction computes of them.
    """

    asked: Predicting
    sizes: Sizes
    rows: int | None
    here: bool

    def __call__(self, kernel: TranslationUnit | KernelCounts) -> Predicted:
        """Return the variant at all sizes."""
        counts = kernel if isinstance(kernel, KernelCounts) else count(kernel, **self.asked._counting)
        if not self.here:
            counts = replace(counts)  # those in the cache stay small
        kept = counts if self.here else None
        if not any(map(np.ndim, self.sizes.values())):
            return Predicted(self.asked._prediction(counts, self.sizes), np.ones(1, dtype=bool), counts=kept)
        length = length_of(self.sizes)
        rows = self.rows or max(1, length)
        allowed, broken, parts = np.zeros(length, dtype=bool), None, []
        for first in range(0, length, rows):
            try:
                places, prediction = self._where_allowed(counts, np.arange(first, min(first + rows, length)))
            except AssumptionError as error:
                broken = error
            else:
                allowed[places] = True
                parts.append((places, prediction if self.rows is None else replace(prediction, terms={}, sizes={})))
        problem = "" if allowed.all() else f"breaks the kernel's assumptions {counts.assumptions}"
        return Predicted(self._joined(parts, length), allowed, problem, broken, kept)

    def _where_allowed(self, counts: KernelCounts, places: NDArray[np.int64]) -> tuple[NDArray[np.int64], Prediction]:
        """Return those of the places whose sizes meet the kernel's assumptions, and the prediction there."""
        while True:
            try:
                at = {name: values[places] for name, values in self.sizes.items()}
                return places, self.asked._prediction(counts, at)
            except AssumptionError as error:
                if not error.indices or len(error.indices) == len(places):
                    raise
                places = np.delete(places, list(error.indices))

    def _joined(self, parts: Sequence[tuple[NDArray[np.int64], Prediction]], length: int) -> Prediction:
        """Return one prediction at all sizes of those of some."""

        def column(values: Iterator[Any]) -> NDArray[np.float64]:
            whole = np.full(length, np.nan)
            for (places, _), value in zip(parts, values, strict=True):
                whole[places] = value
            return whole

        first = parts[0][1] if parts else Prediction(np.nan, {})
        bounds = first.interval and (
            column(part.interval[0] for _, part in parts if part.interval),
            column(part.interval[1] for _, part in parts if part.interval),
        )
        return replace(
            first, seconds=column(part.seconds for _, part in parts), interval=bounds, sizes=self.sizes,
            terms={name: column(part.terms[name] for _, part in parts) for name in first.terms},
            cautions=tuple(dict.fromkeys(caution for _, part in parts for caution in part.cautions)),
            unmeasured=tuple(dict.fromkeys(name for _, part in parts for name in part.unmeasured)),
        )  # fmt: skip

# }}}


# {{{ anchors

@dataclass(frozen=True)
class Anchor:
    """A kernel's measured and predicted time at one size.

    Parameters
    ----------
    kernel
        Name of the kernel, or of its variant.
    device
        Name of the device on which it ran.
    sizes
        Its size parameters.
    measured
        Measured time [s]: the minimum of one visit, or of some where the first was suspicious.
    predicted
        Predicted time [s], above zero.
    flags
        Words for what is suspicious about the measured time (:mod:`perfmodel.measuring.timing`).
    errors
        What the weights keep of anchored predictions; None where they keep nothing.
    """

    kernel: str
    device: str
    sizes: Mapping[str, int] = field(hash=False)
    measured: float
    predicted: float
    flags: tuple[str, ...] = ()
    errors: Anchored | None = field(default=None, repr=False, compare=False)

    @property
    def factor(self) -> float:
        """Measured over predicted time [1]."""
        return self.measured / self.predicted

    @property
    def scale(self) -> float:
        """What predictions at other sizes are multiplied by [1] (:mod:`perfmodel.fitting.anchored`)."""
        return float(self.factor ** (self.errors.carried if self.errors else 1.0))

    @property
    def cautions(self) -> tuple[SuspiciousAnchor, ...]:
        """Reasons not to trust it."""
        return (SuspiciousAnchor(self.flags),) if self.flags else ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """The cautions in words, one sentence each."""
        return tuple(map(str, self.cautions))

    def applied(self, plain: Prediction) -> Prediction:
        """Scale a prediction of the same kernel, by the model that :func:`to_be_anchored` gives.

        At the anchor's own sizes it is the measured time, and the interval is that of the noise.
        """
        here = np.logical_and.reduce([np.asarray(plain.sizes.get(name)) == size for name, size in self.sizes.items()])
        by: Any = np.where(here, self.factor, self.scale)[()]
        seconds, interval = by * plain.seconds, plain.interval
        if interval is not None:
            interval = by * interval[0], by * interval[1]
            if self.errors and self.errors.noise:
                noise = scaled(seconds, self.errors.noise.quantile(plain.level))
                interval = tuple(np.where(here, *bounds)[()] for bounds in zip(noise, interval, strict=True))
        terms = {name: by * part for name, part in plain.terms.items()}
        cautions = (*plain.cautions, *self.cautions)
        return replace(plain, seconds=seconds, terms=terms, interval=interval, cautions=cautions)


@dataclass(frozen=True)
class AnchoredModel(FrozenValue):
    """A fitted model for one kernel, scaled by what the kernel takes at a small size: the anchor."""

    model: FittedModel
    anchor: Anchor

    def predict(
        self,
        kernel: Any,
        sizes: Mapping[str, Any] | None = None,
        /,
        *,
        level: float = 0.9,
        allow_unmeasured: bool = False,
        **more_sizes: Any,
    ) -> Prediction:
        r"""Predict the run time of the anchored kernel at other sizes: :math:`p \, (t_a / p_a)^b`.

        For the arguments and errors see :meth:`perfmodel.predicting.model.FittedModel.predict`. `kernel` must be the
        one that was run: the factor of another kernel says nothing about it.
        """
        at = {**(sizes or {}), **more_sizes}
        return self.anchor.applied(self._model.predict(kernel, at, level=level, allow_unmeasured=allow_unmeasured))

    @cached_property
    def _model(self) -> FittedModel:
        return to_be_anchored(self.model)


def to_be_anchored(model: FittedModel) -> FittedModel:
    """Return a model with the intervals of anchored predictions; without any where its weights keep no such errors."""
    errors = model.fitted.anchored
    update = {"conformal": errors.conformal if errors else None}
    return replace(model, fitted=model.fitted.model_copy(update=update))


def scatter_of(
    model: FittedModel, predictions: Iterable[Prediction] = (), anchored: bool = False
) -> Scatter | None:
    r"""Return how a model's errors scatter between variants of one kernel; None where its weights do not say.

    Its scale is that of kernels of groups left out, and more where predictions rest on what is known less: times the
    geometric mean of their scales :math:`\sigma` (:mod:`perfmodel.fitting.local_scale`) where that is above 1. Of 147
    kernels at some size on a CPU by PoCL, half of the errors between variants differ by up to 7 % where
    :math:`\sigma` is below 0.7, by 34 % where it is 1 to 1.5.
    """
    if anchored:
        scatter, model = model.fitted.anchored.scatter if model.fitted.anchored else None, to_be_anchored(model)
    else:
        scatter = model.fitted.scatter
    if scatter is None:
        return None
    every = [np.ravel(model.local_scale(prediction)) for prediction in predictions]
    scales = np.concatenate([np.ones(0), *every])
    scales = scales[np.isfinite(scales) & (scales > 0)]
    growth = float(np.exp(np.log(scales).mean())) if len(scales) else 1.0
    return scatter.model_copy(update={"deviation": min(scatter.deviation * max(growth, 1.0), WIDEST)})

# }}}
