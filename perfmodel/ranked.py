"""Ranked variants of a kernel, as values that show themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from perfmodel.display import data_frame, html_table, interval_text, one_line, percent, seconds_text

if TYPE_CHECKING:
    from pandas import DataFrame

    from perfmodel.errors import PerfModelError

COLUMNS = ("variant", "seconds", "low_s", "high_s", "fastest", "tied", "to_measure", "unmeasured")
"""Columns of :meth:`Ranking.to_frame`, before those of the terms."""


@dataclass(frozen=True, repr=False)
class RankedVariant:
    """A variant of a kernel with its predicted time.

    Parameters
    ----------
    name
        Name of the variant.
    seconds, interval, warnings, terms, unmeasured
        As of :class:`perfmodel.predict.Prediction`, at one size.
    fastest
        Probability that it is the fastest of all [1]; None where the model cannot tell ties
        (:func:`perfmodel.ranking.with_ties`).
    tied
        Whether it cannot be told apart from the one predicted fastest; None likewise.
    to_measure
        Whether it is in the smallest set that holds the fastest with the probability asked for; None likewise.
    """

    name: str
    seconds: float
    interval: tuple[float, float] | None = None
    warnings: tuple[str, ...] = ()
    terms: Mapping[str, float] = field(default_factory=dict)
    unmeasured: tuple[str, ...] = ()
    fastest: float | None = None
    tied: bool | None = None
    to_measure: bool | None = None

    def __repr__(self) -> str:
        interval = f" ({interval_text(self.interval)})" if self.interval else ""
        tie = ", tied" * bool(self.tied)
        return one_line(f"<RankedVariant {self.name}: {seconds_text(self.seconds)}{interval}{tie}>")


class Ranking(tuple[RankedVariant, ...]):
    """Variants of a kernel, the one predicted fastest first: a tuple that shows itself as a table.

    Parameters
    ----------
    variants
        The variants.
    errors
        By name why others cannot be ranked (:func:`perfmodel.rank` with `jobs`).
    """

    errors: Mapping[str, PerfModelError]

    def __new__(
        cls, variants: Iterable[RankedVariant] = (), errors: Mapping[str, PerfModelError] | None = None
    ) -> Ranking:
        """Make the tuple, with the errors beside it."""
        found = super().__new__(cls, variants)
        found.errors = dict(errors or {})
        return found

    def __repr__(self) -> str:
        return one_line(f"<Ranking of {len(self)} variants, fastest first: {', '.join(one.name for one in self)}>")

    @property
    def table(self) -> list[tuple[str, ...]]:
        """A heading and a row of text for each variant; how probably it is the fastest, and ties, where known."""
        known = any(one.fastest is not None for one in self)
        rows = [("variant", "seconds", "times the best", *("fastest", "tie") * known, "interval")]
        for one in self:
            best = self[0].seconds
            times = f"{one.seconds / best:.2f}" if best > 0 else "-"
            ties = (percent(one.fastest), "tie" if one.tied else "") * known
            rows.append((one.name, seconds_text(one.seconds), times, *ties, interval_text(one.interval)))
        return rows

    def _repr_html_(self) -> str:
        """Return the ranking as a table for a notebook, warnings below it."""
        notes = [f"{one.name}: {warning}" for one in self for warning in one.warnings]
        notes += [f"{name}: {error}" for name, error in self.errors.items()]
        return html_table(self.table, "variants, the one predicted fastest first", notes)

    def to_frame(self) -> DataFrame:
        """Return a row for each variant as a pandas table, with :data:`COLUMNS` and ``term.<name>``.

        Times are in seconds.

        Raises
        ------
        MissingExtraError
            pandas is not installed.
        """
        terms = dict.fromkeys(name for one in self for name in one.terms)
        return data_frame(map(_record, self), [*COLUMNS, *(f"term.{name}" for name in terms)])


def _record(one: RankedVariant) -> dict[str, Any]:
    low, high = one.interval or (None, None)
    ties = one.fastest, one.tied, one.to_measure
    own = zip(COLUMNS, (one.name, one.seconds, low, high, *ties, " ".join(one.unmeasured)), strict=True)
    return {**dict(own), **{f"term.{name}": value for name, value in one.terms.items()}}
