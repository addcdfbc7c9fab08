"""Which family a device's predictions should use, chosen without a look at test kernels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from perfmodel.fitting import FamilyFits, FitOptions

if TYPE_CHECKING:
    from perfmodel.facts import DeviceFacts
    from perfmodel.models import Family
    from perfmodel.store import Measurements

CANDIDATES = ("bottleneck", "multithreaded", "stevens_kloeckner_2016")
"""Families among which a device's is chosen: for CPUs, for GPUs, and the linear model."""


def candidates(facts: DeviceFacts | None) -> tuple[str, ...]:
    """Return the families among which a device's is chosen.

    Where a probe has told the order of its lanes, one of :data:`CANDIDATES` is for other devices and left out: a quick
    campaign has too few groups to find that out from times.
    """
    if facts is None or "lane_order" not in facts:
        return CANDIDATES
    other = "bottleneck" if facts.value("lane_order") == "multithreaded" else "multithreaded"
    return tuple(name for name in CANDIDATES if name != other)


def recommended(measured: Measurements, families: Iterable[Family], options: FitOptions | None = None) -> str:
    r"""Return the name of the family that predicts measured kernels best which its fit has not seen; "" of none.

    It has the smallest mean over kernels of the mean :math:`|\log(t/p)|` over rows t, each predicted as p by a fit
    without any row of its group. Rows that some family withholds count for none. Of equal families the first is taken.
    """
    found = {one.name: _errors(FamilyFits(measured, one, options or FitOptions())) for one in families}
    if not found:
        return ""
    common = np.all([np.isfinite(errors) for errors in found.values()], axis=0)
    by_kernel: dict[str, list[int]] = defaultdict(list)
    for place, row in enumerate(measured):
        if common[place]:
            by_kernel[row.kernel].append(place)
    if not by_kernel:
        return next(iter(found))
    return min(found, key=lambda name: float(np.mean([found[name][places].mean() for places in by_kernel.values()])))


def _errors(fits: FamilyFits) -> np.ndarray:
    """Return the errors of log time by fits without a row's group, shape (n_rows,); NaN where withheld."""
    unseen, times = fits.predict_without_group(), fits.refits.table.times
    with np.errstate(invalid="ignore", divide="ignore"):
        errors = np.abs(np.log(times / unseen.seconds))
    return np.where(unseen.known & (unseen.seconds > 0), errors, np.nan)
