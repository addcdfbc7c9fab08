"""Cells and values, by hand."""

from __future__ import annotations

from perfmodel.counts.flow.execution import CellValue, blurred, bound, may_be_equal, renamed
from perfmodel.counts.flow.paths import START, Path

I2, I3, J = (2, (("i", 1),)), (3, (("i", 1),)), (0, (("j", 1),))


def test_cells_may_be_equal_unless_a_constant_differs() -> None:
    assert may_be_equal((I2,), (I2,))
    assert not may_be_equal((I2,), (I3,))  # i + 2 and i + 3
    assert may_be_equal((I2,), (J,))  # i + 2 = j for some i and j
    assert may_be_equal((None,), (I2,))
    assert not may_be_equal((None, I2), (None, I3))
    assert may_be_equal((I2,), (I2, J))


def test_cells_at_an_iteration() -> None:
    # i is 5: i + 2 is 7; i is 1 after the first iteration followed: i + 3
    assert ((7, ()),) == bound((I2,), {"i": (True, 5)})
    assert (I3,) == bound((I2,), {"i": (False, 1)})
    assert (I2, None) == bound((I2, None), {"j": (True, 5)})


def test_indices_that_depend_on_a_name_become_unknown() -> None:
    assert (None, J) == blurred((I2, J), frozenset({"i"}))


def test_values_of_cells_that_become_one_are_merged() -> None:
    short, long = CellValue(Path({}, 1), {"a": 1}), CellValue(Path({}, 2), {"a": 2, "b": 0})
    merged = renamed({(I2,): short, (I3,): long}, lambda _: (None,))
    assert {(None,): CellValue(Path({}, 2), {"a": 2, "b": 0})} == merged


def test_after_a_loop_its_iteration_is_forgotten() -> None:
    value = CellValue(START, {"a": 4, "b": 1})  # stored in the present iteration of two loops, and before that of one
    assert {"a": 2, "b": 1} == value.aged(2).sources
    assert value.aged(4) is value
