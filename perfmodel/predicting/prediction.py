"""The predicted run time of a kernel, and a measured run that scales it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from perfmodel.display import DataFrame, data_frame, html_table, interval_text, percent, seconds_text, values_text
from perfmodel.documents import one_line
from perfmodel.errors import OptionError, listed
from perfmodel.features import HOST_LAUNCH
from perfmodel.fitting.anchored import Anchored
from perfmodel.fitting.cautions import Caution
from perfmodel.fitting.conformal import scaled
from perfmodel.store.measurement import Clock

MATTERS = 1.05  # above this factor between times with local and random indices, or true and false tests: a caution
DEAREST = 10
"""Functions of OpenCL's library that take as long as a long function of the user in C.

Kernels of sumpy with Hankel and Bessel functions took 2 to 10 times as long as predicted (docs/lab/others.md).
"""
ADDS_UP = 1e-6  # terms add up if the relative difference between their sum and the time is at most this


class Share(NamedTuple):
    """A term of a predicted time: the seconds of the term, and their share of the time [1]."""

    term: str
    seconds: float
    share: float


def shares(seconds: float, terms: Mapping[str, float]) -> tuple[Share, ...]:
    """Return the terms of a time [s], the largest first. If the time is not above zero, shares are NaN."""
    whole = seconds if seconds > 0 else math.nan
    largest_first = sorted(terms.items(), key=lambda pair: -abs(pair[1]))
    return tuple(Share(name, part, part / whole) for name, part in largest_first)


@dataclass(frozen=True, eq=False, repr=False)
class Prediction:
    """The predicted run time of a kernel. At arrays of sizes, times are float64 arrays of the shape of the sizes.

    The terms are features if the family is a plain sum, and otherwise parts of its expression. If the family is
    additive, terms add up to ``seconds``.
    """

    seconds: Any  #: Run time [s].
    terms: Mapping[str, Any]  #: Seconds of each term by its name.
    interval: tuple[Any, Any] | None = None  #: Lower and upper bound [s] at the level; None without intervals.
    unmeasured: tuple[str, ...] = ()  #: Features counted as free: never measured, and without a relative.
    cautions: tuple[Caution, ...] = ()  #: Reasons not to trust the prediction (:mod:`perfmodel.fitting.cautions`).
    kernel: str = ""  #: Name of the kernel.
    sizes: Mapping[str, Any] = field(default_factory=dict)  #: Size parameters of the kernel.
    level: float = 0.9  #: Probability with which the interval should contain the time.
    clock: Clock = "host"  #: The ``host``'s, with the launch, or the ``device``'s.

    def by_device(self) -> Prediction:
        """Return the prediction by the device's clock: seconds and bounds without the launch."""
        if self.clock == "device":
            return self
        if HOST_LAUNCH not in self.terms:
            raise no_device_clock(self.kernel)
        terms = dict(self.terms)
        launch = terms.pop(HOST_LAUNCH)
        seconds, interval = self.seconds - launch, self.interval
        if interval is not None:
            low = interval[0] - launch
            interval = max(low, 0.0) if isinstance(low, float) else np.maximum(low, 0.0), interval[1] - launch
        return replace(self, seconds=seconds, terms=terms, interval=interval, clock="device")

    def averaged_with(self, local: Prediction, arrays: tuple[str, ...]) -> Prediction:
        """Return the geometric mean of this prediction and one with local indices. The interval covers both."""
        if (factor := self._factor(local)) is None:
            return self
        mean = {name: (value * local.terms[name]) ** 0.5 for name, value in self.terms.items()}
        cautions = self.cautions
        if factor > MATTERS:
            spans = ", ".join(f"'{array}:span': 1000" for array in arrays)
            cautions += (
                f"data index {', '.join(arrays)}, and the time differs by a factor of {factor:.1f} between contiguous "
                "and random indices; the prediction is the geometric mean; give the range of indices of neighbouring "
                f"work-items as statistics {{{spans}}}",
            )
        seconds = (self.seconds * local.seconds) ** 0.5
        return replace(self, seconds=seconds, terms=mean, interval=self._union(local), cautions=cautions)

    def covering_false_tests(self, false: Prediction, tests: tuple[str, ...]) -> Prediction:
        """Return this prediction, for tests of data that are always true. The interval also covers false tests."""
        if (factor := self._factor(false)) is None:
            return self
        cautions = self.cautions
        if factor > MATTERS:
            keys = ", ".join(f"{test!r}: 0.5" for test in tests)
            cautions += (
                f"data decide {listed(tests)}, counted as always true; the time differs by a factor of {factor:.1f} if "
                f"never true, and intervals cover both; give the probability as statistics {{{keys}}}",
            )
        return replace(self, interval=self._union(false), cautions=cautions)

    def covering_own_functions(self, free: Prediction, dearest: Prediction, names: tuple[str, ...]) -> Prediction:
        """Return this prediction. The interval also covers functions that take no time, and the dearest ones."""
        cautions = self.cautions
        if (factor := free._factor(dearest)) is not None and factor > MATTERS:
            cautions += (
                f"perfmodel does not read the C code of {listed(names)}; a call counts as one function of OpenCL's "
                f"library, and intervals cover 0 to {DEAREST} of them, a factor of {factor:.1f} in time",
            )
        both = replace(self, interval=self._union(free))
        return replace(both, interval=both._union(dearest), cautions=cautions)

    def _factor(self, other: Prediction) -> float | None:
        """Return the largest factor between two predictions, or None if a time is not above zero."""
        longest, shortest = np.maximum(self.seconds, other.seconds), np.minimum(self.seconds, other.seconds)
        return float(np.max(longest / shortest)) if np.all(shortest > 0) else None

    def _union(self, other: Prediction) -> tuple[Any, Any] | None:
        return union(self.interval, other.interval) if self.interval and other.interval else self.interval

    @property
    def warnings(self) -> tuple[str, ...]:
        """The cautions as text, one sentence each."""
        return tuple(map(str, self.cautions))

    @property
    def adds_up(self) -> bool:
        """Whether the terms add up to the time. If not, the terms overlap."""
        return bool(np.allclose(sum(self.terms.values()), self.seconds, rtol=ADDS_UP, atol=0.0))

    def at_each_size(self) -> Iterator[Prediction]:
        """Yield the prediction at each size, with numbers in place of arrays, in C order."""
        if not np.ndim(self.seconds):
            yield self
            return
        shape = np.shape(self.seconds)

        def numbers(column: Any) -> list[Any]:
            return list(np.broadcast_to(column, shape).ravel().tolist())

        terms = {name: numbers(term) for name, term in self.terms.items()}
        sizes = {name: numbers(values) for name, values in self.sizes.items()}
        lows, highs = map(numbers, self.interval or (0.0, 0.0))
        for i, seconds in enumerate(numbers(self.seconds)):
            interval = None if self.interval is None else (lows[i], highs[i])
            yield Prediction(
                seconds, {name: term[i] for name, term in terms.items()}, interval, self.unmeasured, self.cautions,
                self.kernel, {name: values[i] for name, values in sizes.items()}, self.level, self.clock,
            )  # fmt: skip

    def __repr__(self) -> str:
        return one_line(f"<Prediction {self._title}>")

    @property
    def _title(self) -> str:
        if np.ndim(self.seconds):
            ends = [seconds_text(end(self.seconds)) for end in (np.min, np.max) if self.seconds.size]
            return f"{self.kernel} at {self.seconds.size} sizes: {' to '.join(ends)}".lstrip()
        interval = f" ({interval_text(self.interval)} at {self.level:.0%})" if self.interval else ""
        name = " ".join(filter(None, (self.kernel, values_text(self.sizes))))
        return f"{name}: {seconds_text(self.seconds)}{interval}".removeprefix(": ")

    def _repr_html_(self) -> str:
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
        every = shares(self.seconds, self.terms)
        cells = [(name, seconds_text(value), percent(share)) for name, value, share in every if value]
        return html_table([("term", "seconds", "share"), *cells], self._title, notes)

    def to_frame(self) -> DataFrame:
        """Return a pandas row for each size: the sizes, ``seconds``, ``low_s``, ``high_s`` and ``term.<name>`` [s]."""
        columns = [*self.sizes, "seconds", "low_s", "high_s", *(f"term.{name}" for name in self.terms)]
        rows = (
            (*point.sizes.values(), point.seconds, *(point.interval or (np.nan, np.nan)), *point.terms.values())
            for point in self.at_each_size()
        )
        return data_frame((dict(zip(columns, row, strict=True)) for row in rows), columns)


def no_device_clock(name: str) -> OptionError:
    """Return the error for predictions by the device's clock from weights that were fitted to the host's times."""
    return OptionError(
        f"{name}: the weights were fitted to times of the host's clock, so the launch is not known separately",
        "leave --clock device out, or fit them again to measurements with times by the device's clock (perfmodel fit, "
        "calibrate)",
    )


def union(interval: tuple[Any, Any], other: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return the smallest interval that contains two intervals. Bounds are numbers, or arrays for several sizes."""
    (low, high), (other_low, other_high) = interval, other
    if isinstance(low, float):
        return min(low, other_low), max(high, other_high)
    return np.minimum(low, other_low), np.maximum(high, other_high)


@dataclass(frozen=True)
class Anchor:
    """The measured and the predicted time [s] of a kernel at one size. Their ratio scales predictions at other sizes.

    The measured time is the minimum of one visit (a series of runs), or of several if the first was suspicious
    (`flags`). The predicted time is positive. `errors` are the errors of anchored predictions, if the weights have
    them.
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
        """The factor of predictions at other sizes [1] (:mod:`perfmodel.fitting.anchored`)."""
        return float(self.factor ** (self.errors.carried if self.errors else 1.0))

    @property
    def cautions(self) -> tuple[str, ...]:
        """Reasons not to trust the anchor."""
        return (f"the anchor's run is suspicious ({', '.join(self.flags)}): repeat it",) if self.flags else ()

    def applied(self, plain: Prediction) -> Prediction:
        """Scale a prediction of :meth:`FittedModel.to_be_anchored`. At the anchor's sizes return the measured time."""
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
