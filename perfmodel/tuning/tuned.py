"""The result of a tuning: variants that ran, the best of them, and the time that was saved."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from perfmodel.analyses.roofline import RATES, KernelPoint
from perfmodel.display import DataFrame, columns_text, data_frame, html_table, percent, seconds_text, values_text
from perfmodel.documents import one_line
from perfmodel.report.bounds import rates_text
from perfmodel.store.measurement import LOADED
from perfmodel.tuning.agreement import Agreement
from perfmodel.values import FrozenValue

COLUMNS = ("variant", "status", "seconds", "predicted_s", "expected_s", "best", "tied", "cost_s", "message")
"""Columns of :meth:`Tuned.to_frame`."""


@dataclass(frozen=True)
class TunedVariant:
    """A variant with its predicted time, and its measured time if it ran."""

    name: str
    predicted: float | None = None  #: Predicted time [s]; None if it could not be counted.
    expected: float | None = None  #: Time expected from earlier runs [s]: just before it ran, or at the end.
    status: str = "skipped"  #: ``ok``, or a failure: compile, runtime, timeout, correctness, constraint.
    seconds: float | None = None  #: Measured [s]; None if it did not run well.
    message: str = ""  #: Why it failed.
    flags: tuple[str, ...] = ()  #: Suspicions about the time.
    cost_s: float = 0.0  #: Time of building and running it, or an estimate [s].
    reached: KernelPoint | None = None  #: Its position below the device's roofs.


@dataclass(frozen=True, repr=False)
class Tuned(FrozenValue):
    """A kernel's variants after some have run."""

    device: str
    sizes: Mapping[str, int] = field(hash=False)
    tried: tuple[TunedVariant, ...]  #: Those that ran or failed, in the order of the runs.
    skipped: tuple[TunedVariant, ...]  #: The other variants, sorted by expected time.
    known: float  #: Probability that no skipped variant is faster than the best by more than `within` [1].
    within: float  #: Share by which a variant has to be faster to matter [1].
    ended: str  #: Why the search ended.
    counting_s: float = 0.0  #: Time of building, counting and predicting all variants [s].
    outputs: Agreement = field(default_factory=Agreement)  #: Variants with the same outputs.

    @cached_property
    def best(self) -> TunedVariant | None:
        """The fastest variant that ran and whose output is not in doubt."""
        return min(self._good, key=lambda variant: variant.seconds or 0.0, default=None)

    @cached_property
    def tied(self) -> tuple[TunedVariant, ...]:
        """The variants at most `within` slower than the best, with the best first."""
        if self.best is None or self.best.seconds is None:
            return ()
        most = (1 + self.within) * self.best.seconds
        near = (variant for variant in self._good if variant.seconds and variant.seconds <= most)
        return tuple(sorted(near, key=lambda variant: variant.seconds or 0.0))

    @cached_property
    def left_out(self) -> tuple[TunedVariant, ...]:
        """The variants that cannot be built, counted or predicted."""
        return tuple(variant for variant in self.tried if variant.predicted is None)

    @property
    def _tried_of(self) -> str:
        tried = len(self.tried) - len(self.left_out)
        return f"{tried} of {tried + len(self.skipped)} variants"

    @property
    def spent_s(self) -> float:
        """Time of building and running the variants [s]."""
        return sum(variant.cost_s for variant in self.tried)

    @property
    def saved_s(self) -> float:
        """Estimated time of the skipped variants [s]."""
        return sum(variant.cost_s for variant in self.skipped)

    def __repr__(self) -> str:
        best = f"{self.best.name} takes {seconds_text(self.best.seconds or 0.0)}" if self.best else "nothing ran"
        return one_line(f"<Tuned: {best}, {self._tried_of} tried, {self.ended}>")

    def __str__(self) -> str:
        return "\n".join([columns_text(self.table), "", *self.summary])

    @property
    def table(self) -> list[tuple[str, ...]]:
        """A heading and a row of text for each variant that ran, the fastest first."""
        names = tuple(column.name for column in RATES)
        none = ("-",) * len(names)
        rows: list[tuple[str, ...]] = [("variant", "measured", "times the best", *names, "predicted", "tie")]
        tied = {variant.name for variant in self.tied} if len(self.tied) > 1 else set()
        ran = (variant for variant in self.tried if variant not in self.left_out)
        for variant in sorted(ran, key=lambda variant: (variant.seconds is None, variant.seconds or 0.0)):
            predicted = "-" if variant.predicted is None else seconds_text(variant.predicted)
            if variant.seconds is None:
                rows.append((variant.name, "failed", "-", *none, predicted, ""))
                continue
            measured, times, tie = seconds_text(variant.seconds), "-", "in doubt"
            if self.best is not None and self.best.seconds is not None and self.outputs.allows(variant.name):
                times, tie = f"{variant.seconds / self.best.seconds:.2f}", "tie" if variant.name in tied else ""
            rates = variant.reached.cells if variant.reached else none
            rows.append((variant.name, measured, times, *rates, predicted, tie))
        return rows

    @property
    def summary(self) -> tuple[str, ...]:
        """Sentences on the result."""
        compared = self.outputs.sentences if self.outputs != Agreement() else ()
        if self.best is None or self.best.seconds is None:
            return (self._nothing, *compared)
        reached = f" ({rates_text(self.best.reached)})" if self.best.reached else ""
        sentences = [f"best: {self.best.name}, {seconds_text(self.best.seconds)}{reached}"]
        if len(self.tied) > 1:
            names = ", ".join(variant.name for variant in self.tied)
            sentences.append(f"tied, with times that differ by at most {percent(self.within)}: {names}")
        spent = f"{self._tried_of} were tried in {seconds_text(self.spent_s)}"
        sentences.append(f"{spent}, after {seconds_text(self.counting_s)} of counting; {self.ended}")
        if self.skipped:
            faster = f"that one of them is more than {percent(self.within)} faster"
            saved = f"{len(self.skipped)} were skipped, which would have taken about {seconds_text(self.saved_s)}"
            sentences.append(f"{saved}; the model gives a probability of {percent(1 - self.known)} {faster}")
        loaded = sum(LOADED in variant.flags for variant in self.tried)
        if loaded:
            sentences.append(f"{loaded} times were measured while other programs ran: run it again on a quiet machine")
        return (*sentences, *compared)

    def _repr_html_(self) -> str:
        title = f"variants that ran on {self.device}" + (f", {values_text(self.sizes)}" if self.sizes else "")
        return html_table(self.table, title, self.summary)

    def to_frame(self) -> DataFrame:
        """Return a pandas table of :data:`COLUMNS`, a row for each variant in the order of the runs."""
        return data_frame(self.records(), COLUMNS)

    def records(self) -> list[dict[str, Any]]:
        """Return a dict of :data:`COLUMNS` for each variant in the order of the runs."""
        tied = {variant.name for variant in self.tied}
        return [{
            "variant": variant.name, "status": variant.status, "seconds": variant.seconds,
            "predicted_s": variant.predicted, "expected_s": variant.expected, "best": variant == self.best,
            "tied": variant.name in tied, "cost_s": variant.cost_s, "message": variant.message,
        } for variant in (*self.tried, *self.skipped)]  # fmt: skip

    @property
    def _good(self) -> list[TunedVariant]:
        return [variant for variant in self.tried if variant.seconds and self.outputs.allows(variant.name)]

    @property
    def _nothing(self) -> str:
        if any(variant.seconds for variant in self.tried):
            return "outputs are in doubt, so no variant is the best"
        failures = (f"{variant.name}: {variant.status}, {variant.message}" for variant in self.tried)
        first = next(failures, "there are none")
        return f"none of the {len(self.tried)} variants tried runs; the first error: {first}"
