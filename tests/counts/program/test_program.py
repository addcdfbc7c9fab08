"""Derived numbers of the values of a program, by hand."""

from __future__ import annotations

from fractions import Fraction

import islpy as isl
import pytest

from perfmodel.counts.program.program import Access, Domain, LaneStride, Launch

POINTS = isl.Set("[n] -> { [j, l, k] : 0 <= j, l, k < n }")
ONE = isl.PwQPolynomial("{ 1 }")


@pytest.mark.parametrize(("shape", "size"), [((), 1), ((16,), 16), ((16, 4, 2), 128)])
def test_work_items_of_a_group(shape: tuple[int, ...], size: int) -> None:
    assert size == Launch("kernel", shape, (), isl.Set("{ [] }")).group_size


@pytest.mark.parametrize(("trips", "chance", "factor"), [
    (None, Fraction(1), 1),
    (None, Fraction(1, 4), Fraction(1, 4)),
    (Fraction(6), Fraction(1, 4), Fraction(3, 2)),
    (Fraction(0), Fraction(1), 0),  # a loop that never runs is no missing one
])  # fmt: skip
def test_statistics_multiply(trips: Fraction | None, chance: Fraction, factor: Fraction) -> None:
    assert factor == Domain(0, POINTS, ("", "l.0", ""), trips, chance).factor


def test_inames_are_in_the_order_of_the_dimensions() -> None:
    assert ("j", "l", "k") == Domain(0, POINTS, ("", "l.0", "")).names


def test_an_access_without_a_stride_is_indirect() -> None:
    known = Access("global", "load", "a", "float32", 32, None, True, None, None, (LaneStride(ONE, None, 1),), (), ONE)
    unknown = Access("global", "load", "a", "float32", 32, None, False, None, None, (), (), ONE)
    assert [False, True] == [known.indirect, unknown.indirect]
