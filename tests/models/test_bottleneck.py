"""The family that bounds a kernel by its busiest resource."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.models.bottleneck import FAMILY
from perfmodel.models.model import RunTime
from perfmodel.quantities.bottleneck import QUANTITIES


def run_time(sharpness: float, **weights: float) -> RunTime:
    known = {f"w_{name}": 0.0 for name in QUANTITIES} | {f"w_{name}": value for name, value in weights.items()}
    return RunTime(FAMILY, {**known, "w_sharpness": sharpness})


def values(**found: float) -> dict[str, float]:
    return {**dict.fromkeys(QUANTITIES, 0.0), **found}


def test_the_time_is_an_overhead_and_a_smooth_maximum() -> None:
    model = run_time(2.0, runs=7e-6, chain_add=1e-9, loads=2e-9, memory_streams=5e-9)
    seconds, terms = model.evaluate(values(runs=1.0, chain_add=3e3, loads=2e3, memory_streams=2.4e3))
    assert 7e-6 + np.sqrt(3.0**2 + 4.0**2 + 12.0**2) * 1e-6 == pytest.approx(seconds)
    assert {"overhead_time": 7e-6, "chain_time": 3e-6, "issue_time": 4e-6, "far_time": 12e-6} == pytest.approx(
        {name: value for name, value in terms.items() if value}
    )


def test_each_quantity_has_one_weight_in_seconds_for_one() -> None:
    weights = {weight.name: weight.unit for weight in FAMILY.weights}
    units = {f"w_{name}": f"s/{quantity.unit}" for name, quantity in QUANTITIES.items()}
    assert units | {"w_sharpness": ""} == weights
