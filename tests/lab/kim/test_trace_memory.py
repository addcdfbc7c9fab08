"""Where arrays lie and at which addresses their cells are, by hand."""

from __future__ import annotations

from dataclasses import replace

import islpy as isl
import numpy as np
import pytest

from perfmodel.counts.program.program import Access, Domain, LaneStride, Program, Statement
from perfmodel.errors import CountError
from scripts.lab.kim.trace import addresses, drawn_addresses, first_lines

ONE, N = isl.PwQPolynomial("{ 1 }"), isl.PwQPolynomial("[n] -> { n }")
POINTS = isl.Set("[n] -> { [i, j] : 0 <= i, j < n }")
LINE = isl.Set("[n] -> { [x] : 0 <= x < n }")
MATRIX = Access(
    "global", "load", "a", "float32", 32, isl.Map("[n] -> { [i, j] -> [i, j] }"), True, (LINE, LINE), 1,
    (LaneStride(ONE, None, 1),), (N, ONE), isl.PwQPolynomial("{ 0 }"),
)


def program(*accesses: Access) -> Program:
    statement = Statement(Domain(0, POINTS, ("", "")), (), accesses)
    return Program("made", ("n",), isl.Set("[n] -> { : n >= 1 }"), (), (statement,), (), ())


def test_arrays_begin_on_pages() -> None:
    # 40 x 40 floats are 6400 bytes: two pages of 4096 bytes, of 64 lines of 64 bytes each
    lines = first_lines(program(replace(MATRIX, array="b"), MATRIX), {"n": 40}, 64)
    assert {"a": 0, "b": 128} == lines


def test_an_offset_makes_an_array_longer() -> None:
    # 32 x 32 floats are one page; one float more and the next array is a page further
    at_one = replace(MATRIX, offset=ONE)
    assert 64 == first_lines(program(MATRIX, replace(MATRIX, array="b")), {"n": 32}, 64)["b"]
    assert 128 == first_lines(program(at_one, replace(MATRIX, array="b")), {"n": 32}, 64)["b"]


def test_addresses_are_offset_plus_strides() -> None:
    # cell (i, j) of rows of 10 at offset 1: 1 + 10*i + j
    points = isl.Set("{ [i, j] : 0 <= i, j < 10 }")
    found = addresses(replace(MATRIX, offset=ONE), MATRIX.cells, points, {"n": 10})
    assert found.is_equal(isl.Map("{ [i, j] -> [1 + 10i + j] : 0 <= i, j < 10 }"))


def test_drawn_addresses_lie_in_the_array() -> None:
    found = drawn_addresses(MATRIX, {"n": 4}, np.random.default_rng(0), 1000)
    assert set(range(16)) == set(found.tolist())
    with pytest.raises(CountError, match="shape is not known"):
        drawn_addresses(replace(MATRIX, shape=None), {"n": 4}, np.random.default_rng(0), 1)
