"""The quantities of each resource, at one size and at arrays of sizes."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.facts import KEYS
from perfmodel.features import FEATURE_NAMES
from perfmodel.quantities.bottleneck import QUANTITIES, RESOURCES, at_sizes, bottleneck_quantities
from perfmodel.quantities.bottleneck.device import device_of
from perfmodel.quantities.case import Case
from tests.quantities.bottleneck.by_hand import copy, device, row_sums

pytestmark = [
    pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def test_arrays_of_sizes_give_what_each_size_gives() -> None:
    counts, sizes = row_sums(), {"n": np.array([[64, 128]]), "k": np.array([[16], [40]])}
    many = bottleneck_quantities(Case(counts, sizes, device("serial")))
    for row, k in enumerate((16, 40)):
        for column, n in enumerate((64, 128)):
            few = bottleneck_quantities(Case(counts, {"n": n, "k": k}, device("serial")))
            assert few == {name: float(value[row, column]) for name, value in many.items()}


def test_a_size_is_worked_out_once() -> None:
    counts = copy()
    here = device_of(Case(counts, {"n": 64}, device("serial")))
    assert at_sizes(counts, {"n": 64}, here) is at_sizes(counts, {"n": np.int64(64)}, here)


def test_devices_that_differ_in_a_far_cache_share_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """So do the two numbers of a fact in doubt; each device has the quantities that it has alone."""
    counts, sizes = row_sums(), {"n": 4096, "k": 512}
    here, there = (device_of(Case(counts, sizes, device("serial", l3_bytes=size))) for size in (1 << 25, 1 << 20))
    alone = [dict(at_sizes(row_sums(), sizes, each)) for each in (here, there)]
    assert alone[0] != alone[1]
    assert alone[0] == at_sizes(counts, sizes, here)
    monkeypatch.setattr("perfmodel.quantities.bottleneck.LaunchWork", None)
    assert alone[1] == at_sizes(counts, sizes, there)


@pytest.mark.parametrize("facts", [{"compute_units": 3}, {"vector_lanes": 4}])
def test_devices_that_differ_in_what_work_depends_on_share_nothing(facts: dict[str, int]) -> None:
    counts, sizes = row_sums(), {"n": 4096, "k": 512}
    here, there = (device_of(Case(counts, sizes, device("lockstep", **more))) for more in ({}, facts))
    at_sizes(counts, sizes, here)
    assert at_sizes(row_sums(), sizes, there) == at_sizes(counts, sizes, there) != at_sizes(counts, sizes, here)


def test_each_quantity_belongs_to_one_resource() -> None:
    names = [name for quantities in RESOURCES.values() for name in quantities]
    assert sorted(names) == sorted(set(names)) == sorted(QUANTITIES)


def test_names_are_neither_features_nor_facts() -> None:
    assert not set(QUANTITIES) & {*FEATURE_NAMES, *KEYS}


def test_words_are_different_and_plain() -> None:
    words = [quantity.words for quantity in QUANTITIES.values()]
    assert len(words) == len({*words})
    assert not [one for one in words if "_" in one or not one.startswith(("a ", "an ", "another "))]


def test_operations_have_a_rate_of_operations() -> None:
    for name, quantity in QUANTITIES.items():
        unit, words, counted = quantity.unit, quantity.words, quantity.counted
        assert (counted == "op") <= (unit == "operation"), name
        assert (counted in ("line", "element", "value")) <= (unit == "access"), name
        extra = "in addition to the instruction" in words  # what an access takes more than any instruction
        assert (not counted) <= (extra or unit in ("launch", "work-group", "barrier", "operation")), name
