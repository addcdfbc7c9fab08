"""Kernel classes: variants for a device, and the feature that each isolates."""

from __future__ import annotations

from perfmodel.kernels import KernelClass, Ladder


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


def test_the_isolated_feature_is_a_name_or_depends_on_the_variant():
    assert kernel().isolated({"a": 1}) is None
    assert "f" == kernel(isolates="f").isolated({"a": 1})
    assert "f1" == kernel(isolates=lambda a, **_: f"f{a}").isolated({"a": 1, "work_group": (8,)})


def test_variants_can_be_replaced():
    assert ({"a": 2},) == kernel().with_variants(({"a": 2},)).variants
    assert "k" == kernel().with_variants(()).name


def test_statistics_are_given_or_depend_on_the_variant():
    assert {} == kernel().known_statistics({"a": 1})
    assert {"j": 3} == kernel(statistics={"j": 3}).known_statistics({"a": 1})
    assert {"j": 2} == kernel(statistics=lambda a, **_: {"j": 2 * a}).known_statistics({"a": 1, "work_group": (8,)})
