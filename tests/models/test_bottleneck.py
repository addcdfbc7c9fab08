"""The families of busy resources, against sums by hand."""

import numpy as np
import pytest

from perfmodel.models import find_family
from perfmodel.models.model import RunTime
from perfmodel.predicting.transfer import RATES
from perfmodel.quantities.bottleneck import QUANTITIES
from perfmodel.quantities.case import Case
from perfmodel.quantities.multithreaded import MULTITHREADED_UNITS
from tests.models.test_threaded_manycore import counted
from tests.quantities.test_multithreaded import CACHES, device

BOTTLENECK = find_family("bottleneck")


def test_the_time_is_an_overhead_and_a_smooth_maximum() -> None:
    weights = {"w_runs": 7e-6, "w_chain_add": 1e-9, "w_loads": 2e-9, "w_memory_streams": 5e-9, "w_sharpness": 2.0}
    values = {"runs": 1.0, "chain_add": 3e3, "loads": 2e3, "memory_streams": 2.4e3}
    model = RunTime(BOTTLENECK, {**{f"w_{name}": 0.0 for name in QUANTITIES}, **weights})
    seconds, terms = model.evaluate({**dict.fromkeys(QUANTITIES, 0.0), **values})
    assert 7e-6 + np.sqrt(3.0**2 + 4.0**2 + 12.0**2) * 1e-6 == pytest.approx(seconds)
    assert {"overhead_time": 7e-6, "chain_time": 3e-6, "issue_time": 4e-6, "far_time": 12e-6} == pytest.approx(
        {name: value for name, value in terms.items() if value}
    )


def test_each_quantity_has_one_weight_in_seconds_for_one() -> None:
    weights = {weight.name: weight.unit for weight in BOTTLENECK.weights}
    units = {f"w_{name}": f"s/{quantity.unit}" for name, quantity in QUANTITIES.items()}
    assert units | {"w_sharpness": ""} == weights


FAMILY = find_family("multithreaded")
WEIGHTS = {
    **{f"w_{name}": 0.0 for name in MULTITHREADED_UNITS}, "w_started": 1e-6, "w_dealt_groups": 1e-8,
    "w_arithmetic": 1e-9, "w_sectors": 1e-9, "w_near_sectors": 3e-9, "w_stored_sectors": 4e-9,
    "w_memory_bytes": 1e-10, "w_chain_loads": 4e-7, "w_sharpness": 2.0,
}  # fmt: skip


def seconds(counts, **sizes):
    values = FAMILY.values(Case(counts, sizes, device(**CACHES), FAMILY.name))
    return RunTime(FAMILY, WEIGHTS).evaluate(values)


def test_a_scaled_copy_whose_chain_more_groups_hide():
    # the quantities of tests/quantities/test_multithreaded.py: four sub-groups of the busiest unit, one wait
    total, parts = seconds(counted(), n=30 * 64)
    resources = {"issue": 4e-9, "near": 16 * (1e-9 + 3e-9 + 4e-9), "memory": 512e-10, "chain": 4e-7}
    assert {"overhead": 1e-6 + 2e-8, **resources} == pytest.approx(dict(parts))
    assert 1.02e-6 + sum(value**2 for value in resources.values()) ** 0.5 == pytest.approx(total)
    # up to eight groups of 64 a unit take as long as one in the chain; the other resources add up
    few, many, most = (seconds(counted(), n=15 * groups * 64)[1] for groups in (1, 8, 16))
    assert few["chain"] == many["chain"] == most["chain"] / 2
    assert 8 == pytest.approx(many["near"] / few["near"])


def test_each_weight_is_a_multiple_of_a_rate_of_the_device():
    for weight in FAMILY.weights:
        assert weight.scale in RATES or weight.name == "w_sharpness"
