"""Fitted models: the run time of a kernel at given sizes, and its terms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import repeat
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from perfmodel import fitting
from perfmodel.counts import KernelCounts
from perfmodel.counts.quasipoly.arguments import given_size
from perfmodel.display import data_frame, html_table, in_words, interval_text, percent, seconds_text
from perfmodel.documents import one_line, require
from perfmodel.errors import ClockError, NegativeTimeError, StatisticOutside, UnknownSpan, UnmeasuredFeatureError
from perfmodel.expressions.launches import quantity_of
from perfmodel.facts import FACTS_FILE, DeviceFacts, Fact, read_device, read_facts
from perfmodel.facts.doubts import ContradictingFacts, doubted_facts
from perfmodel.features import HOST_LAUNCH, matches
from perfmodel.fitting.cautions import Caution, FromRelative, NoBounds, NotPositive, WideInterval
from perfmodel.fitting.conformal import Quantiles, check_level, scaled
from perfmodel.fitting.local_scale import WIDE
from perfmodel.fitting.weights_file import FitOptions, FittedWeight, FittedWeights, family_of, read_weights
from perfmodel.models import Family, find_family
from perfmodel.models.model import RunTime
from perfmodel.predicting import relatives
from perfmodel.predicting.relatives import Ratio
from perfmodel.quantities.case import Case
from perfmodel.quantities.relatives import NEVER_FREE
from perfmodel.store.measurement import Clock
from perfmodel.values import FrozenValue

if TYPE_CHECKING:
    from pandas import DataFrame

    from perfmodel.store import Measurements

LOCALITY_MATTERS = 1.05
"""Factor between the two ends of what indices may be, up to which nothing is said of it."""
MATTERS = 0.01
"""A doubtful fact matters where its other number changes a prediction by this share."""
LEAST_SHARE = 1e-6
"""Least share of a quantity that a kernel has [1]."""
ADDS_UP = 1e-6
"""Relative difference between the time and the sum of its terms up to which the terms are said to add up."""


@dataclass(frozen=True, eq=False, repr=False)
class Prediction:
    """The predicted run time of a kernel.

    Parameters
    ----------
    seconds
        Run time [s]: a float, or a float64 array of the sizes' shape.
    terms
        Seconds of each term by its name, of the same shape. The terms are features where the family is a plain
        sum, else parts of its expression. They add up to ``seconds`` where the family is additive.
    interval
        Lower and upper bound [s] at the level, of the same shape; None where the model has none.
    unmeasured
        Features that were counted as free because no measurement exercised them and they have no relative.
    cautions
        Reasons not to trust the prediction (:mod:`perfmodel.fitting.cautions`): a value far outside of the
        measured range, a time that is not above zero, an interval without bounds, an anchor that is suspicious.
    kernel, sizes
        Name of the kernel, and its size parameters: numbers, or arrays that together have the shape of ``seconds``.
    level
        Probability that the interval should hold the measured time.
    clock
        Whose clock would tell this time: the ``host``'s, with the launch, or the ``device``'s.
    """

    seconds: Any
    terms: Mapping[str, Any]
    interval: tuple[Any, Any] | None = None
    unmeasured: tuple[str, ...] = ()
    cautions: tuple[Caution, ...] = ()
    kernel: str = ""
    sizes: Mapping[str, Any] = field(default_factory=dict)
    level: float = 0.9
    clock: Clock = "host"

    def by_device(self) -> Prediction:
        """Return the same by the device's clock: seconds and bounds are less by the launch, and no bound below zero.

        Raises
        ------
        ClockError
            The weights do not tell the launch from the kernel.
        """
        if self.clock == "device":
            return self
        if HOST_LAUNCH not in self.terms:
            raise ClockError(self.kernel)
        terms = dict(self.terms)
        launch = terms.pop(HOST_LAUNCH)
        seconds, interval = self.seconds - launch, self.interval
        if interval is not None:
            low = interval[0] - launch
            interval = max(low, 0.0) if isinstance(low, float) else np.maximum(low, 0.0), interval[1] - launch
        return replace(self, seconds=seconds, terms=terms, interval=interval, clock="device")

    def or_as_local_as(self, local: Prediction, arrays: tuple[str, ...]) -> Prediction:
        """Return what lies between this prediction and one where the indices into arrays are local.

        Seconds and terms are the geometric means, which are wrong by the same factor at either end; the interval holds
        the intervals of both.
        """
        longest, shortest = np.maximum(self.seconds, local.seconds), np.minimum(self.seconds, local.seconds)
        if not np.all(shortest > 0):
            return self
        factor = float(np.max(longest / shortest))
        mean = {name: (value * local.terms[name]) ** 0.5 for name, value in self.terms.items()}
        interval = self.interval
        if interval is not None and local.interval is not None:
            interval = _holding(interval, local.interval)
        cautions = self.cautions + ((UnknownSpan(arrays, factor),) if factor > LOCALITY_MATTERS else ())
        seconds = (self.seconds * local.seconds) ** 0.5
        return replace(self, seconds=seconds, terms=mean, interval=interval, cautions=cautions)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The cautions in words, one sentence each."""
        return tuple(map(str, self.cautions))

    @property
    def adds_up(self) -> bool:
        """Whether the terms add up to the time; else they overlap, and their shares are no parts of a whole."""
        return bool(np.allclose(sum(self.terms.values()), self.seconds, rtol=ADDS_UP, atol=0.0))

    def at_each_size(self) -> Iterator[Prediction]:
        """Yield the prediction at each size as one of numbers; of arrays in C order."""
        if not np.ndim(self.seconds):
            yield self
            return
        shape = np.shape(self.seconds)

        def rows(columns: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
            """Yield the numbers of each size, of all columns."""
            lists = [np.broadcast_to(column, shape).ravel().tolist() for column in columns]
            return zip(*lists, strict=True) if lists else repeat((), self.seconds.size)

        columns = rows([self.seconds]), rows(self.terms.values()), rows(self.interval or ()), rows(self.sizes.values())
        for (seconds,), terms, bounds, sizes in zip(*columns, strict=True):
            yield Prediction(
                seconds, dict(zip(self.terms, terms, strict=True)), bounds or None, self.unmeasured, self.cautions,
                self.kernel, dict(zip(self.sizes, sizes, strict=True)), self.level, self.clock,
            )  # fmt: skip

    # {{{ showing

    def __repr__(self) -> str:
        return one_line(f"<Prediction {self._title}>")

    @property
    def _title(self) -> str:
        if np.ndim(self.seconds):
            ends = [seconds_text(end(self.seconds)) for end in (np.min, np.max) if self.seconds.size]
            return f"{self.kernel} at {self.seconds.size} sizes: {' to '.join(ends)}".lstrip()
        interval = f" ({interval_text(self.interval)} at {self.level:.0%})" if self.interval else ""
        name = " ".join(filter(None, (self.kernel, in_words(self.sizes))))
        return f"{name}: {seconds_text(self.seconds)}{interval}".removeprefix(": ")

    def _repr_html_(self) -> str:
        """Return the time and the share of each term as a table for a notebook; of arrays, a row for each size."""
        free = ", ".join(self.unmeasured)
        notes = [*self.warnings, *([f"counted as free, never measured: {free}"] if free else [])]
        if np.ndim(self.seconds):
            rows = [(*self.sizes, "seconds", "interval", "largest term")]
            for point in self.at_each_size():
                largest = max(point.terms.items(), key=lambda pair: abs(pair[1]), default=("-", 0.0))[0]
                times = seconds_text(point.seconds), interval_text(point.interval)
                rows.append((*map(str, point.sizes.values()), *times, largest))
            return html_table(rows, self._title, notes, left=0)
        if not self.adds_up:
            notes.append("the terms overlap: they do not add up to the time")
        shown = sorted(((name, value) for name, value in self.terms.items() if value), key=lambda pair: -abs(pair[1]))
        shares = (percent(value / self.seconds if self.seconds > 0 else None) for _, value in shown)
        cells = [(name, seconds_text(value), share) for (name, value), share in zip(shown, shares, strict=True)]
        return html_table([("term", "seconds", "share"), *cells], self._title, notes)

    def to_frame(self) -> DataFrame:
        """Return a row for each size as a pandas table.

        Its columns are the sizes, ``seconds``, ``low_s``, ``high_s`` and ``term.<name>``. All times are in seconds.
        Bounds are NaN where there is no interval.

        Raises
        ------
        MissingExtraError
            pandas is not installed.
        """
        columns = [*self.sizes, "seconds", "low_s", "high_s", *(f"term.{name}" for name in self.terms)]
        rows = (
            (*point.sizes.values(), point.seconds, *(point.interval or (np.nan, np.nan)), *point.terms.values())
            for point in self.at_each_size()
        )
        return data_frame((dict(zip(columns, row, strict=True)) for row in rows), columns)

    # }}}


@dataclass(frozen=True)
class RelatedWeight:
    """The weight of a quantity that was never measured: the weight of a relative, times a ratio."""

    quantity: str
    relative: str  # the name of the relative's weight
    value: float
    ratio: Ratio
    exercised: bool  # whether measured kernels have the quantity, and the fit put its weight at zero

    def caution(self, level: float) -> FromRelative:
        """Return what a prediction says of it."""
        spread = math.exp(self.ratio.spread(level))
        return FromRelative(
            self.quantity, self.ratio.relative, math.exp(self.ratio.mean), spread, self.ratio.devices, self.exercised
        )


@dataclass(frozen=True)
class FittedModel(FrozenValue):
    """A model family with its weights for one device.

    Parameters
    ----------
    fitted
        The weights and how they were fitted.
    facts
        Facts of the device, for families that need them.
    given
        The family, if it is a user's own value that cannot be found by its name.
    path
        The weights file that it was read from; None of a model that was just fitted.
    clock
        Whose clock its predictions are of (:meth:`by_clock`).
    strict
        Whether predictions that need a quantity which no measurement exercised are refused. Else its cost is taken
        from a relative (:mod:`perfmodel.predicting.relatives`).
    related
        Weights that are taken from relatives, by their names.

    Notes
    -----
    Source: Stevens and Klöckner, *A Unified, Hardware-Fitted, Cross-GPU Performance Model*, section 2: a prediction is
    the inner product of weights and evaluated counts.
    """

    fitted: FittedWeights
    facts: DeviceFacts | None = field(default=None, compare=False)
    given: Family | None = field(default=None, compare=False)
    path: Path | None = field(default=None, compare=False)
    clock: Clock = "host"
    strict: bool = False
    related: Mapping[str, RelatedWeight] = field(default_factory=dict, compare=False, repr=False)

    def __repr__(self) -> str:
        return one_line(f"<FittedModel {self._title}>")

    @property
    def _title(self) -> str:
        return f"{self.name}: {len(self.fitted.weights)} weights from {self.fitted.rows} measurements"

    def _repr_html_(self) -> str:
        """Return the weights as a table for a notebook, with the notes of the fit below it."""
        rows = [(name, f"{w.value:.4g}", "-" if w.standard_error is None else f"{w.standard_error:.1e}", w.unit,
                 ", ".join(w.marks)) for name, w in self.fitted.weights.items()]  # fmt: skip
        head = ("weight", "value", "std. error", "unit", "marks")
        return html_table([head, *rows], self._title, self.notes)

    def to_frame(self) -> DataFrame:
        """Return a row for each weight as a pandas table, with its value, standard error, unit and marks.

        Raises
        ------
        MissingExtraError
            pandas is not installed.
        """
        weights = self.fitted.weights.items()
        rows = ({"weight": name, **weight.model_dump(), "marks": " ".join(weight.marks)} for name, weight in weights)
        return data_frame(rows, ("weight", "value", "standard_error", "unit", "marks"))

    @cached_property
    def family(self) -> Family:
        """The model family."""
        return self.given or family_of(self.fitted)

    @property
    def device(self) -> str:
        """Name of the device that the weights belong to."""
        return self.fitted.device

    @property
    def name(self) -> str:
        """The family and the device in words, with the device that the weights were transferred from."""
        source = self.fitted.transferred_from
        return f"{self.fitted.family} on {self.device}" + (f", by facts, with weights of {source}" if source else "")

    @property
    def clock_text(self) -> str:
        """Whose clock its predictions are of, in words."""
        if self.fitted.launch_s is None:
            recorded = self.facts is not None and self.facts.recorded
            return "times by the clock of their recording" if recorded else "times by the host's clock"
        return "times by the device's clock" if self.clock == "device" else "times by the host's clock, with the launch"

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
        """Warnings about the weights, one sentence each."""
        return self.fitted.notes

    def with_facts(self, facts: Mapping[str, Fact]) -> FittedModel:
        """Return the model with other facts of the device, by key; they replace what was known or fitted.

        Examples
        --------
        A twice as wide memory, all else equal: ``model.with_facts({"dram_bandwidth": Fact(2e11, "B/s", "a plan")})``.
        """
        known = (self.facts or DeviceFacts(self.device, "", "", ())).updated(facts)
        given = {weight.name: weight.fact for weight in self.family.weights if weight.fact and weight.fact in facts}
        weights = {
            name: weight.model_copy(update={"value": float(known.value(given[name])), "standard_error": None})
            if name in given else weight
            for name, weight in self.fitted.weights.items()
        }
        return replace(self, facts=known, fitted=self.fitted.model_copy(update={"weights": weights}))

    def by_clock(self, clock: Clock) -> FittedModel:
        """Return the model with predictions by the host's clock, with the launch, or by the device's, without.

        Raises
        ------
        ClockError
            The device's is asked for, and the weights were fitted to times of the host's.
        """
        require(clock in get_args(Clock), "by_clock: clock", clock, " or ".join(get_args(Clock)))
        if clock == "device" and self.fitted.launch_s is None:
            raise ClockError(self.name)
        return replace(self, clock=clock)

    @property
    def below_zero(self) -> tuple[str, ...]:
        """The weights below zero of a plain sum, by which it may predict times below zero."""
        return tuple(name for name, value in self.weights.items() if self.family.plain_sum and value < 0)

    def save(self, path: str | Path) -> None:
        """Write the weights as JSON, whole or not at all; raise OutputError if that is not possible."""
        self.fitted.save(path)

    def predict(
        self,
        kernel: Any,
        sizes: Mapping[str, Any] | None = None,
        /,
        *,
        level: float = 0.9,
        allow_unmeasured: bool = False,
        strict: bool = False,
        **more_sizes: Any,
    ) -> Prediction:
        r"""Predict the run time of a kernel.

        It is the family's expression at the kernel's features and quantities x and the fitted weights w: for a linear
        family :math:`T = \sum_i w_i x_i` [s].

        Parameters
        ----------
        kernel
            A Loopy ``TranslationUnit``, or its counts; counting once is much faster where many predictions are wanted.
        sizes, **more_sizes
            Every size parameter of the kernel: an integer, or an array of integers. Give a size by
            mapping if an argument of this method has its name.
        level
            Probability that the interval should hold the measured time.
        allow_unmeasured
            Whether features that no measurement exercised, and that have no relative, may be counted as free.
        strict
            Whether such features are refused even if they have a relative, as with :attr:`strict`. Else they take
            the cost of the nearest relative times the ratio of both on other devices: the scatter of these ratios
            widens the interval, and a caution names both.

        Returns
        -------
        Prediction
            Its ``seconds`` and the bounds of its ``interval`` are numbers [s], or arrays of the sizes' shape.

        Raises
        ------
        UnmeasuredFeatureError
            If the kernel needs such a feature.
        NegativeTimeError
            If the time is below zero, at some of the sizes at least.
        KernelError
            If its work-groups have more work-items or local memory than the device is known to allow.
        SizeError
            If a size is left out, unknown, negative or no integer.
        AssumptionError
            If a size breaks an assumption of the kernel.
        LevelError
            If the level is not between 0 and 1.
        FactsError, FamilyError
            If the family needs an unknown fact of the device, or does not compute what it declares.
        """
        check_level(level)
        require(sizes is None or isinstance(sizes, Mapping), "predict: sizes", sizes, "a mapping of names to sizes")
        counts = self.counted(kernel)
        if self.facts is not None:
            counts.check_launch(self.facts)
        at = {**(sizes or {}), **more_sizes}
        at = {name: given_size(name, size, tuple(at)) for name, size in at.items()}
        model = self._refusing if strict and not self.strict else self
        made = model._predicted(counts, at, level, allow_unmeasured)
        if counts.gathered:
            made = made.or_as_local_as(model._predicted(counts.most_local, at, level, True), counts.gathered)
        return made if self.clock == "host" else made.by_device()

    def _predicted(
        self, counts: KernelCounts, at: Mapping[str, Any], level: float, allow_unmeasured: bool
    ) -> Prediction:
        """Return the prediction by the host's clock, where data index arrays anywhere but for what statistics say."""
        case = Case(counts, at, self.facts, self.family.name)
        features = self.family.features_of(case)  # first, since they check all sizes of an array at once
        values = self.family.values(case) if self.family.resources else features
        missing = self._unmeasured(values)
        model = self._with_relatives(values, missing)
        unmeasured = tuple(name for name in missing if name not in model._taken)
        if unmeasured and not allow_unmeasured:
            raise UnmeasuredFeatureError(unmeasured, self.device)
        if not self.family.resources:
            values = self.family.values(case)
        return model._at(counts, case, features, values, level, unmeasured)

    def _at(
        self, counts: KernelCounts, case: Case, features: Mapping[str, Any], values: Mapping[str, Any], level: float,
        unmeasured: tuple[str, ...],
    ) -> Prediction:  # fmt: skip
        """Return the prediction of a case from its features and quantities."""
        seconds, terms = self._run_time.evaluate(values)
        if seconds < 0 if isinstance(seconds, float) else np.any(seconds < 0):
            raise negative_time(counts.name, self.family.name, seconds, terms)
        private = float(counts.launch.private_bytes)
        half_width = self.half_width(level, values, private)
        interval = None if half_width is None else scaled(seconds, half_width)
        interval, taken = self._widened(interval, values, seconds, half_width, level)
        cautions = (
            *taken, *self._cautions(seconds, features, half_width, level),
            *self._wide(half_width, level, values, private),
            *(StatisticOutside(*found) for found in counts.outside(case.parameters)),
        )
        interval, doubts = self._covering(interval, case, seconds, half_width)
        return Prediction(
            seconds, terms, interval, unmeasured, (*cautions, *doubts), counts.name, case.parameters, level
        )

    # {{{ costs of relatives

    @cached_property
    def _refusing(self) -> FittedModel:
        """The same model, but strict; it keeps what it computes from one prediction to the next."""
        return replace(self, strict=True)

    def _with_relatives(self, values: Mapping[str, Any], missing: tuple[str, ...]) -> FittedModel:
        """Return the model with weights of relatives for what is missing, and for what only seems to be free."""
        if self.strict or self.related:
            return self
        names = (*missing, *(name for name in self._doubted_free if np.any(values.get(name, 0.0))))
        return self._extended(names) if names else self

    def _extended(self, names: tuple[str, ...]) -> FittedModel:
        """Return the model with weights of relatives for some quantities, where they have relatives."""
        if names not in self._kept_extended:
            related = {name: weight for each in names if (weight := self._related(each))
                       for name in [self._weight_of(each)]}  # fmt: skip
            units = {name: self.family.weight_unit(name) for name in related}
            weights = {
                **self.fitted.weights,
                **{name: FittedWeight(value=weight.value, unit=units[name]) for name, weight in related.items()},
            }
            fitted = self.fitted.model_copy(update={"weights": weights})
            self._kept_extended[names] = replace(self, fitted=fitted, related=related) if related else self
        return self._kept_extended[names]

    @cached_property
    def _kept_extended(self) -> dict[tuple[str, ...], FittedModel]:
        return {}

    def _weight_of(self, quantity: str) -> str:
        """Return the name of a quantity's or feature's weight."""
        return f"w_{quantity}" if self.family.is_quantity(quantity) else quantity

    def _related(self, quantity: str) -> RelatedWeight | None:
        """Return the weight of a quantity from its nearest relative; None where it has none here."""
        table = relatives.ratios().get(self.family.name)
        kind = str(self.facts.value("device_type")) if self.facts and "device_type" in self.facts else "cpu"
        known = self._told
        ratio = None if table is None else table.nearest(quantity, known, kind)
        if ratio is None:
            return None
        value, relative = known[ratio.relative] * math.exp(ratio.mean), self._weight_of(ratio.relative)
        return RelatedWeight(quantity, relative, value, ratio, quantity in self._doubted_free)

    @cached_property
    def _told(self) -> Mapping[str, float]:
        """The weights by quantity from which others may be taken."""
        return relatives.known_weights(self.fitted.weights)

    @cached_property
    def _doubted_free(self) -> frozenset[str]:
        """Quantities that take longer than an instruction on every device, and by the fit cost nothing."""
        weights = self.fitted.weights.items()
        free = {name.removeprefix("w_") for name, w in weights if w.value == 0 and "at bound" in w.marks}
        return frozenset(name for name in free if matches(NEVER_FREE, name) and self.family.resources)

    @cached_property
    def _taken(self) -> frozenset[str]:
        return frozenset(weight.quantity for weight in self.related.values())

    def _widened(
        self, interval: tuple[Any, Any] | None, values: Mapping[str, Any], seconds: Any, half_width: Any, level: float
    ) -> tuple[tuple[Any, Any] | None, tuple[FromRelative, ...]]:
        r"""Return an interval that also holds what the ratios to relatives scatter, and the relatives that matter.

        With the time :math:`T_q` where the cost of q is off by its spread, and h the half width without relatives, the
        half width is :math:`(h^2 + \sum_q \log^2(T_q/T))^{1/2}` at either side.
        """
        if not self.related:
            return interval, ()
        squares: list[Any] = [0.0, 0.0]
        cautions: list[FromRelative] = []
        for weight in self.related.values():
            spread, matters = weight.ratio.spread(level), not weight.exercised
            for side, factor in enumerate((math.exp(-spread), math.exp(spread))):
                other = {
                    name: value * factor if quantity_of(name) == weight.quantity else value
                    for name, value in values.items()
                }
                with np.errstate(divide="ignore", invalid="ignore"):
                    log = np.log(np.divide(self._run_time.seconds(other), seconds))
                squares[side] = squares[side] + np.nan_to_num(log) ** 2
                matters = matters or bool(np.any(np.abs(log) > MATTERS))
            cautions += [weight.caution(level)] * matters
        if interval is not None:
            low, high = (np.sqrt(half_width**2 + square)[()] for square in squares)
            interval = scaled(seconds, low)[0], scaled(seconds, high)[1]
            if isinstance(seconds, float):
                interval = float(interval[0]), float(interval[1])
        return interval, tuple(cautions)

    # }}}

    def by_terms(
        self, counts: KernelCounts, sizes: Mapping[str, Any]
    ) -> tuple[Mapping[str, Any], Callable[[Mapping[str, Any]], Any]]:
        """Return the terms of a prediction [s] by name, and the function from such terms to the run time [s].

        With it one can ask what the time would be if a term took longer, also where terms overlap
        (:meth:`perfmodel.models.model.RunTime.with_terms`). Features that were never measured, and that
        have no relative, are free.

        Raises
        ------
        SizeError, FactsError, FamilyError
            As of :meth:`predict`.
        """
        values = self.family.values(Case(counts, sizes, self.facts, self.family.name))
        run_time = self._with_relatives(values, self._unmeasured(values))._run_time
        _, terms = run_time.evaluate(values)
        return terms, lambda changed: run_time.with_terms(values, changed)

    def lacking(self, counts: KernelCounts, sizes: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the features and quantities that a kernel needs at some sizes and no measurement exercised, sorted."""
        return self._unmeasured(self.family.values(Case(counts, sizes, self.facts, self.family.name)))

    def share_of(self, quantity: str, counts: KernelCounts, sizes: Mapping[str, Any]) -> tuple[float, float]:
        """Return the share of a quantity in a kernel's predicted time [1], and the time [s]; 0 where it has none.

        It is the share of the seconds that rest on its weight; a weight that is not determined is a relative's.
        """
        values = self.family.values(Case(counts, sizes, self.facts, self.family.name))
        if not values.get(quantity):
            return 0.0, 0.0
        model = self if self._weight_of(quantity) in self._determined else self._extended((quantity,))
        by_weight = {name: abs(part) for name, part in model._run_time.by_weight(values).items()}
        least = LEAST_SHARE if values[quantity] else 0.0
        share = by_weight.get(self._weight_of(quantity), 0.0) / (sum(by_weight.values()) or 1.0)
        return max(share, least), float(model._run_time.seconds(values))

    @cached_property
    def _determined(self) -> frozenset[str]:
        return frozenset(map(self._weight_of, self._told))

    def half_width(self, level: float, values: Mapping[str, Any], private: float) -> Any:
        """Return h of the interval from p/exp(h) to p exp(h) of a prediction p; None where the model has none.

        It depends on what the prediction rests on (:mod:`perfmodel.fitting.conformal`): `values` are the features and
        quantities that it is evaluated from (:meth:`perfmodel.models.Family.values`), and h has their shape.
        `private` is the private data of a work-item [B]. Where nothing is known at the level h is infinite, a float.
        """
        conformal, quantiles = self.fitted.conformal, self._quantiles
        if conformal is None or quantiles is None:
            return None
        by_weight = self._by_weight(values) if conformal.scale else {}
        return conformal.half_width(quantiles.at(level), by_weight, private)

    def _by_weight(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the seconds that rest on each weight; what is taken from a relative rests on the relative's."""
        by_weight = dict(self._run_time.by_weight(values))
        for name, weight in self.related.items():
            if name in by_weight:
                by_weight[weight.relative] = by_weight.get(weight.relative, 0.0) + by_weight.pop(name)
        return by_weight

    def _covering(
        self, interval: tuple[Any, Any] | None, case: Case, seconds: Any, half_width: Any
    ) -> tuple[tuple[Any, Any] | None, tuple[Caution, ...]]:
        """Return an interval that also covers the prediction by the other numbers of facts that are in doubt.

        With it come the doubts that matter here: by which the prediction is another one.
        """
        cautions: list[Caution] = []
        for doubt, other in self._doubted:
            there = other._run_time.seconds(other.family.values(case.with_facts(other.facts)))
            if np.any(abs(there - seconds) > MATTERS * seconds):
                cautions.append(doubt)
            if interval is not None:
                interval = _holding(interval, scaled(there, half_width))
        return interval, tuple(cautions)

    @cached_property
    def _doubted(self) -> tuple[tuple[ContradictingFacts, FittedModel], ...]:
        """The contradictions between facts of the device, each with the model by the other number."""
        if self.facts is None or self.family.plain_sum:
            return ()
        return tuple((each, self.with_facts({each.key: other})) for each, other in doubted_facts(self.facts))

    def local_scale(self, prediction: Prediction) -> Any:
        """Return how wide the interval of a prediction of this model is, beside that of measured kernels [1].

        It is that of :mod:`perfmodel.fitting.local_scale`, and 1 where it is not known.
        """
        q = self._quantiles.at(prediction.level) if self._quantiles else math.inf
        if prediction.interval is None or not 0 < q < math.inf:
            return 1.0
        with np.errstate(all="ignore"):
            return np.log(np.divide(prediction.interval[1], prediction.interval[0])) / (2 * q)

    def counted(self, kernel: Any) -> KernelCounts:
        """Return a kernel's counts for this model's device; counts are returned as they are."""
        if isinstance(kernel, KernelCounts):
            return kernel
        from perfmodel.counts import count

        return count(kernel, subgroup_size=self.fitted.subgroup_size)

    @cached_property
    def _run_time(self) -> RunTime:
        return RunTime(self.family, self.weights, self.fitted.launch_s)

    @cached_property
    def _quantiles(self) -> Quantiles | None:
        return self.fitted.conformal.quantiles if self.fitted.conformal else None

    def _cautions(
        self, seconds: Any, values: Mapping[str, Any], half_width: Any, level: float
    ) -> Iterator[Caution]:
        if not (seconds > 0 if isinstance(seconds, float) else np.all(seconds > 0)):
            yield NotPositive()
        if isinstance(half_width, float) and half_width == math.inf and self.fitted.conformal:
            what = ("devices",) if self.fitted.transferred_from else ()
            yield NoBounds(level, self.fitted.conformal.group_count, *what)
        if measured := self.fitted.measured:
            yield from measured.far_outside(seconds, self.weights, values)

    def _wide(self, half_width: Any, level: float, values: Mapping[str, Any], private: float) -> Iterator[Caution]:
        """Yield why the widest interval is wide, where it is."""
        scale = self.fitted.conformal and self.fitted.conformal.scale
        if not scale or self._quantiles is None or not (q := self._quantiles.at(level)) < math.inf:
            return
        half = half_width if isinstance(half_width, float) else float(np.max(half_width))
        if (widest := half / q if q else 0.0) > WIDE:
            place, by_weight = int(np.argmax(half_width)), self._by_weight(values)
            shape = np.shape(half_width)
            at = {name: float(np.broadcast_to(part, shape).flat[place]) for name, part in by_weight.items()}
            yield WideInterval(widest, scale.reason(at, private))

    def _unmeasured(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the features that the family uses and that no measurement exercised, sorted."""
        is_free = self._is_free
        free = [name for name in values if is_free(name)]
        return tuple(sorted(name for name in free if np.any(values[name])))

    @cached_property
    def _is_free(self) -> Callable[[str], bool]:
        """Whether the family uses a feature that has no weight; each is looked up once."""
        weights, takes, needs = self.weights, self.family.takes, self._never_exercised
        return lru_cache(None)(lambda name: name not in weights and (takes(name) or name in needs))

    @cached_property
    def _never_exercised(self) -> frozenset[str]:
        """The features that the family's expression names and that no measurement exercised."""
        measured = self.fitted.measured
        return self._run_time.charged - {*measured.features} if measured else frozenset()


def _holding(interval: tuple[Any, Any], other: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return the interval that holds two; bounds are numbers, or arrays for several sizes."""
    (low, high), (other_low, other_high) = interval, other
    if isinstance(low, float):
        return min(low, other_low), max(high, other_high)
    return np.minimum(low, other_low), np.maximum(high, other_high)


def negative_time(kernel: str, family: str, seconds: Any, terms: Mapping[str, Any]) -> NegativeTimeError:
    """Return the error of a time below zero, with the terms below zero where it is lowest."""
    times = np.atleast_1d(seconds)
    lowest, below = int(np.argmin(times)), int(np.count_nonzero(times < 0))
    at = {name: float(np.broadcast_to(term, times.shape).flat[lowest]) for name, term in terms.items()}
    named = tuple(f"{name} ({at[name]:.3g} s)" for name in sorted(at, key=at.__getitem__) if at[name] < 0)
    where = f" at {below} of {times.size} sizes" if np.ndim(seconds) else ""
    return NegativeTimeError(kernel, family, float(times.flat[lowest]), named, where)


def fit(
    measurements: Measurements,
    family: str | Family = "stevens_kloeckner_2016",
    nonnegative: bool = False,
    options: FitOptions | None = None,
    others: Measurements | None = None,
    samples: Measurements | None = None,
) -> FittedModel:
    """Fit a model family to measurements.

    Weights minimise the sum of squared relative errors (:class:`~perfmodel.fitting.RelativeLeastSquares`). Features
    that no measurement exercises get no weight. The model's ``notes`` name those that are not determined separately.

    Parameters
    ----------
    measurements
        Measured kernels of one device with their counts.
    family
        A model family or its name.
    options, nonnegative
        Settings of the fit; `nonnegative` is that of the options, and rules out weights below zero.
    others
        Measured kernels that the fit does not use, such as test kernels. With their errors, the intervals
        rest on more groups of kernels.
    samples
        Measured random samples, which the fit does not use either. Half of the errors that intervals rest on are
        theirs, and facts that the fit chooses are chosen by them, too.

    Raises
    ------
    UnknownFamilyError, BadTimesError, BadFeatureValuesError, TooFewRowsError
        If the family does not exist, or the measurements do not allow a fit.
    ConfoundedFeaturesError, FactsError
        As of :func:`perfmodel.fitting.fit_weights`.
    """
    require_rows(measurements)
    asked = options or FitOptions()
    if nonnegative:
        asked = asked.model_copy(update={"nonnegative": True})
    return fitted_model(fitting.FamilyFits(measurements, find_family(family), asked, others, samples=samples))


def require_rows(measurements: Any) -> None:
    """Raise an ArgumentError for what are no measurements."""
    rows = isinstance(measurements, Iterable) and hasattr(measurements, "facts")
    require(rows, "fit: measurements", measurements, "what store.read returned")


def fitted_model(fits: fitting.FamilyFits) -> FittedModel:
    """Return the model that is fitted to the measured rows, with intervals from all rows."""
    return FittedModel(fits.weights, fits.known.facts, fits.family)


def load(path: str | Path, family: str | Family | None = None) -> FittedModel:
    """Read a model that :meth:`FittedModel.save` wrote.

    The facts of the device are those of the fit. If the file does not hold them, they are read from ``device.json`` and
    ``facts.yaml`` beside it. `family` is needed only for a user's own: a value that cannot be found by its name, or the
    path of a Python file. Nothing that a weights file names is run; the file that you give must have the SHA-256 that
    the weights file keeps.

    Raises
    ------
    WeightsFileError
        If the file is missing or is no weights file of this schema.
    UnknownFamilyError, FamilyFileError, ExpressionError
        If it belongs to a family that does not exist, or `family` cannot be used.
    FamilyUnaskedError
        If it belongs to a family in a Python file, and `family` is not given.
    FamilyDiffersError
        If `family` is not the family of the fit, or has changed since.
    StoreError, FactsError
        If ``device.json`` is no description of a device, or ``facts.yaml`` not what it should be.
    """
    given = None if family is None else find_family(family)
    fitted = read_weights(path, family=given)
    facts = DeviceFacts.from_json(fitted.facts) if fitted.facts else facts_beside(Path(path))
    return FittedModel(fitted, facts if facts and facts.name == fitted.device else None, given, Path(path))


def facts_beside(weights: Path) -> DeviceFacts | None:
    """Return what ``device.json`` and ``facts.yaml`` beside a weights file tell of a device; None without the first."""
    device, written = weights.with_name("device.json"), weights.with_name(FACTS_FILE)
    if not device.is_file():
        return None
    return read_device(device).updated(read_facts(written) if written.is_file() else {})
