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
from typing import TYPE_CHECKING, cast

import numpy as np

from perfmodel.compare.comparison import Comparison, in_order, in_words, volume
from perfmodel.compare.figures import Figures, figures
from perfmodel.families import Family, find_family
from perfmodel.fit.conformal import calibrate, check_level, scaled
from perfmodel.fit.design import design
from perfmodel.fit.design_fit import FitOptions
from perfmodel.fit.heldout import Unseen, chosen_rows, joined, predict_left_out, predict_unseen

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
    if level is not None:
        check_level(level)
    chosen = find_family(family)
    facts = options is not None and options.fit_facts
    trained, asked = tuple(measured), tuple(tests)
    table = joined(design(measured, chosen, facts), design(tests, chosen, facts), chosen)
    seen, unseen = np.split(np.arange(len(trained) + len(asked)), [len(trained)])
    groups = [row.group for row in (*trained, *asked)]
    apart: Unseen | None = None
    if level is not None or "B" in protocols:
        apart = predict_left_out(table, groups, chosen, options, fitted=seen)
    scores = calibrate(apart, table.times, groups) if level is not None and apart else None
    judge: dict[str, Callable[[], tuple[tuple[Measurement, ...], Unseen]]] = {
        "A": lambda: (asked, predict_unseen(table, seen, unseen, chosen, options)),
        "B": lambda: (asked, cast("Unseen", apart).of(unseen)),
        "sizes": lambda: (
            trained, predict_left_out(chosen_rows(table, seen), ranks_of_sizes(trained), chosen, options)
        ),
    }  # fmt: skip
    half_widths = {group: scores.without(group).quantile(level) for group in set(groups)} if scores and level else {}
    return tuple(
        Evaluation(name, chosen.name, measured.device, level, _comparisons(*judge[name](), half_widths))
        for name in protocols
    )


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
