"""How often the variant predicted fastest is a best one, where what noise alone may separate counts as the same."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from perfmodel.compare.comparison import Choice, Comparison, choices
from perfmodel.display import values_text

if TYPE_CHECKING:
    from perfmodel.store import Measurements

Case: TypeAlias = tuple[str, str, str]
"""Kernel, variant and sizes in words."""


def noise_of(tests: Measurements) -> Mapping[Case, float]:
    """Return by how much each measured time may be too high for noise alone, as a share of it [1].

    It is how far the two lowest visits of the configuration differ
    (:attr:`~perfmodel.store.Measurement.disagreement`), and at least the median of that over all rows: two visits
    may agree by chance. Where nothing was measured in several visits, it is 0.
    """
    rows = tuple(tests)
    known = [row.disagreement for row in rows if not math.isnan(row.disagreement)]
    typical = median(known) if known else 0.0
    noises = (typical if math.isnan(row.disagreement) else max(row.disagreement, typical) for row in rows)
    cases = ((row.kernel, values_text(row.variant), values_text(row.parameters)) for row in rows)
    return dict(zip(cases, noises, strict=True))


def top1_within_noise(rows: Iterable[Comparison], noise: Mapping[Case, float]) -> float:
    """Return the share of choices in which the variant predicted fastest is the best one or ties with it; NaN of none.

    Two measured times tie if they differ by no more than the larger noise of the two (:func:`noise_of`).
    """
    predicted = [row for row in rows if row.predicted is not None]
    shares = [replace(row, predicted=noise.get((row.kernel, row.form, row.sizes), 0.0)) for row in predicted]
    found = [_share(choice, one.predicted) for choice, one in zip(choices(predicted), choices(shares), strict=True)]
    return sum(found) / len(found) if found else math.nan


def _share(choice: Choice, noise: tuple[float, ...]) -> float:
    times, best = choice.measured, int(np.argmin(choice.measured))
    ties = [times[one] / times[best] <= 1 + max(noise[one], noise[best]) for one in choice.chosen]
    return sum(ties) / len(ties)
