"""The range of the measured values, and values far outside of it, by hand."""

import numpy as np
import pytest

from perfmodel.fitting.cautions import Measured
from tests.fitting.toy_design import table


def test_the_range_of_what_was_measured():
    expected = Measured(seconds=(1.2e-5, 2.8e-5), features={"a": (1, 1), "b": (1, 9), "c": (4, 4)})
    found = table().measured_range
    assert expected.features == found.features
    assert pytest.approx(expected.seconds) == found.seconds


LIMITS = Measured(seconds=(1e-5, 1e-3), features={"a": (1.0, 1.0), "b": (10.0, 1000.0)})


@pytest.mark.parametrize(("seconds", "b", "expected"), [
    (1e-4, 500.0, []),
    (1e-4, 10_000.0, []),  # ten times the largest is not beyond it
    (1e-2, 10_001.0, ["b is 1e+04, measured were 10 to 1e+03"]),
    (1.1e-2, 500.0, ["predicted time is 0.011, measured were 1e-05 to 0.001 [s]"]),
    (0.9e-6, 500.0, ["predicted time is 9e-07, measured were 1e-05 to 0.001 [s]"]),
    (1e-5, 0.5, ["b is 0.5, measured were 10 to 1e+03"]),
    (1e-3, 0.5, []),  # makes up less than 1 % of the time
    (1e-4, 0.0, []),
])  # fmt: skip
def test_what_lies_far_outside(seconds, b, expected):
    far = LIMITS.far_outside(seconds, {"a": 1e-6, "b": 1e-6}, {"a": 1.0, "b": b})
    assert expected == list(map(str, far))


def test_what_lies_far_outside_of_many_sizes():
    b = np.array([100.0, 20_000.0, 40_000.0])
    found = list(LIMITS.far_outside(1e-6 * b, {"b": 1e-6}, {"a": np.zeros(3), "b": b}))
    assert [
        "predicted time is 0.02 to 0.04 at 2 of 3 sizes, measured were 1e-05 to 0.001 [s]",
        "b is 2e+04 to 4e+04 at 2 of 3 sizes, measured were 10 to 1e+03",
    ] == list(map(str, found))
    assert [("", (2, 3)), ("b", (2, 3))] == [(far.feature, far.sizes) for far in found]
    assert [pytest.approx((0.02, 0.04)), (20_000.0, 40_000.0)] == [far.values for far in found]
