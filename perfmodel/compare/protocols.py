"""How models are judged: what a fit may have seen of the kernels that it predicts.

- ``A``: fit to the measurement kernels, predict the test kernels.
- ``B`` (leave one group out): as A, and no class of the predicted kernel's group is in the fit.
- ``sizes`` (leave one size out): of each measured kernel that has several sizes one is left out of
  the fit and predicted: first the smallest of each, then the second smallest of each, and so on.

Features are evaluated once for each row, whatever the number of fits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from perfmodel.compare.comparison import Comparison, in_order, in_words, volume
from perfmodel.compare.figures import Figures, figures
from perfmodel.fitting.design import design
from perfmodel.fitting.fit_design import DesignFit, FitOptions
from perfmodel.fitting.heldout import Refits, Unseen, joined
from perfmodel.fitting.uncertainty.conformal import Conformal, calibrate, check_level, scaled
from perfmodel.models import Family, find_family

if TYPE_CHECKING:
    from perfmodel.store import Measurement, Measurements

PROTOCOLS: Mapping[str, str] = MappingProxyType(
    {
        "A": "fitted to the measurement kernels",
        "B": "and without any kernel of the predicted one's group",
        "sizes": "measurement kernels, each at a size that the fit has not seen",
    }
)
"""What the fits of each protocol have seen."""


@dataclass(frozen=True)
class Evaluation:
    """A family on a device by one protocol.

    Parameters
    ----------
    protocol
        One of :data:`PROTOCOLS`.
    family, device
        Their names.
    level
        Probability that the rows' intervals are meant to have; None where they have none.
    rows
        Every case, in the order of kernels, variants and sizes.
    """

    protocol: str
    family: str
    device: str
    level: float | None
    rows: tuple[Comparison, ...] = field(repr=False)

    @cached_property
    def figures(self) -> Figures:
        """Figures over all rows."""
        return figures(self.rows)


def evaluate(
    measured: Measurements,
    tests: Measurements,
    family: str | Family = "stevens_kloeckner_2016",
    *,
    level: float | None = 0.9,
    options: FitOptions | None = None,
    protocols: Sequence[str] = tuple(PROTOCOLS),
    scores: Conformal | None = None,
) -> tuple[Evaluation, ...]:
    """Judge a family by every protocol, or by some.

    Parameters
    ----------
    measured
        Measurement kernels on one device.
    tests
        Test kernels on the same.
    family
        A family or its name.
    level
        Probability that the intervals should have; None for no intervals, which saves one fit
        for each group. A row's interval rests on the scores of the other groups.
    options
        How to fit.
    protocols
        Which of :data:`PROTOCOLS`.
    scores
        Those of a model fitted to `measured` with `tests` as its others, in the same way; without them they
        are made, with one fit for each group.

    Returns
    -------
    tuple of Evaluation
        One for each of `protocols`, in that order.

    Raises
    ------
    UnknownFamilyError
        If there is no such family.
    LevelError
        If the level is not between 0 and 1.
    BadTimesError, MissingCountsError
        If a measurement cannot be used.
    """
    return Trial(measured, tests, find_family(family), options).evaluations(protocols, level, scores)


class Trial:
    """A family on the measured kernels of a device: every fit that judging it asks for is made once.

    Parameters
    ----------
    measured, tests, family, options
        As of :func:`evaluate`.
    """

    def __init__(
        self, measured: Measurements, tests: Measurements, family: Family, options: FitOptions | None = None
    ) -> None:
        facts = options is not None and options.fit_facts
        self.family, self.device = family, measured.device
        self._trained, self._asked = tuple(measured), tuple(tests)
        table = joined(design(measured, family, facts), design(tests, family, facts), family)
        self._refits = Refits(table, family, options)
        self._seen, self._unseen = np.split(np.arange(len(table.times)), [len(self._trained)])

    def fit(self) -> DesignFit:
        """Return the fit to the measurement kernels."""
        return self._refits.fit(self._seen)

    def evaluations(
        self, protocols: Sequence[str], level: float | None, scores: Conformal | None = None
    ) -> tuple[Evaluation, ...]:
        """Return an evaluation for each protocol; see :func:`evaluate`."""
        if level is not None:
            check_level(level)
        groups = [row.group for row in (*self._trained, *self._asked)]
        scoring = level is not None and scores is None
        apart = self._refits.left_out(groups, fitted=self._seen, asked=None if scoring else self._unseen)
        judge: dict[str, Callable[[], tuple[tuple[Measurement, ...], Unseen]]] = {
            "A": lambda: (self._asked, self._refits.predict(self._seen, self._unseen)),
            "B": lambda: (self._asked, apart.of(self._unseen)),
            "sizes": lambda: (self._trained, self._refits.left_out(self._sizes(), self._seen).of(self._seen)),
        }
        half_widths = {}
        if level is not None:
            scores = scores or calibrate(apart, self._refits.table.times, groups)
            half_widths = {group: scores.without(group).quantile(level) for group in set(groups)}
        return tuple(
            Evaluation(name, self.family.name, self.device, level, _comparisons(*judge[name](), half_widths))
            for name in protocols
        )

    def _sizes(self) -> list[int | None]:
        return [*ranks_of_sizes(self._trained), *[None] * len(self._asked)]


def ranks_of_sizes(rows: tuple[Measurement, ...]) -> list[int | None]:
    """Return for each row the rank of its size among those of its kernel and variant.

    Sizes are ordered by the product of all parameters. None where there is only one.
    """
    sizes: dict[str, set[tuple[int, str]]] = {}
    places = [(f"{row.kernel} {in_words(row.variant)}", volume(row.parameters)) for row in rows]
    for kernel, size in places:
        sizes.setdefault(kernel, set()).add(size)
    ordered = {kernel: sorted(found) for kernel, found in sizes.items()}
    return [
        ordered[kernel].index(size) if len(ordered[kernel]) > 1 else None for kernel, size in places
    ]


def _comparisons(
    rows: tuple[Measurement, ...], found: Unseen, half_widths: Mapping[str, float]
) -> tuple[Comparison, ...]:
    cases = []
    for row, seconds, needs in zip(rows, found.seconds, found.needs, strict=True):
        known, bounds = not needs, None
        if known and row.group in half_widths:
            low, high = scaled(seconds, half_widths[row.group])
            bounds = float(low), float(high)
        cases.append(
            Comparison(
                row.kernel, row.parameters, row.seconds, float(seconds) if known else None, needs,
                row.group, row.variant, bounds,
            )
        )  # fmt: skip
    return in_order(cases)
