"""How models are judged: which kernels a fit has seen before it predicts others.

- ``A``: fit to the measurement kernels, predict the test kernels.
- ``B`` (leave one group out): as A, and no class of the predicted kernel's group is in the fit.
- ``sizes`` (leave one size out): of each measured kernel that has several sizes one is left out of
  the fit and predicted: first the smallest of each, then the second smallest of each, and so on.

Features are evaluated once for each row, whatever the number of fits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from perfmodel.compare.comparison import Comparison, in_order, in_words, volume
from perfmodel.compare.figures import Figures, summarise
from perfmodel.fitting.family_fits import FamilyFits
from perfmodel.fitting.heldout import Unseen
from perfmodel.fitting.options import FitOptions
from perfmodel.fitting.uncertainty.conformal import check_level, scaled
from perfmodel.models import Family, find_family
from perfmodel.predict import FittedModel, fitted_model

if TYPE_CHECKING:
    from perfmodel.store import Measurement, Measurements

PROTOCOLS: Mapping[str, str] = MappingProxyType(
    {
        "A": "fitted to the measurement kernels",
        "B": "and without any kernel of the predicted one's group",
        "sizes": "measurement kernels, each at a size that the fit has not seen",
    }
)
"""Which kernels the fits of each protocol have seen."""


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
        return summarise(self.rows)


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
    fits = FamilyFits(measured, find_family(family), options or FitOptions(), tests)
    return evaluate_fits(fits, level, protocols)


def fit_and_evaluate(
    measured: Measurements,
    tests: Measurements,
    family: str | Family = "stevens_kloeckner_2016",
    *,
    level: float = 0.9,
    options: FitOptions | None = None,
) -> tuple[FittedModel, tuple[Evaluation, ...]]:
    """Fit a family to the measurement kernels and judge it by every protocol, with one design for both.

    For the arguments see :func:`evaluate`.
    """
    fits = FamilyFits(measured, find_family(family), options or FitOptions(), tests)
    return fitted_model(fits), evaluate_fits(fits, level)


def evaluate_fits(
    fits: FamilyFits, level: float | None, protocols: Sequence[str] = tuple(PROTOCOLS)
) -> tuple[Evaluation, ...]:
    """Return an evaluation for each protocol; see :func:`evaluate`."""
    half_widths = {}
    if level is not None:
        check_level(level)
        groups = {row.group for row in fits.rows}
        half_widths = {group: fits.scores.without(group).quantile(level) for group in groups}
    found = {name: _comparisons(*_predict(fits, name), half_widths) for name in protocols}
    device = fits.measured.device
    return tuple(Evaluation(name, fits.family.name, device, level, rows) for name, rows in found.items())


def _predict(fits: FamilyFits, protocol: str) -> tuple[tuple[Measurement, ...], Unseen]:
    """Return the rows that a protocol predicts, and their predictions."""
    measured, tests = tuple(fits.measured), tuple(fits.tests or ())
    if protocol == "A":
        return tests, fits.predict_tests()
    if protocol == "B":
        return tests, fits.predict_without_group(fits.unseen).of(fits.unseen)
    sizes = [*ranks_of_sizes(measured), *[None] * len(tests)]
    return measured, fits.refits.left_out(sizes, fits.seen).of(fits.seen)


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
        predicted, interval = None if needs else float(seconds), None
        if predicted is not None and row.group in half_widths:
            low, high = scaled(predicted, half_widths[row.group])
            interval = float(low), float(high)
        cases.append(
            Comparison(
                row.kernel, row.parameters, row.seconds, predicted, needs, row.group, row.variant, interval
            )
        )
    return in_order(cases)
