"""Kernel classes: variants for a device, and the feature that each isolates."""

import pytest

from perfmodel.kernels import WORK_GROUPS, KernelClass, Ladder, assume, work_groups


def kernel(**changes) -> KernelClass:
    fields = {
        "name": "k", "group": "g", "build": lambda **_: None, "reference": lambda **_: {},
        "sizes": Ladder(lambda e: ({"n": 2**e},), 1), "variants": ({"a": 1}, {"a": 2}),
    }  # fmt: skip
    return KernelClass(**{**fields, **changes})


def test_variants_come_in_every_shape_of_the_device():
    assert kernel().variants == kernel().variants_on(4096)
    shapes = [variant["work_group"] for variant in kernel(dimensions=2).variants_on(4096)]
    assert [(16, 12)] * 2 + [(16, 16)] * 2 + [(32, 16)] * 2 == shapes


def test_fewer_shapes_are_those_nearest_to_256_work_items():
    assert {(16, 16)} == {v["work_group"] for v in kernel(dimensions=2).variants_on(4096, shapes=1)}
    # 192 and 512 work-items: 192 is nearer.
    assert {(16, 12), (16, 16)} == {v["work_group"] for v in kernel(dimensions=2).variants_on(4096, shapes=2)}


@pytest.mark.parametrize(("limit", "expected"), [
    (4096, WORK_GROUPS[2, "medium"]), (512, WORK_GROUPS[2, "medium"]), (511, WORK_GROUPS[2, "small"]),
    (256, WORK_GROUPS[2, "small"]), (255, ((8, 8),)), (1, ((1, 1),)),
])  # fmt: skip
def test_work_groups_never_exceed_the_device(limit, expected):
    assert expected == work_groups(2, limit)


def test_each_set_is_used():
    used = {work_groups(dimensions, limit) for dimensions in (1, 2) for limit in range(256, 1025)}
    assert {*WORK_GROUPS.values()} == used


def test_assumptions_hold_for_powers_of_two_only():
    assert "n >= 1 and n mod 32 = 0" == assume(n=(32, 16))
    assert "n >= 1" == assume(n=(12, 24))
