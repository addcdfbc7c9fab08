"""Work-group shapes for a device's limit, and assumptions that go with them."""

from __future__ import annotations

import pytest

from perfmodel.kernels import WORK_GROUPS, assume, work_groups


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (4096, WORK_GROUPS[2, "medium"]),
        (512, WORK_GROUPS[2, "medium"]),
        (511, WORK_GROUPS[2, "small"]),
        (256, WORK_GROUPS[2, "small"]),
        (255, ((8, 8),)),
        (1, ((1, 1),)),
    ],
)
def test_work_groups_never_exceed_the_device(limit, expected):
    assert expected == work_groups(2, limit)


def test_each_set_is_used():
    used = {work_groups(dimensions, limit) for dimensions in (1, 2) for limit in range(256, 1025)}
    assert {*WORK_GROUPS.values()} == used


def test_one_dimensional_groups_below_the_paper():
    assert ((128,),) == work_groups(1, 255)
    assert ((),) == work_groups(0, 1)


def test_assumptions_hold_for_powers_of_two_only():
    assert "n >= 1 and n mod 32 = 0" == assume(n=(32, 16))
    assert "n >= 1" == assume(n=(12, 24))
