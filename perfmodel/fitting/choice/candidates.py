"""Planned configurations as candidates of a choice, for the ``choose`` of a campaign."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from perfmodel import features
from perfmodel.fitting.choice.choice import Candidates, Floats, choose_next
from perfmodel.models import Family, find_family

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts

#: Time that a configuration takes beside its runs [s], and its number of runs, as in campaigns.
SETUP_S, RUNS = 0.03, 30


class Measurable(Protocol):
    """A configuration that could be measured."""

    @property
    def kernel(self) -> str:
        """Its class."""

    @property
    def variant(self) -> Mapping[str, Any]:
        """What changes its code."""

    @property
    def parameters(self) -> Mapping[str, int]:
        """Its sizes."""

    @property
    def counts(self) -> KernelCounts:
        """Its counts."""

    @property
    def seconds(self) -> float:
        """What a trial took [s]."""


def measuring_s(seconds: Floats) -> Floats:
    """Return the time that measuring takes [s], from the time of one run [s]."""
    return SETUP_S + RUNS * seconds


def candidates(planned: Sequence[Measurable], family: Family) -> Candidates:
    """Return configurations with the values of the features that a family uses."""
    values = [features.evaluate(case.counts, case.parameters) for case in planned]
    names = family.select({name for row in values for name, value in row.items() if value != 0})
    matrix = np.array([[row.get(name, 0.0) for name in names] for row in values], dtype=np.float64)
    return Candidates(
        matrix.reshape(len(planned), len(names)),
        tuple(case.kernel for case in planned),
        tuple(str(sorted(case.variant.items())) for case in planned),
        measuring_s,
        np.array([case.seconds for case in planned], dtype=np.float64),
    )


def chooser(
    share: float, family: str | Family = "stevens_kloeckner_2016"
) -> Callable[[Sequence[Measurable]], Callable[[Floats], tuple[int, ...]]]:
    """Return the function that chooses configurations, for :func:`perfmodel.measuring.measure`.

    It chooses at most this share of them, in (0, 1], but at least as many as the family has features.
    """
    taken = find_family(family)

    def begin(planned: Sequence[Measurable]) -> Callable[[Floats], tuple[int, ...]]:
        table = candidates(planned, taken)
        wanted = math.floor(share * len(planned))
        return lambda times: choose_next(table, times, wanted)

    return begin
