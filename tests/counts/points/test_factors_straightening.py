"""Changes of variables keep the number of points, and uncouple tiles and skewed loops."""

import pytest

from perfmodel.counts.points.factors import straightened, without_tiles
from perfmodel.counts.points.polytopes import Polytope
from tests.counts.points.forms import form, points_of

TILES = Polytope(
    ("i", "j"), (), (form(i=1), form(j=1), form(3, j=-1), form(-1, n=1, i=-4, j=-1))
)  # 0 <= j < 4, 0 <= i and 4*i + j < n


def test_a_determined_variable_is_left_out():
    # 0 <= x - 3*e <= 2 gives one e for each x
    found = without_tiles(Polytope(("x", "e"), (), (form(x=1, e=-3), form(2, x=-1, e=3), form(x=1), form(7, x=-1))))
    assert Polytope(("x",), (), (form(x=1), form(7, x=-1))) == found


@pytest.mark.parametrize("n", [1, 4, 7])
@pytest.mark.parametrize(
    "subject",
    [
        TILES,
        # a tile with a lower and an upper bound, and one with an offset that begins at 2
        Polytope(("i", "j"), (), (form(-1, i=1), form(n=1, i=-1), form(j=1), form(3, j=-1))),
        Polytope(("i", "j"), (), (form(i=1), form(-2, j=1), form(5, j=-1), form(1, n=1, i=-4, j=-1))),
        # k = i + j and 2*m = k + j + i
        Polytope(("i", "k", "j"), (form(i=1, j=1, k=-1),), (form(i=1), form(j=1), form(n=1, k=-1))),
        Polytope(("k", "i", "m"), (form(m=2, k=-1, i=-1), form(k=1, i=-1)), (form(i=1), form(n=1, i=-1))),
    ],
)
def test_the_number_of_points_stays(subject, n):
    assert len(points_of(subject, n=n)) == len(points_of(straightened(subject), 40, n=n))
