"""What a user's reference gives, checked against the outputs of a variant."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.errors import TuningError
from perfmodel.tuning.agreement import expected_outputs

OUTPUTS = {"out": np.zeros(3, np.float32), "place": np.zeros(2, np.int32)}


def test_arrays_are_of_the_outputs_types():
    found = expected_outputs({"out": [1.0, 2.0, 1e300], "place": np.arange(2)}, OUTPUTS)
    assert {"out": np.float32, "place": np.int32} == {name: one.dtype for name, one in found.items()}
    assert [1.0, 2.0, np.inf] == found["out"].tolist()
    assert ["place"] == list(expected_outputs({"place": [1, 2]}, OUTPUTS))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "reference() returns NoneType; give a dict with some of the outputs: out, place"),
        ({}, "reference() returns an empty dict"),
        ({1: 2}, "gives 1, which is not an output"),
        ({"out": 1.0}, "gives 'out' as an array of float64 and shape (); give an array of float32 and shape (3,)"),
        ({"out": [1j, 1, 1]}, "gives 'out' as an array of complex128 and shape (3,)"),
        ({"place": [0.5, 1]}, "gives 'place' as an array of float64 and shape (2,); give an array of int32"),
        ({"out": [[1], [2, 3]]}, "gives 'out', which is not an array ("),
        ({"out": ["a", "b", "c"]}, "gives 'out' as an array of str"),
        ({"out": [np.nan] * 3}, "gives 'out' with NaN in every element; give numbers that can be compared"),
    ],
)
def test_what_is_no_output(value, said):
    with pytest.raises(TuningError) as raised:
        expected_outputs(value, OUTPUTS)
    assert said in str(raised.value)
