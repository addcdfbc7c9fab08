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


def test_words_are_different_and_plain():
    words = [quantity.words for quantity in QUANTITIES.values()]
    assert len(words) == len({*words})
    assert not [one for one in words if "_" in one or not one.startswith(("a ", "an ", "another "))]


def test_operations_have_a_rate_of_operations():
    for name, quantity in QUANTITIES.items():
        unit, words, counted = quantity.unit, quantity.words, quantity.counted
        assert (counted == "op") <= (unit == "operation"), name
        assert (counted in ("line", "element", "value")) <= (unit == "access"), name
        extra = "beside the instruction" in words  # what an access takes more than any instruction
        assert (not counted) <= (extra or unit in ("launch", "work-group", "barrier", "operation")), name
