"""The quantities of each resource, at one size and at arrays of sizes."""

import numpy as np
import pytest

from perfmodel.quantities.bottleneck import QUANTITIES, RESOURCES, at_sizes, bottleneck_quantities
from perfmodel.quantities.bottleneck.device import device_of
from perfmodel.quantities.case import Case
from tests.quantities.bottleneck.by_hand import device, row_sums


def test_arrays_of_sizes_give_what_each_size_gives() -> None:
    counts, sizes = row_sums(), {"n": np.array([[64, 128]]), "k": np.array([[16], [40]])}
    many = bottleneck_quantities(Case(counts, sizes, device("serial")))
    for row, k in enumerate((16, 40)):
        for column, n in enumerate((64, 128)):
            few = bottleneck_quantities(Case(counts, {"n": n, "k": k}, device("serial")))
            assert few == {name: float(value[row, column]) for name, value in many.items()}


@pytest.mark.parametrize("facts", [{"compute_units": 3}, {"vector_lanes": 4}])
def test_devices_that_differ_in_what_work_depends_on_share_nothing(facts: dict[str, int]) -> None:
    counts, sizes = row_sums(), {"n": 4096, "k": 512}
    here, there = (device_of(Case(counts, sizes, device("lockstep", **more))) for more in ({}, facts))
    at_sizes(counts, sizes, here)
    assert at_sizes(row_sums(), sizes, there) == at_sizes(counts, sizes, there) != at_sizes(counts, sizes, here)


def test_each_quantity_belongs_to_one_resource() -> None:
    names = [name for quantities in RESOURCES.values() for name in quantities]
    assert sorted(names) == sorted(set(names)) == sorted(QUANTITIES)
