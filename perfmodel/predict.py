"""Fitted models: seconds for a kernel at given sizes, and what they are made of."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from perfmodel import features
from perfmodel.errors import FactsFormatError, UnmeasuredFeatureError
from perfmodel.facts import SCHEMA, DeviceFacts
from perfmodel.facts.documents import FACTS_FILE, read_facts
from perfmodel.fitting import FitOptions, FittedWeights, design, fit_weights, read_weights
from perfmodel.fitting.heldout import Refits, joined
from perfmodel.fitting.uncertainty.conformal import calibrate, check_level, scaled
from perfmodel.fitting.uncertainty.measured_range import measured_range
from perfmodel.fitting.weights_file import family_of
from perfmodel.models import Family, find_family
from perfmodel.models.binding import bind, weight_name
from perfmodel.quantities.case import Case

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts
    from perfmodel.expressions.expression import Expression
    from perfmodel.store import Measurements


@dataclass(frozen=True, eq=False)
class Prediction:
    """The run time of a kernel as a model sees it.

    Parameters
    ----------
    seconds
        Run time [s]: a float, or a float64 array of the sizes' shape.
    terms
        Feature name to the seconds that it contributes, of the same shape; of a family with an
        expression each of its parts. They add up to ``seconds`` where the family is additive.
    interval
        Lower and upper bound [s] at the asked level (:mod:`perfmodel.fitting.uncertainty.conformal`), of the same
        shape; None where the model has none.
    unmeasured
        Features that were counted as free because no measurement exercised them.
    warnings
        Why not to trust the prediction, one sentence each: what of it lies far outside of what was
        measured, a time that is not above zero, an interval without bounds.
    """

    seconds: Any
    terms: Mapping[str, Any]
    interval: tuple[Any, Any] | None = None
    unmeasured: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class FittedModel:
    """A model family with its weights for one device.

    Parameters
    ----------
    fitted
        The weights and how they were found.
    facts
        What is known of the device, for families that ask for it.
    given
        The family, if it is a value of the user's own and not to be found by its name.

    Notes
    -----
    Source: Stevens and Klöckner, *A Unified, Hardware-Fitted, Cross-GPU Performance Model*,
    section 2: a prediction is the inner product of weights and evaluated counts.
    """

    fitted: FittedWeights
    facts: DeviceFacts | None = field(default=None, compare=False)
    given: Family | None = field(default=None, compare=False)

    @cached_property
    def family(self) -> Family:
        """The model family."""
        return self.given or family_of(self.fitted)

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

    @cached_property
    def standard_errors(self) -> Mapping[str, float | None]:
        """Each weight's standard error, in its unit; None where the measurements give none."""
        return MappingProxyType({n: w.standard_error for n, w in self.fitted.weights.items()})

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
        LevelError
            If the level is not between 0 and 1.
        """
        half_width = self.half_width(level)
        counts, at = self.counted(kernel), {**(sizes or {}), **more_sizes}
        values = features.evaluate(counts, at)
        unmeasured = tuple(sorted(self._unmeasured(values)))
        if unmeasured and not allow_unmeasured:
            raise UnmeasuredFeatureError(unmeasured, self.device)
        if self.family.expression:
            quantities = self.family.quantities(Case(counts, at, self.facts, self.family.name))
            seconds, terms = self._expressed({**values, **quantities})
        else:
            terms = self.family.terms(self.weights, values)
            seconds = sum(terms.values(), 0.0)
        return Prediction(
            seconds, terms, _interval(seconds, half_width), unmeasured, self._warnings(seconds, values, level)
        )

    def _expressed(self, values: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any]]:
        """Return the value of the family's expression and of each of its parts [s]."""
        found = {
            name: expression.value(values, [self.weights[weight] for weight in weights])
            for name, (expression, weights) in self._expressions.items()
        }
        return found.pop(""), found

    @cached_property
    def _expressions(self) -> Mapping[str, tuple[Expression, tuple[str, ...]]]:
        """Each part's expression with its weights' names; under no name the whole."""
        family, found = self.family, {}
        for name in (*family.parts, ""):
            whole = bind(replace(family, expression=name or family.expression), self.weights)
            found[name] = whole, tuple(weight_name(family, weight) for weight in whole.weights)
        return MappingProxyType(found)

    def half_width(self, level: float) -> float | None:
        """Return q, so that intervals are from p/exp(q) to p exp(q); None where there are none.

        Raises
        ------
        LevelError
            If the level is not between 0 and 1.
        """
        if level not in self._half_widths:
            check_level(level)
            known = self.fitted.conformal
            self._half_widths[level] = known.quantile(level) if known else None
        return self._half_widths[level]

    @cached_property
    def _half_widths(self) -> dict[float, float | None]:
        return {}

    def _warnings(self, seconds: Any, values: Mapping[str, Any], level: float) -> tuple[str, ...]:
        found = []
        if not (seconds > 0 if isinstance(seconds, float) else np.all(seconds > 0)):
            found.append("no run time is zero or below: the kernel is outside what was fitted")
        if (known := self.fitted.conformal) and self._half_widths[level] == math.inf:
            found.append(f"no bounds can be given at {level:.0%}: {known.limits}")
        if measured := self.fitted.measured:
            found += measured.far_outside(seconds, self.weights, values)
        return tuple(found)

    def counted(self, kernel: Any) -> KernelCounts:
        """Return a kernel's counts as this model needs them; counts are returned as they are."""
        if hasattr(kernel, "operation_table"):
            counts: KernelCounts = kernel
            return counts
        from perfmodel.counts import count

        return count(kernel, subgroup_size=self.fitted.subgroup_size)

    def _unmeasured(self, values: Mapping[str, Any]) -> set[str]:
        """Return the features that the family charges for and that no measurement exercised."""
        # NumPy takes a microsecond for a number, which one prediction has no time for.
        needed = {name for name, value in values.items() if (value if isinstance(value, float) else np.any(value))}
        found = {name for name in needed if name not in self.weights and self.family.takes(name)}
        if self.family.expression and (measured := self.fitted.measured):
            named = {*self._expressions[""][0].features} - {*self.family.units}
            found |= (needed & named) - {*measured.features}
        return found


def fit(
    measurements: Measurements,
    family: str | Family = "stevens_kloeckner_2016",
    nonnegative: bool = False,
    options: FitOptions | None = None,
    others: Measurements | None = None,
) -> FittedModel:
    """Fit a model family to measurements.

    Weights minimise the sum of squared relative errors
    (:class:`~perfmodel.fitting.RelativeLeastSquares`). Features that no measurement exercises get no
    weight; features that the measurements cannot tell apart are named in the model's ``notes``.

    Parameters
    ----------
    measurements
        Measured kernels of one device with their counts.
    family
        A model family or its name.
    nonnegative
        Whether weights below zero are ruled out; `options` can say so too.
    options
        How else to fit.
    others
        Kernels that were measured and that the fit must not see, such as test kernels. That and how far
        they are mispredicted makes intervals rest on more groups of kernels.

    Raises
    ------
    UnknownFamilyError, BadTimesError, BadFeatureValuesError, TooFewRowsError
        If the family does not exist, or the measurements do not allow a fit.
    ConfoundedFeaturesError, MissingFactError
        As of :func:`perfmodel.fitting.fit_weights`.
    """
    chosen = find_family(family)
    fitted = fit_weights(measurements, chosen, nonnegative, options)
    own = table = design(measurements, chosen, fitted.options.fit_facts)
    groups = [row.group for row in (*measurements, *(others or ()))]
    if others:
        table = joined(own, design(others, chosen, fitted.options.fit_facts), chosen)
    unseen = Refits(table, chosen, fitted.options).left_out(groups, fitted=np.arange(len(own.times)))
    scores = calibrate(unseen, table.times, groups)
    update = {"conformal": scores, "measured": measured_range(own)}
    facts = getattr(measurements, "facts", None)
    return FittedModel(fitted.model_copy(update=update), facts, chosen)


def _interval(seconds: Any, half_width: float | None) -> tuple[Any, Any] | None:
    if half_width is None:
        return None
    if not isinstance(seconds, float):
        return scaled(seconds, half_width)
    if seconds <= 0 or half_width == math.inf:
        return 0.0, math.inf
    factor = math.exp(half_width)
    return seconds / factor, seconds * factor


def load(path: str | Path, family: Family | None = None) -> FittedModel:
    """Read a model that :meth:`FittedModel.save` wrote.

    What is known of the device is what the fit knew; where the file does not hold it, what
    ``device.json`` and ``facts.yaml`` beside it say.

    Parameters
    ----------
    path
        The file.
    family
        Its family, if that is a value of the user's own and not to be found by its name.

    Raises
    ------
    WeightsFileError
        If the file is missing or is no weights file of this schema.
    UnknownFamilyError, FamilyFileError, ExpressionError
        If it belongs to a family that does not exist.
    FactsFormatError
        If ``device.json`` is no description of a device, or ``facts.yaml`` not what it should be.
    """
    fitted = read_weights(path, family=family)
    facts = DeviceFacts.from_json(fitted.facts) if fitted.facts else _facts_beside(Path(path))
    return FittedModel(fitted, facts if facts and facts.name == fitted.device else None, family)


def _facts_beside(path: Path) -> DeviceFacts | None:
    device = path.with_name("device.json")
    if not device.is_file():
        return None
    try:
        document = json.loads(device.read_bytes())
    except ValueError as error:
        raise FactsFormatError(f"is no JSON ({error})", SCHEMA) from error
    facts, written = DeviceFacts.from_json(document), path.with_name(FACTS_FILE)
    return facts.updated(read_facts(written)) if written.is_file() else facts
