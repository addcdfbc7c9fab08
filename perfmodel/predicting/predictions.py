"""Predictions of many variants, spread over processes; and of one variant at those of many sizes that it allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from perfmodel.counts import KernelCounts
from perfmodel.errors import AssumptionError, PerfModelError
from perfmodel.fitting.uncertainty.cautions import SuspiciousAnchor
from perfmodel.lazy import Lazy
from perfmodel.processes.counting import Counting, counted_of, counts_of
from perfmodel.processes.pool import Pool
from perfmodel.processes.variants import Variant
from perfmodel.progress import Progress

if TYPE_CHECKING:
    from loopy import TranslationUnit
    from numpy.typing import NDArray

    from perfmodel.predicting.model import FittedModel
    from perfmodel.predicting.prediction import Prediction


def predict_each(
    variants: Mapping[str, Variant],
    model: FittedModel,
    sizes: Mapping[str, Any],
    jobs: int = 1,
    *,
    level: float = 0.9,
    allow_unmeasured: bool = False,
    progress: Progress | bool | None = None,
    **options: Any,
) -> dict[str, Prediction | PerfModelError]:
    """Count and predict many variants in several processes.

    Both are done there: the first prediction of a kernel may take as long as its count. Only a model whose family is
    in a user's file predicts in this process, one variant after the other.

    Parameters
    ----------
    variants, jobs, progress
        As of :func:`perfmodel.count_all`.
    model, sizes, level, allow_unmeasured
        As of :meth:`perfmodel.predicting.model.FittedModel.predict`.
    **options
        As of :func:`perfmodel.count`; the size of sub-groups is the model's.

    Returns
    -------
    dict
        By name the prediction, or the error of a variant that cannot be built, counted or predicted.

    Raises
    ------
    JobsError
        If `jobs` is 0 or no integer.
    """
    pool = Pool(jobs, progress)
    asked = {"subgroup_size": model.fitted.subgroup_size, **options}
    plain = replace(model)  # without what it has computed, which cannot be pickled
    task = Predicting(plain, dict(sizes), level, allow_unmeasured, asked, pool.alone)
    if pool.alone or not is_in_a_file(model):
        return pool.each(task, variants, "counting and predicting")
    counted = counted_of(pool.each(Counting(asked, here=False), variants, "counting"))
    predicted = Pool(1, progress).each(task, counted, "predicting")
    return {name: predicted.get(name) or counted.errors[name] for name in variants}


@dataclass(frozen=True)
class Predicting:
    """Counts one variant and predicts it.

    Parameters
    ----------
    model, sizes, level, allow_unmeasured
        As of :func:`predict_each`.
    options
        As of :func:`perfmodel.count`.
    here
        Whether the counts stay in this process, with what the prediction computes of them.
    """

    model: FittedModel
    sizes: Mapping[str, Any]
    level: float
    allow_unmeasured: bool
    options: Mapping[str, Any]
    here: bool

    def __call__(self, kernel: TranslationUnit | KernelCounts) -> Prediction:
        """Return the prediction."""
        counts = counts_of(kernel, self.options)
        if not self.here:
            counts = replace(counts)  # those in the cache stay small
        return self.model.predict(counts, self.sizes, level=self.level, allow_unmeasured=self.allow_unmeasured)


def predict_allowed(
    model: FittedModel, counts: KernelCounts, at: Mapping[str, NDArray[np.int64]], level: float, allow_unmeasured: bool
) -> tuple[NDArray[np.int64], Prediction]:
    """Return the places of the sizes that meet a kernel's assumptions, and its prediction at them.

    Parameters
    ----------
    at
        Arrays of sizes, shape (n_sizes,).

    Raises
    ------
    AssumptionError
        If no size does.
    PerfModelError
        As of :meth:`perfmodel.predicting.model.FittedModel.predict`.
    """
    kept = np.arange(len(next(iter(at.values()))) if at else 1)
    while True:
        here = {name: values[kept] for name, values in at.items()}
        try:
            return kept, model.predict(counts, here, level=level, allow_unmeasured=allow_unmeasured)
        except AssumptionError as error:
            if not error.indices or len(error.indices) == len(kept):
                raise
            kept = np.delete(kept, list(error.indices))


def is_in_a_file(model: FittedModel) -> bool:
    """Whether the model's family is defined in a user's file, which no other process can import."""
    return model.family.definition.endswith(".py")


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
    """

    kernel: str
    device: str
    sizes: Mapping[str, int] = field(hash=False)
    measured: float
    predicted: float
    flags: tuple[str, ...] = ()

    @property
    def factor(self) -> float:
        """Measured over predicted time [1]."""
        return self.measured / self.predicted

    @property
    def cautions(self) -> tuple[SuspiciousAnchor, ...]:
        """Reasons not to trust it."""
        return (SuspiciousAnchor(self.flags),) if self.flags else ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """The cautions in words, one sentence each."""
        return tuple(map(str, self.cautions))

    def applied(self, found: Prediction) -> Prediction:
        """Scale a prediction of the same kernel, by the model that :func:`to_be_anchored` gives."""
        interval = found.interval and (self.factor * found.interval[0], self.factor * found.interval[1])
        terms = {name: self.factor * part for name, part in found.terms.items()}
        cautions = (*found.cautions, *self.cautions)
        return replace(found, seconds=self.factor * found.seconds, terms=terms, interval=interval, cautions=cautions)


@dataclass(frozen=True)
class AnchoredModel(Lazy):
    """A fitted model for one kernel, scaled by what the kernel takes at a small size.

    Parameters
    ----------
    model
        The fitted model.
    anchor
        The kernel's run.
    """

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
        r"""Predict the run time of the anchored kernel at other sizes: :math:`p \, t_a / p_a`.

        For the arguments and errors see :meth:`perfmodel.predicting.model.FittedModel.predict`. `kernel` must be the
        one that was run: the factor of another kernel says nothing about it.
        """
        at = {**(sizes or {}), **more_sizes}
        found = self._model.predict(kernel, at, level=level, allow_unmeasured=allow_unmeasured)
        return self.anchor.applied(found)

    @cached_property
    def _model(self) -> FittedModel:
        return to_be_anchored(self.model)


def to_be_anchored(model: FittedModel) -> FittedModel:
    """Return a model with the intervals of anchored predictions; without any where its weights keep no such errors."""
    errors = model.fitted.anchored
    update = {"conformal": errors.conformal if errors else None}
    return replace(model, fitted=model.fitted.model_copy(update=update))
