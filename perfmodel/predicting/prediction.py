"""A predicted run time, as a value that shows itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from perfmodel.display import data_frame, html_table, in_words, interval_text, percent, seconds_text
from perfmodel.documents import one_line

if TYPE_CHECKING:
    from pandas import DataFrame

    from perfmodel.fitting.uncertainty.cautions import Caution

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
        Features that were counted as free because no measurement exercised them.
    cautions
        Reasons not to trust the prediction (:mod:`perfmodel.fitting.uncertainty.cautions`): a value far outside of the
        measured range, a time that is not above zero, an interval without bounds, an anchor that is suspicious.
    kernel, sizes
        Name of the kernel, and its size parameters: numbers, or arrays that together have the shape of ``seconds``.
    level
        Probability that the interval should hold the measured time.
    """

    seconds: Any
    terms: Mapping[str, Any]
    interval: tuple[Any, Any] | None = None
    unmeasured: tuple[str, ...] = ()
    cautions: tuple[Caution, ...] = ()
    kernel: str = ""
    sizes: Mapping[str, Any] = field(default_factory=dict)
    level: float = 0.9

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
        sizes = {name: np.broadcast_to(value, shape) for name, value in self.sizes.items()}
        terms = {name: np.broadcast_to(value, shape) for name, value in self.terms.items()}
        bounds = self.interval and [np.broadcast_to(bound, shape) for bound in self.interval]
        for place in np.ndindex(shape):
            yield Prediction(
                float(self.seconds[place]), {name: float(value[place]) for name, value in terms.items()},
                (float(bounds[0][place]), float(bounds[1][place])) if bounds else None, self.unmeasured, self.cautions,
                self.kernel, {name: value[place].item() for name, value in sizes.items()}, self.level,
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
        notes = [*self.warnings, *[f"counted as free, never measured: {free}"] * bool(free)]
        if np.ndim(self.seconds):
            rows = [_size_row(one) for one in self.at_each_size()]
            return html_table([(*self.sizes, "seconds", "interval", "largest term"), *rows], self._title, notes, left=0)
        if not self.adds_up:
            notes.append("the terms overlap: they do not add up to the time")
        shown = sorted(((name, value) for name, value in self.terms.items() if value), key=lambda pair: -abs(pair[1]))
        cells = [
            (name, seconds_text(value), percent(value / self.seconds if self.seconds > 0 else None))
            for name, value in shown
        ]
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
        return data_frame(map(_record, self.at_each_size()), columns)

    # }}}


def _size_row(one: Prediction) -> tuple[str, ...]:
    largest = max(one.terms.items(), key=lambda pair: abs(pair[1]), default=("-", 0.0))[0]
    return (*map(str, one.sizes.values()), seconds_text(one.seconds), interval_text(one.interval), largest)


def _record(one: Prediction) -> dict[str, Any]:
    low, high = one.interval or (np.nan, np.nan)
    terms = {f"term.{name}": value for name, value in one.terms.items()}
    return {**one.sizes, "seconds": one.seconds, "low_s": low, "high_s": high, **terms}
