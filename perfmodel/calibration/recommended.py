"""Which family a device's predictions should use, chosen without a look at test kernels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from perfmodel.facts import DeviceFacts
    from perfmodel.fitting import FamilyFits

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


def recommended(rivals: Iterable[FamilyFits]) -> str:
    r"""Return the name of the family that predicts measured kernels best which its fit has not seen; "" of none.

    It has the smallest mean over kernels of the mean :math:`|\log(t/p)|` over rows t, each predicted as p by a fit
    without any row of its group. Rows that some family withholds count for none. Of equal families the first is taken.
    `rivals` are fits of families to the same measured rows; those that they have made already are not made again.
    """
    every = tuple(rivals)
    found = {fits.family.name: _errors(fits) for fits in every}
    if not found:
        return ""
    common = np.all([np.isfinite(errors) for errors in found.values()], axis=0)
    by_kernel: dict[str, list[int]] = defaultdict(list)
    for place, row in enumerate(every[0].measured):
        if common[place]:
            by_kernel[row.kernel].append(place)
    if not by_kernel:
        return next(iter(found))
    return min(found, key=lambda name: float(np.mean([found[name][places].mean() for places in by_kernel.values()])))


def _errors(fits: FamilyFits) -> np.ndarray:
    """Return the errors of log time of measured rows by fits without their group, shape (n_rows,); NaN: withheld."""
    unseen, times = fits.predict_without_group(fits.seen).of(fits.seen), fits.refits.table.times[fits.seen]
    with np.errstate(invalid="ignore", divide="ignore"):
        errors = np.abs(np.log(times / unseen.seconds))
    return np.where(unseen.known & (unseen.seconds > 0), errors, np.nan)
