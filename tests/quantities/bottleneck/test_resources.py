"""The quantities of each resource."""

from __future__ import annotations

from perfmodel.facts.fact import KEYS
from perfmodel.features import FEATURE_NAMES
from perfmodel.quantities.bottleneck.resources import QUANTITIES, RESOURCES


def test_each_quantity_belongs_to_one_resource() -> None:
    names = [name for own in RESOURCES.values() for name in own]
    assert sorted(names) == sorted(set(names)) == sorted(QUANTITIES)


def test_names_are_neither_features_nor_facts() -> None:
    assert not set(QUANTITIES) & {*FEATURE_NAMES, *KEYS}
