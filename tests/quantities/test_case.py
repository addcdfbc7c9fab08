"""A kernel at given sizes: its features, counts and facts."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.errors import FactsError
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.quantities.case import Case
from tests.standins import Counts, Operation, count

COUNTS = Counts(operation_table=(Operation("float32", "add", count("2*n")), Operation("float64", "mul", count("n"))))
FACTS = DeviceFacts.from_mapping("toy", "none", "0", {"banks": Fact(32, "", "made up")})


def test_features_are_summed_by_patterns():
    case = Case(COUNTS, {"n": 10})
    assert 20 == case.features["op_float32_add"]
    assert (30, 10, 0) == (case.total("op_*"), case.total("op_float64_*", "none_*"), case.total("none_*"))


def test_counts_at_a_number_and_at_arrays():
    assert 20.0 == Case(COUNTS, {"n": 10}).value(count("2*n"))
    assert [2.0, 4.0] == Case(COUNTS, {"n": np.array([1, 2])}).value(count("2*n")).tolist()
    # A constant has the shape of the sizes too.
    assert [7.0, 7.0] == Case(COUNTS, {"n": [1, 2]}).value(count("7")).tolist()


def test_counts_are_added():
    case = Case(COUNTS, {"n": 10})
    assert (30.0, 0.0) == (case.sum(count("2*n"), count("n")), case.sum())


def test_facts_are_known_or_named_in_an_error():
    case = Case(COUNTS, {"n": 10}, FACTS, "toy_family")
    assert (32, True, False) == (case.fact("banks"), case.knows("banks"), case.knows("banks", "clock_hz"))
    assert (32, 5, None) == (case.known("banks"), case.known("clock_hz", 5), case.known("clock_hz"))
    with pytest.raises(FactsError) as caught:
        case.fact("clock_hz")
    assert ("clock_hz", "toy_family") == (caught.value.key, caught.value.family)


def test_without_a_device_no_fact_is_known():
    case = Case(COUNTS, {"n": 10})
    assert (False, 1) == (case.knows("banks"), case.known("banks", 1))
    with pytest.raises(FactsError):
        case.fact("banks")
