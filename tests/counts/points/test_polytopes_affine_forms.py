"""Affine forms: operators, substitution, text, and what they say about integers."""

from __future__ import annotations

from itertools import product

import pytest

from perfmodel.counts.points.polytopes import AffineForm, floor_rows
from tests.counts.points.forms import form


def test_operators():
    f, g = form(4, i=3, n=-2), form(1, n=2)
    assert form(5, i=3) == f + g  # n is gone, not kept with a zero
    assert form(3, i=3, n=-4) == f - g
    assert form(-8, i=-6, n=4) == -2 * f == f * -2
    assert form(-4, i=-3, n=2) == -f
    assert (form(7, i=3, n=-2), form(1, i=3, n=-2)) == (f + 3, f - 3)
    assert AffineForm({}) == 0 * f == f - f
    assert not f - f
    assert form(1)


def test_order_of_names_does_not_matter():
    one, other = AffineForm({"i": 1, "n": 2}), AffineForm({"n": 2, "i": 1})
    assert one == other
    assert hash(one) == hash(other)


def test_reading():
    f = form(4, i=3)
    assert (3, 0, 4) == (f["i"], f["k"], f.constant)
    assert "i" in f
    assert "k" not in f
    assert {"i"} == f.names
    assert 19 == f.at({"i": 5})
    assert "3*i + 4" == str(f)
    assert ("0", "-7", "-1*i") == (str(form()), str(form(-7)), str(form(i=-1)))


def test_substitution():
    # 3*i + n + 4 with i = 2*j - n + 1 is 6*j - 2*n + 7
    assert form(7, j=6, n=-2) == form(4, i=3, n=1).substituted("i", form(1, j=2, n=-1))
    assert form(4, n=1) == form(4, i=3, n=1).without("i")
    assert form(4, n=1) == form(4, n=1).substituted("i", form(1, j=2))
    assert form(4, x=3, n=1) == form(4, i=3, n=1).renamed({"i": "x"})


def test_tightened_holds_at_the_same_integers():
    # 4*x - 6*y + 5 >= 0 is 2*x - 3*y >= -5/2, for integers 2*x - 3*y >= -2
    whole = form(5, x=4, y=-6)
    assert form(2, x=2, y=-3) == whole.tightened()
    for x, y in product(range(-6, 7), repeat=2):
        assert (whole.at({"x": x, "y": y}) >= 0) == (whole.tightened().at({"x": x, "y": y}) >= 0)


@pytest.mark.parametrize(
    ("expected", "subject"), [(True, form(3)), (True, form()), (False, form(-1)), (False, form(3, n=1))]
)
def test_certain(expected, subject):
    assert expected == subject.is_certain()


def test_floor_rows_leave_one_value():
    low, high = floor_rows("e", form(1, x=2), 5)  # e = floor((2*x + 1)/5)
    for x in range(-9, 10):
        found = [e for e in range(-9, 10) if min(row.at({"x": x, "e": e}) for row in (low, high)) >= 0]
        assert [(2 * x + 1) // 5] == found
