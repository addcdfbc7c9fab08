"""One record: its times, its key, and what is written of it."""

from __future__ import annotations

import math

import pytest

from perfmodel.store.measurement import Measurement, canonical
from tests.store.test_files import measurement


def test_seconds_are_the_minimum_after_the_drop():
    row = measurement(samples_s=(1.0, 1.0, 3.0, 2.0, 4.0))
    assert 2.0 == row.seconds
    assert 3.0 == row.median
    assert 0.5 == row.spread


def test_a_new_driver_or_code_is_another_key_in_the_same_place():
    old, code, driver = (
        measurement(),
        measurement(kernel_hash="x"),
        measurement(driver="2"),
    )
    assert 3 == len({old.key, code.key, driver.key})
    assert 1 == len({old.place, code.place, driver.place})


def test_records_are_frozen():
    with pytest.raises(ValueError, match="frozen"):
        measurement().kernel = "other"


def test_equal_values_have_one_canonical_text():
    assert '{"a":[1,2],"b":null}' == canonical({"b": None, "a": (1, 2)})


def test_a_variant_is_held_as_it_is_read_back():
    row = measurement(variant={"work_group": (16, 16)})
    assert {"work_group": [16, 16]} == row.variant
    assert row == Measurement.model_validate(row.model_dump(mode="json", by_alias=True))


def test_a_median_of_an_even_number_is_the_mean_of_the_middle_two():
    row = measurement(samples_s=(9.0, 1.0, 2.0, 4.0, 8.0), dropped=1)
    assert ((1.0, 2.0, 4.0, 8.0), 3.0, 2.0) == (row.kept_s, row.median, row.spread)
    assert math.isclose(3.0, row.median)


@pytest.mark.parametrize(("name", "value"), [("place_in_order", -1), ("remeasured", -1), ("status", "fine")])
def test_what_no_campaign_writes_is_refused(name, value):
    with pytest.raises(ValueError, match=name):
        measurement(**{name: value})
