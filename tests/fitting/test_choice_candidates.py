"""Planned configurations as rows of a choice, by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from perfmodel.fitting.choice import RUNS, SETUP_S, candidates, chooser, measuring_s
from perfmodel.models import Family
from tests.fitting.test_family_fits_weights import KERNELS
from tests.standins import Counts

FAMILY = Family("toy", "nowhere", ("op_float32_add", "work_groups", "local_*"))


@dataclass(frozen=True)
class Plan:
    kernel: str
    parameters: Mapping[str, int]
    seconds: float
    variant: Mapping[str, Any] = field(default_factory=dict)

    @property
    def counts(self) -> Counts:
        return KERNELS[self.kernel]


PLANNED = (
    Plan("add", {"n": 2}, 1e-3, {"b": 1, "a": 2}), Plan("add", {"n": 4}, 2e-3, {"a": 2, "b": 1}),
    Plan("load", {"n": 8}, 3e-3), Plan("tile", {"n": 1}, 4e-3),
)  # fmt: skip


def test_columns_are_the_exercised_features_of_the_family() -> None:
    found = candidates(PLANNED, FAMILY)
    # the columns are in alphabetical order: local loads 900 n^2, local stores 100 n^2, additions 1000 n^2, groups n
    assert [[0, 0, 4000, 2], [0, 0, 16000, 4], [0, 0, 0, 8], [900, 100, 0, 1]] == found.matrix.tolist()
    assert ("add", "add", "load", "tile") == found.kernels


def test_a_variant_is_the_same_in_whatever_order_it_is_written() -> None:
    found = candidates(PLANNED, FAMILY)
    assert found.variants[0] == found.variants[1] != found.variants[2]


def test_cost_is_setting_up_and_all_runs() -> None:
    assert [SETUP_S + RUNS * 1e-3, SETUP_S + RUNS] == measuring_s(np.array([1e-3, 1.0])).tolist()
    found = candidates(PLANNED, FAMILY)
    assert found.expected is not None
    assert [1e-3, 2e-3, 3e-3, 4e-3] == found.expected.tolist()


def test_a_share_is_never_less_than_the_features() -> None:
    take = chooser(0.25, FAMILY)(PLANNED)  # one of four
    times = np.full(len(PLANNED), np.nan)
    chosen: list[int] = []
    while batch := take(times):
        times[list(batch)] = 1e-3
        chosen += batch
    assert candidates(PLANNED, FAMILY).matrix.shape[1] == len(chosen) == len(set(chosen))
