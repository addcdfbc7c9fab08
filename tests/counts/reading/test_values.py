"""C types and memory, against the rules of C written out by hand."""

from __future__ import annotations

import loopy as lp
import numpy as np
import pymbolic.primitives as p
import pytest

from perfmodel.counts.reading.values import flat_terms, in_memory, is_sign, promote, real_part


@pytest.mark.parametrize(("left", "right", "expected"), [
    ("float32", "float64", "float64"),
    ("float32", "int64", "float32"),  # the integer is converted
    ("complex64", "float64", "complex128"),
    ("int8", "int16", "int32"),  # integer promotion
    ("int32", "uint32", "uint32"),  # of equal size the unsigned type wins
    ("int64", "uint32", "int64"),
    ("uint8", "int8", "int32"),
])
def test_promotion(left: str, right: str, expected: str) -> None:
    assert np.dtype(expected) == promote(np.dtype(left), np.dtype(right))
    assert np.dtype(expected) == promote(np.dtype(right), np.dtype(left))


def test_real_parts() -> None:
    assert np.dtype("float64") == real_part(np.dtype("complex128"))
    assert np.dtype("int32") == real_part(np.dtype("int32"))


def test_terms_of_nested_sums() -> None:
    a, b, c = (p.Variable(name) for name in "abc")
    assert [a, b, c] == flat_terms(p.Sum((a, p.Sum((b, c)))))


def test_a_sign_is_free_and_a_factor_1_is_not() -> None:
    assert [False, True, False, False] == [is_sign(value) for value in (1, -1, 2, p.Variable("a"))]


def test_what_lies_in_memory() -> None:
    private = {"shape": (), "address_space": lp.AddressSpace.PRIVATE}
    variables = (
        lp.ValueArg("n"), lp.TemporaryVariable("t", **private), lp.TemporaryVariable("t", base_storage="s", **private)
    )
    assert [False, False, True] == [in_memory(variable) for variable in variables]
