"""Facts of a device that a family's fit chooses by cross-validation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

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

    They are chosen one after the other, in the family's order: each is the candidate with the smallest mean over
    kernels of :math:`|\log(t/p)|`, each row predicted by a fit without its group, with the facts that are chosen
    already and with the first candidate of those that are not. Facts that are known already stay.
    """
    open_ = {key: some for key, some in family.choices.items() if not _knows(measurements, key)}
    groups = [row.group for row in measurements] if open_ else []
    if not groups:
        return measurements
    chosen = {key: some[0] for key, some in open_.items()}
    known: dict[tuple[FactValue, ...], float] = {}

    def loss(values: Mapping[str, FactValue]) -> float:
        found = tuple(values.values())
        if found not in known:
            known[found] = _loss(_with(measurements, values), family, options, groups)
        return known[found]

    if len(set(groups)) > 1:
        for key, some in open_.items():
            chosen[key] = min(some, key=lambda one: loss({**chosen, key: one}))
    return _with(measurements, chosen)


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
    chosen = {key: Fact(value, "", SOURCE) for key, value in values.items()}
    return measurements.with_facts(measurements.known_facts.updated(chosen))
