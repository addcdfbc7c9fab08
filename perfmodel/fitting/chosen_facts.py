"""Facts of a device that a family's fit chooses by cross-validation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from perfmodel.facts import DeviceFacts
from perfmodel.facts.fact import Fact, FactValue
from perfmodel.fitting.design import build_design
from perfmodel.fitting.heldout import Refits
from perfmodel.fitting.options import FitOptions
from perfmodel.models.model import Family

if TYPE_CHECKING:
    from perfmodel.store import Measurements

SOURCE = "chosen by cross-validation over groups of measured kernels"


def with_chosen_facts(
    measurements: Measurements, family: Family, options: FitOptions | None = None
) -> Measurements:
    r"""Return measurements whose facts include those that the family chooses (:attr:`Family.choices`).

    Of all combinations of candidates it is the one with the smallest mean over kernels of
    :math:`|\log(t/p)|`, each row predicted by a fit without its group. Facts that are known already stay.
    """
    open_ = {key: some for key, some in family.choices.items() if not _knows(measurements, key)}
    groups = [row.group for row in measurements] if open_ else []
    if not groups:
        return measurements
    candidates = [dict(zip(open_, values, strict=True)) for values in product(*open_.values())]
    if len(set(groups)) < 2:
        return _with(measurements, candidates[0])
    losses = [_loss(_with(measurements, one), family, options, groups) for one in candidates]
    return _with(measurements, candidates[int(np.argmin(losses))])


def _loss(measurements: Measurements, family: Family, options: FitOptions | None, groups: list[str]) -> float:
    table = build_design(measurements, family, options)
    found = Refits(table, family, options).left_out(groups)
    by_kernel: dict[str, list[float]] = defaultdict(list)
    for row, seconds, time in zip(measurements, found.seconds, table.times, strict=True):
        if np.isfinite(seconds) and seconds > 0:
            by_kernel[row.kernel].append(abs(float(np.log(time / seconds))))
    return float(np.mean([np.mean(errors) for errors in by_kernel.values()])) if by_kernel else np.inf


def _knows(measurements: Measurements, key: str) -> bool:
    return measurements.facts is not None and key in measurements.facts


def _with(measurements: Measurements, values: Mapping[str, FactValue]) -> Measurements:
    row = next(iter(measurements))
    known = measurements.facts or DeviceFacts(row.device, row.platform, row.driver, ())
    return measurements.with_facts(known.updated({key: Fact(value, "", SOURCE) for key, value in values.items()}))
