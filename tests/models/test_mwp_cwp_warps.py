"""The inputs of Table 1 of Wang and Lou (2017), for the kernel of their section 3.2."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.models.mwp_cwp import UNITS
from tests.models.test_mwp_cwp import quantities, saxpy


@pytest.mark.parametrize(("stride", "transactions"), [(1, 1), (4, 4), (8, 8), (16, 16), (64, 32)])
def test_transactions_of_a_warp_at_the_paper_s_strides(stride, transactions):
    found = quantities(saxpy(stride))
    assert transactions == found["per_mw"]  # sizeof(float) * 32 * stride / 128, one for each lane at most
    assert (0 if stride == 1 else pytest.approx(1 / 3)) == found["uncoalesced"]  # x; y is read and written coalesced
    assert 3 == found["mem_insts"]  # as lines 11, 13 and 15 of the listing


def test_double_precision_takes_twice_the_blocks():
    assert 8 == quantities(saxpy(4, np.float64))["per_mw"]
    assert 256 == quantities(saxpy(1, np.float64))["warp_bytes"]


def test_instructions_are_one_multiply_add_three_accesses_and_their_addresses():
    assert 1 + 3 + 3 == quantities(saxpy(1))["insts"]


@pytest.mark.parametrize(
    ("n", "facts", "units", "warps", "rounds"),
    [
        (256 * 12, {}, 12, 8, 1),  # a group of 8 warps on half of the units
        (256 * 48, {}, 24, 16, 1),
        (256 * 48, {"max_groups_per_unit": 1}, 24, 8, 2),
        (256 * 480, {"max_items_per_unit": 2048}, 24, 64, 2.5),
        (256 * 480, {"registers_per_unit": 2**16, "registers_per_work_item": 64}, 24, 32, 5),
        (256 * 480, {"max_items_per_unit": 100}, 24, 8, 20),  # one group is there anyhow
    ],
)
def test_equations_18_and_19(n, facts, units, warps, rounds):
    found = quantities(saxpy(1), n=n, **facts)
    assert (units, warps, rounds) == (found["units"], found["warps"], found["rounds"])


def test_every_quantity_has_a_unit():
    assert set(UNITS) == set(quantities(saxpy(1)))
