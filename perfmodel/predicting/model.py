"""Fitted models: the run time of a kernel at given sizes, and its terms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

import numpy as np

from perfmodel import fitting
from perfmodel.counts import KernelCounts
from perfmodel.counts.quasipoly.arguments import given_size
from perfmodel.counts.tables import if_tests_are_false, with_own_functions
from perfmodel.display import DataFrame, data_frame, html_table
from perfmodel.documents import one_line, require
from perfmodel.errors import PredictionError, UnmeasuredFeatureError, listed
from perfmodel.facts import FACTS_FILE, DeviceFacts, Fact, read_device, read_facts
from perfmodel.facts.doubts import AssumedFact, ContradictingFacts, doubted_facts
from perfmodel.features import matches
from perfmodel.fitting.cautions import MISSING, Caution, FromRelative
from perfmodel.fitting.conformal import WIDE, Quantiles, check_level, scaled
from perfmodel.fitting.weights_file import FitOptions, FittedWeight, FittedWeights, family_of, read_weights
from perfmodel.models import Family, find_family
from perfmodel.models.model import RunTime, quantity_of
from perfmodel.predicting import relatives
from perfmodel.predicting.prediction import DEAREST, Anchor, Prediction, no_device_clock, union
from perfmodel.predicting.relatives import RelatedWeight
from perfmodel.quantities.case import Case
from perfmodel.store import Measurements
from perfmodel.store.measurement import Clock
from perfmodel.values import FrozenValue, cached_method

MATTERS = 0.01  # an uncertain fact or ratio gets a caution if it changes a prediction by more than this share
LEAST_SHARE = 1e-6  # least share of a quantity that a kernel has


@dataclass(frozen=True)
class FittedModel(FrozenValue):
    """A model family with weights for one device. It predicts by the family's expression and a kernel's counts."""

    fitted: FittedWeights  #: The weights.
    facts: DeviceFacts | None = field(default=None, compare=False)  #: Of the device, for families that need them.
    given: Family | None = field(default=None, compare=False)  #: A user's own family, which has no known name.
    path: Path | None = field(default=None, compare=False)  #: The weights file; None for a new fit.
    clock: Clock = "host"  #: Of the predictions (:meth:`by_clock`).
    strict: bool = False  #: As in :meth:`predict`.
    #: Weights estimated from relatives, by name.
    related: Mapping[str, RelatedWeight] = field(default_factory=dict, compare=False, repr=False)
    anchor: Anchor | None = None  #: A run of the kernel that scales the predictions (:meth:`anchored_by`).

    def __repr__(self) -> str:
        return one_line(f"<FittedModel {self._title}>")

    @property
    def _title(self) -> str:
        return f"{self.name}: {len(self.fitted.weights)} weights from {self.fitted.rows} measurements"

    def _repr_html_(self) -> str:
        rows = [(name, f"{w.value:.4g}", "-" if w.standard_error is None else f"{w.standard_error:.1e}", w.unit,
                 ", ".join(w.marks)) for name, w in self.fitted.weights.items()]  # fmt: skip
        return html_table([("weight", "value", "std. error", "unit", "marks"), *rows], self._title, self.notes)

    def to_frame(self) -> DataFrame:
        """Return a pandas table with a row for each weight: value, standard error, unit and marks."""
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
        """The family and the device as text, with the device that the weights were transferred from."""
        source = self.fitted.transferred_from
        return f"{self.fitted.family} on {self.device}" + (f", by facts, with weights of {source}" if source else "")

    @property
    def clock_text(self) -> str:
        """The clock of the predictions as text."""
        if self.fitted.launch_s is None:
            recorded = self.facts is not None and self.facts.recorded
            return "times by the clock of their recording" if recorded else "times by the host's clock"
        return "times by the device's clock" if self.clock == "device" else "times by the host's clock, with the launch"

    @cached_property
    def weights(self) -> Mapping[str, float]:
        """The value of each weight, in its unit."""
        return MappingProxyType({n: w.value for n, w in self.fitted.weights.items()})

    @cached_property
    def units(self) -> Mapping[str, str]:
        """The unit of each weight, as in ``s/operation``."""
        return MappingProxyType({n: w.unit for n, w in self.fitted.weights.items()})

    @cached_property
    def standard_errors(self) -> Mapping[str, float | None]:
        """The standard error of each weight, in the unit of the weight. An unknown error is None."""
        return MappingProxyType({n: w.standard_error for n, w in self.fitted.weights.items()})

    @property
    def notes(self) -> tuple[str, ...]:
        """Warnings about the weights, one sentence each."""
        return self.fitted.notes

    @property
    def below_zero(self) -> tuple[str, ...]:
        """The negative weights of a plain sum. With such weights the model may predict negative times."""
        return tuple(name for name, value in self.weights.items() if self.family.plain_sum and value < 0)

    def save(self, path: str | Path) -> None:
        """Write the weights as JSON, atomically. Raise an OutputError if that fails."""
        self.fitted.save(path)

    def with_facts(self, facts: Mapping[str, Fact]) -> FittedModel:
        """Return the model with other facts of the device, by key. These facts replace known or fitted ones."""
        known = (self.facts or DeviceFacts(self.device, "", "", ())).updated(facts)
        given = {weight.name: weight.fact for weight in self.family.weights if weight.fact and weight.fact in facts}
        weights = {
            name: weight.model_copy(update={"value": float(known.value(given[name])), "standard_error": None})
            if name in given else weight
            for name, weight in self.fitted.weights.items()
        }
        return replace(self, facts=known, fitted=self.fitted.model_copy(update={"weights": weights}))

    def by_clock(self, clock: Clock) -> FittedModel:
        """Return the model with predictions by the host's clock (with the launch), or by the device's (without launch).

        Raise an OptionError for the device's clock if the weights were fitted to the host's times.
        """
        require(clock in get_args(Clock), "by_clock: clock", clock, " or ".join(get_args(Clock)))
        if clock == "device" and self.fitted.launch_s is None:
            raise no_device_clock(self.name)
        return replace(self, clock=clock)

    def to_be_anchored(self) -> FittedModel:
        """Return the model with the intervals of anchored predictions. Without such intervals it is unchanged."""
        errors = self.fitted.anchored
        update = {"conformal": errors.conformal if errors else None}
        return replace(self, fitted=self.fitted.model_copy(update=update))

    def anchored_by(self, anchor: Anchor) -> FittedModel:
        r"""Return the model for one kernel, scaled by a run of this kernel: :math:`p \, (t_a / p_a)^b`."""
        return replace(self.to_be_anchored(), anchor=anchor)

    def predict(
        self, kernel: Any, sizes: Mapping[str, Any] | None = None, /, *, level: float = 0.9,
        allow_unmeasured: bool = False, strict: bool = False, **more_sizes: Any
    ) -> Prediction:  # fmt: skip
        r"""Predict the run time of a kernel [s]: for a linear family :math:`T = \sum_i w_i x_i` with its features x.

        Parameters
        ----------
        kernel
            A Loopy ``TranslationUnit``, or its counts. For many predictions, counting once is much faster.
        sizes, **more_sizes
            Every size parameter of the kernel: an integer, or an array of integers. Use the mapping for a size with the
            name of an argument of this method.
        level
            Probability with which the interval should contain the measured time.
        allow_unmeasured
            Whether features that no measurement exercised, and that have no relative, count as free.
        strict
            Whether features that no measurement exercised are refused even if they have a relative. If false, the cost
            of such a feature is the cost of the relative, times the ratio of both costs on other devices. The scatter
            of these ratios widens the interval, and a caution names both features.

        Raises
        ------
        UnmeasuredFeatureError
            If the kernel needs a feature that is refused.
        PredictionError
            If the time is negative at some of the sizes.
        KernelError
            If work-groups of the kernel have more work-items or local memory than the device is known to allow.
        SizeError, AssumptionError
            If a size is missing, unknown, not an integer, breaks an assumption of the kernel, or is negative although
            loops or arrays depend on it.
        FactsError, FamilyError
            If the family needs an unknown fact of the device, or does not compute the quantities that it declares.
        """
        check_level(level)
        require(sizes is None or isinstance(sizes, Mapping), "predict: sizes", sizes, "a mapping of names to sizes")
        at = {**(sizes or {}), **more_sizes}
        at = {name: given_size(name, size, tuple(at)) for name, size in at.items()}
        counts = self.counted(kernel, at)
        if self.facts is not None:
            counts.check_launch(self.facts)
        model = self._refusing if strict and not self.strict else self
        made = model._with_gathers(counts, at, level, allow_unmeasured)
        if counts.unknown_tests:
            never = model._with_gathers(if_tests_are_false(counts), at, level, True)
            made = made.covering_false_tests(never, counts.unknown_tests)
        if counts.own_functions:
            with suppress(PredictionError):  # a negative weight of functions
                free, dearest = (
                    model._with_gathers(with_own_functions(counts, times), at, level, True) for times in (0, DEAREST)
                )
                made = made.covering_own_functions(free, dearest, counts.own_functions)
        if self.clock == "device":
            made = made.by_device()
        return self.anchor.applied(made) if self.anchor else made

    def counted(self, kernel: Any, sizes: Mapping[str, Any] | None = None) -> KernelCounts:
        """Return the counts of a kernel for the device of the model. Counts are returned unchanged."""
        if isinstance(kernel, KernelCounts):
            return kernel
        from perfmodel.counts import count

        return count(kernel, subgroup_size=self.fitted.subgroup_size, sizes=sizes)

    def _with_gathers(
        self, counts: KernelCounts, at: Mapping[str, Any], level: float, allow_unmeasured: bool
    ) -> Prediction:
        made = self._predicted(counts, at, level, allow_unmeasured)
        if not counts.gathered:
            return made
        return made.averaged_with(self._predicted(counts.most_local, at, level, True), counts.gathered)

    def _predicted(
        self, counts: KernelCounts, at: Mapping[str, Any], level: float, allow_unmeasured: bool
    ) -> Prediction:
        case = Case(counts, at, self.facts, self.family.name)
        features = case.features_by(self.family.classes)  # first, since they check all sizes of an array at once
        values = self.family.values(case) if self.family.resources else features
        missing = self._unmeasured(values)
        model = self._with_relatives(values, missing)
        unmeasured = tuple(name for name in missing if self._weight_of(name) not in model.related)
        if unmeasured and not allow_unmeasured:
            problem = f"prediction withheld: no measurement on '{self.device}' ever exercised {listed(unmeasured)}"
            advice = f"measure what the kernel needs ({MISSING}), or pass allow_unmeasured=True to count it as free"
            raise UnmeasuredFeatureError(problem, advice, features=unmeasured, device=self.device)
        if not self.family.resources:
            values = self.family.values(case)
        return model._at(case, features, values, level, unmeasured)

    def _at(
        self, case: Case, features: Mapping[str, Any], values: Mapping[str, Any], level: float,
        unmeasured: tuple[str, ...],
    ) -> Prediction:  # fmt: skip
        seconds, terms = self._run_time.evaluate(values)
        if seconds < 0 if isinstance(seconds, float) else np.any(seconds < 0):
            raise _negative_time(case.counts.name, self.family.name, seconds, terms)
        q = None if self._quantiles is None else self._quantiles.at(level)
        half_width = None if q is None else self._half_width(case, values, q)
        interval = None if half_width is None else scaled(seconds, half_width)
        interval, from_relatives = self._widened(interval, values, seconds, half_width, level)
        interval, doubts = self._covering(interval, case, seconds, half_width)
        cautions = (
            *from_relatives, *self._cautions(seconds, features, half_width, level),
            *self._wide(case, values, half_width, q), *(
                f"statistics[{key!r}] is {value:g}, but at most {most:g} at these sizes; give a smaller number, or "
                "larger sizes" for key, value, most in case.counts.outside(case.parameters)
            ), *doubts,
        )  # fmt: skip
        return Prediction(seconds, terms, interval, unmeasured, cautions, case.counts.name, case.parameters, level)

    def lacking(self, counts: KernelCounts, sizes: Mapping[str, Any]) -> tuple[str, ...]:
        """Return, sorted, features and quantities that a kernel needs at some sizes and no measurement exercised."""
        return self._unmeasured(self._values(counts, sizes))

    def share_of(self, quantity: str, counts: KernelCounts, sizes: Mapping[str, Any]) -> tuple[float, float]:
        """Return the share [1] of a quantity, or of its relative, in a kernel's predicted time, and the time [s]."""
        values = self._values(counts, sizes)
        if not values.get(quantity):
            return 0.0, 0.0
        model = self if quantity in self._reliable_weights else self._extended((quantity,))
        by_weight = {name: abs(part) for name, part in model._run_time.by_weight(values).items()}
        share = by_weight.get(self._weight_of(quantity), 0.0) / (sum(by_weight.values()) or 1.0)
        return max(share, LEAST_SHARE), float(model._run_time.seconds(values))

    def _values(self, counts: KernelCounts, sizes: Mapping[str, Any]) -> Mapping[str, Any]:
        return self.family.values(Case(counts, sizes, self.facts, self.family.name))

    @cached_property
    def _run_time(self) -> RunTime:
        return RunTime(self.family, self.weights, self.fitted.launch_s)

    @cached_property
    def _refusing(self) -> FittedModel:
        return replace(self, strict=True)

    def _unmeasured(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        is_free = self._is_free
        return tuple(sorted(name for name, value in values.items() if is_free(name) and np.any(value)))

    @cached_property
    def _is_free(self) -> Callable[[str], bool]:
        weights, takes, needs = self.weights, self.family.takes, self._never_exercised
        return lru_cache(None)(lambda name: name not in weights and (takes(name) or name in needs))

    @cached_property
    def _never_exercised(self) -> frozenset[str]:
        measured = self.fitted.measured
        return self._run_time.charged - {*measured.features} if measured else frozenset()

    def _half_width(self, case: Case, values: Mapping[str, Any], q: float) -> Any:
        """Return h. The interval is from p/exp(h) to p exp(h). If the interval is unbounded, h is infinite."""
        conformal, private = self.fitted.conformal, float(case.counts.launch.private_bytes)
        return conformal and conformal.half_width(q, self._by_weight(values) if conformal.scale else {}, private)

    def local_scale(self, prediction: Prediction) -> Any:
        """Return the scale of the interval of a prediction (:mod:`perfmodel.fitting.conformal`), or 1 if unknown."""
        q = self._quantiles.at(prediction.level) if self._quantiles else math.inf
        if prediction.interval is None or not 0 < q < math.inf:
            return 1.0
        with np.errstate(all="ignore"):
            return np.log(np.divide(prediction.interval[1], prediction.interval[0])) / (2 * q)

    @cached_property
    def _quantiles(self) -> Quantiles | None:
        return self.fitted.conformal.quantiles if self.fitted.conformal else None

    def _by_weight(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        by_weight = dict(self._run_time.by_weight(values))
        for name, weight in self.related.items():
            if name in by_weight:
                by_weight[weight.relative] = by_weight.get(weight.relative, 0.0) + by_weight.pop(name)
        return by_weight

    def _cautions(self, seconds: Any, values: Mapping[str, Any], half_width: Any, level: float) -> Iterator[Caution]:
        if not (seconds > 0 if isinstance(seconds, float) else np.all(seconds > 0)):
            yield "the predicted time is not positive: the kernel is outside the fitted range"
        if isinstance(half_width, float) and half_width == math.inf and (conformal := self.fitted.conformal):
            what, n = "devices" if self.fitted.transferred_from else "groups of kernels", conformal.group_count
            yield f"no bounds can be given at {level:.0%}: {n} {what} give bounds up to {n / (n + 1):.1%}"
        if measured := self.fitted.measured:
            yield from measured.far_outside(seconds, self.weights, values)

    def _wide(self, case: Case, values: Mapping[str, Any], half_width: Any, q: float | None) -> Iterator[Caution]:
        """Yield a caution with the reason if an interval is wide. For several sizes, the widest interval decides."""
        scale = self.fitted.conformal and self.fitted.conformal.scale
        if not scale or not q or q == math.inf:
            return
        widest = (half_width if isinstance(half_width, float) else float(np.max(half_width))) / q
        if widest > WIDE:
            index, shape = int(np.argmax(half_width)), np.shape(half_width)
            by_weight = self._by_weight(values).items()
            at = {name: float(np.broadcast_to(part, shape).flat[index]) for name, part in by_weight}
            reason = scale.reason(at, float(case.counts.launch.private_bytes))
            yield f"its interval is {widest:.1f} times as wide (in log time) as for measured kernels: {reason}"

    def _covering(
        self, interval: tuple[Any, Any] | None, case: Case, seconds: Any, half_width: Any
    ) -> tuple[tuple[Any, Any] | None, tuple[Caution, ...]]:
        """Return an interval that contains predictions for all values of uncertain facts, and the cautions."""
        cautions: list[Caution] = []
        for doubt, other in self._doubted:
            there = other._run_time.seconds(other.family.values(case.with_facts(other.facts)))
            if np.any(abs(there - seconds) > MATTERS * seconds):
                cautions.append(str(doubt))
            if interval is not None:
                interval = union(interval, scaled(there, half_width))
        return interval, tuple(cautions)

    @cached_property
    def _doubted(self) -> tuple[tuple[ContradictingFacts | AssumedFact, FittedModel], ...]:
        if self.facts is None or self.family.plain_sum:
            return ()
        doubts: list[tuple[ContradictingFacts | AssumedFact, Fact]] = [*doubted_facts(self.facts)]
        doubts += self.family.assumed_facts(self.facts)
        return tuple((each, self.with_facts({each.key: other})) for each, other in doubts)

    def _with_relatives(self, values: Mapping[str, Any], missing: tuple[str, ...]) -> FittedModel:
        """Return the model with costs from relatives for quantities whose weight is missing or a doubtful zero."""
        if self.strict or self.related:
            return self
        names = (*missing, *(name for name in self._doubted_free if np.any(values.get(name, 0.0))))
        return self._extended(names) if names else self

    @cached_method
    def _extended(self, names: tuple[str, ...]) -> FittedModel:
        related = {self._weight_of(name): weight for name in names if (weight := self._related(name))}
        added = {
            name: FittedWeight(value=weight.value, unit=self.family.weight_unit(name))
            for name, weight in related.items()
        }
        fitted = self.fitted.model_copy(update={"weights": {**self.fitted.weights, **added}})
        return replace(self, fitted=fitted, related=related) if related else self

    def _weight_of(self, quantity: str) -> str:
        return f"w_{quantity}" if self.family.is_quantity(quantity) else quantity

    def _related(self, quantity: str) -> RelatedWeight | None:
        table = relatives.ratios().get(self.family.name)
        kind = str(self.facts.value("device_type")) if self.facts and "device_type" in self.facts else "cpu"
        known = self._reliable_weights
        ratio = None if table is None else table.nearest(quantity, known, kind)
        if ratio is None:
            return None
        value, relative = known[ratio.relative] * math.exp(ratio.mean), self._weight_of(ratio.relative)
        return RelatedWeight(quantity, relative, value, ratio, quantity in self._doubted_free)

    @cached_property
    def _reliable_weights(self) -> Mapping[str, float]:
        return relatives.known_weights(self.fitted.weights)

    @cached_property
    def _doubted_free(self) -> frozenset[str]:
        """Quantities whose fitted cost of zero is doubtful. On every device they take longer than an instruction."""
        weights = self.fitted.weights.items()
        free = {name.removeprefix("w_") for name, w in weights if w.value == 0 and "at bound" in w.marks}
        return frozenset(name for name in free if matches(relatives.NEVER_FREE, name) and self.family.resources)

    def _widened(
        self, interval: tuple[Any, Any] | None, values: Mapping[str, Any], seconds: Any, half_width: Any, level: float
    ) -> tuple[tuple[Any, Any] | None, tuple[FromRelative, ...]]:
        r"""Return an interval that also covers errors of the costs from relatives, and the relatives that matter.

        The half width in log time becomes :math:`(h^2 + \sum_q \log^2(T_q/T))^{1/2}`. Here h is the half width without
        relatives, and :math:`T_q` is the time if the cost of q is wrong by its spread.
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


def _negative_time(kernel: str, family: str, seconds: Any, terms: Mapping[str, Any]) -> PredictionError:
    times = np.atleast_1d(seconds)
    lowest, below = int(np.argmin(times)), int(np.count_nonzero(times < 0))
    at = {name: float(np.broadcast_to(term, times.shape).flat[lowest]) for name, term in terms.items()}
    named = [f"{name} ({at[name]:.3g} s)" for name in sorted(at, key=at.__getitem__) if at[name] < 0]
    where = f" at {below} of {times.size} sizes" if np.ndim(seconds) else ""
    return PredictionError(
        f"'{family}' predicts {float(times.flat[lowest]):.3g} s for '{kernel}'{where}; negative are {listed(named)}",
        "use the family that calibration recommends, fit without negative weights (pm.fit(nonnegative=True)), or "
        "measure what the kernel needs (perfmodel measure --for)", seconds=float(times.flat[lowest]),
    )  # fmt: skip


def fit(
    measurements: Measurements, family: str | Family = "stevens_kloeckner_2016", nonnegative: bool = False,
    options: FitOptions | None = None, others: Measurements | None = None, samples: Measurements | None = None
) -> FittedModel:  # fmt: skip
    """Fit a model family, given as a value or by its name, to measured kernels of one device with their counts.

    Weights minimise the sum of squared relative errors (:func:`perfmodel.fitting.fit_linear`). Features that no
    measurement exercises get no weight. The model's ``notes`` list weights that are not determined separately.

    Parameters
    ----------
    options, nonnegative
        Options of the fit. ``nonnegative=True`` overrides the options.
    others
        Measured kernels that the fit does not use, such as test kernels. Intervals are computed from their errors too.
    samples
        Measured random kernels that the fit does not use. Samples have half of the weight in intervals, and help to
        choose facts.

    Raises
    ------
    UnknownNameError, FitError, FactsError
        If the family does not exist, the measurements do not allow a fit, or a fact is missing.
    """
    require_rows(measurements)
    asked = options or FitOptions()
    if nonnegative:
        asked = asked.model_copy(update={"nonnegative": True})
    return fitted_model(fitting.FamilyFits(measurements, find_family(family), asked, others, samples=samples))


def require_rows(measurements: Any) -> None:
    """Raise an ArgumentError for a value that is not measurements."""
    rows = isinstance(measurements, Iterable) and hasattr(measurements, "facts")
    require(rows, "fit: measurements", measurements, "what store.read returned")


def fitted_model(fits: fitting.FamilyFits) -> FittedModel:
    """Return the model that is fitted to the measured rows, with intervals from all rows."""
    return FittedModel(fits.weights, fits.known.facts, fits.family)


def load(path: str | Path, family: str | Family | None = None) -> FittedModel:
    """Read a model that :meth:`FittedModel.save` wrote.

    If the file has no facts of the device, the facts come from ``device.json`` and ``facts.yaml`` in the same folder.
    `family` is needed only for a user's own family. Give a value that cannot be found by its name, or the path of a
    Python file with the SHA-256 of the fit. Code that a weights file names is never run. Raise a WeightsError if the
    file is missing, is not a weights file of this schema, or belongs to another family.
    """
    given = None if family is None else find_family(family)
    fitted = read_weights(path, family=given)
    facts = DeviceFacts.from_json(fitted.facts) if fitted.facts else facts_beside(Path(path))
    return FittedModel(fitted, facts if facts and facts.name == fitted.device else None, given, Path(path))


def facts_beside(weights: Path) -> DeviceFacts | None:
    """Return the facts in ``device.json`` and ``facts.yaml`` beside a weights file, or None without ``device.json``."""
    device, written = weights.with_name("device.json"), weights.with_name(FACTS_FILE)
    if not device.is_file():
        return None
    return read_device(device).updated(read_facts(written) if written.is_file() else {})
