"""Fitted models: seconds for a kernel at given sizes, and what they are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from perfmodel import features
from perfmodel.errors import UnmeasuredFeatureError
from perfmodel.families import Family, find_family
from perfmodel.fit import FittedWeights, fit_weights, read_weights

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts
    from perfmodel.store import Measurements


@dataclass(frozen=True, eq=False)
class Prediction:
    """The run time of a kernel as a model sees it.

    Parameters
    ----------
    seconds
        Run time [s]: a float, or a float64 array of the sizes' shape.
    terms
        Feature name to the seconds that it contributes, of the same shape. They add up to
        ``seconds`` where the family is additive.
    interval
        Lower and upper bound [s] at the asked level; None while the model has none.
    unmeasured
        Features that were counted as free because no measurement exercised them.
    """

    seconds: Any
    terms: Mapping[str, Any]
    interval: tuple[Any, Any] | None = None
    unmeasured: tuple[str, ...] = ()


@dataclass(frozen=True)
class FittedModel:
    """A model family with its weights for one device.

    Parameters
    ----------
    fitted
        The weights and how they were found.

    Notes
    -----
    Source: Stevens and Klöckner, *A Unified, Hardware-Fitted, Cross-GPU Performance Model*,
    section 2: a prediction is the inner product of weights and evaluated counts.
    """

    fitted: FittedWeights

    @cached_property
    def family(self) -> Family:
        """The model family."""
        return find_family(self.fitted.family)

    @property
    def device(self) -> str:
        """Name of the device that the weights belong to."""
        return self.fitted.device

    @cached_property
    def weights(self) -> Mapping[str, float]:
        """Each weight's value, in its unit."""
        return MappingProxyType({n: w.value for n, w in self.fitted.weights.items()})

    @cached_property
    def units(self) -> Mapping[str, str]:
        """Each weight's unit, as in ``s/operation``."""
        return MappingProxyType({n: w.unit for n, w in self.fitted.weights.items()})

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user of the weights should know."""
        return self.fitted.notes

    def save(self, path: str | Path) -> None:
        """Write the weights as JSON, whole or not at all.

        Raises
        ------
        OutputError
            If the file cannot be written.
        """
        self.fitted.save(path)

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
        """Predict the run time of a kernel.

        Parameters
        ----------
        kernel
            A Loopy ``TranslationUnit``, or its counts; counting once is much faster where many
            predictions are wanted.
        sizes, **more_sizes
            Every size parameter of the kernel: an integer, or an array of them. Give those by
            mapping whose names are arguments of this method.
        level
            Probability that the interval should hold the measured time.
        allow_unmeasured
            Whether features that no measurement exercised may be counted as free.

        Raises
        ------
        UnmeasuredFeatureError
            If the kernel needs such a feature.
        ParameterError
            If a size is left out, unknown, negative or no integer.
        """
        values = features.evaluate(self._counts(kernel), {**(sizes or {}), **more_sizes})
        unmeasured = tuple(sorted(filter(self.family.takes, self._without_weight(values))))
        if unmeasured and not allow_unmeasured:
            raise UnmeasuredFeatureError(unmeasured, self.device)
        terms = self.family.terms(self.weights, values)
        return Prediction(sum(terms.values(), 0.0), terms, None, unmeasured)

    def _counts(self, kernel: Any) -> KernelCounts:
        if hasattr(kernel, "operation_table"):
            counts: KernelCounts = kernel
            return counts
        from perfmodel.counts import count

        return count(kernel, subgroup_size=self.fitted.subgroup_size)

    def _without_weight(self, values: Mapping[str, Any]) -> list[str]:
        weights = self.weights
        return [name for name, value in values.items() if name not in weights and np.any(value)]


def fit(
    measurements: Measurements,
    family: str | Family = "stevens_kloeckner_2016",
    nonnegative: bool = False,
) -> FittedModel:
    """Fit a model family to measurements.

    Weights minimise the sum of squared relative errors
    (:class:`~perfmodel.fit.RelativeLeastSquares`). Features that no measurement exercises get no
    weight; features that the measurements cannot tell apart are named in the model's ``notes``.

    Parameters
    ----------
    measurements
        Measured kernels of one device with their counts.
    family
        A model family or its name.
    nonnegative
        Whether weights below zero are ruled out.

    Raises
    ------
    UnknownFamilyError, BadTimesError, BadFeatureValuesError, TooFewRowsError
        If the family does not exist, or the measurements do not allow a fit.
    """
    return FittedModel(fit_weights(measurements, family, nonnegative))


def load(path: str | Path) -> FittedModel:
    """Read a model that :meth:`FittedModel.save` wrote.

    Raises
    ------
    WeightsFileError
        If the file is missing or is no weights file of this schema.
    UnknownFamilyError
        If it belongs to a family that does not exist.
    """
    return FittedModel(read_weights(path))
