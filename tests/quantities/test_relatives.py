"""Which quantities are relatives."""

from __future__ import annotations

import pytest

from perfmodel.models import families
from perfmodel.models.bottleneck import FAMILY as BOTTLENECK
from perfmodel.quantities.bottleneck import RESOURCES
from perfmodel.quantities.relatives import GROUPS, NEVER_FREE, are_related, groups_of, relatives_of

EVERY_RUN = ("runs", "launched", "instructions")
MULTITHREADED = {*families()["multithreaded"].units} - {"started", "dealt_groups", "arithmetic", "turns"}


@pytest.mark.parametrize("name", sorted({*BOTTLENECK.units} - {*EVERY_RUN}))
def test_each_quantity_of_bottleneck_has_a_relative(name):
    assert [mate for group in groups_of(name) for mate in relatives_of(name, group, BOTTLENECK.units)]


@pytest.mark.parametrize("name", sorted(MULTITHREADED))
def test_each_quantity_of_multithreaded_has_a_relative(name):
    others = families()["multithreaded"].units
    assert [mate for group in groups_of(name) for mate in relatives_of(name, group, others)]


@pytest.mark.parametrize(("name", "nearest"), [
    ("circular_64", "circular_32"), ("int_divide_64", "int_divide_32"), ("root_32", "root_64"),
    ("op_float64_special", "op_float32_special"), ("global_load_64_stride2_1of2", "global_load_32_stride2_1of2"),
    ("local_load_64", "local_load_32"), ("op_float16_add", "op_float32_add"),
])  # fmt: skip
def test_other_types_are_relatives(name, nearest):
    assert are_related(name, nearest)
    assert nearest in relatives_of(name, groups_of(name)[0], [nearest, "launches"])


def test_what_is_never_free_is_of_one_resource():
    assert {*RESOURCES["special"]} == {
        name for name in BOTTLENECK.units for pattern in NEVER_FREE if relatives_of("", (pattern,), [name])
    }


def test_groups_hold_two_patterns_or_names_by_a_pattern():
    assert [] == [group for group in GROUPS if len(group) < 2 and "*" not in group[0]]
