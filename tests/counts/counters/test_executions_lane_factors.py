"""Instances of sub-groups factor by factor, against the enumeration of lanes."""

import pytest

from perfmodel.counts.counters.executions import factors_of_lanes
from perfmodel.counts.points.factors import factored
from tests.counts.counters.boxes import domain, lanes, launch
from tests.counts.points.forms import form, points_of

GUARDED = domain(
    "[n] -> { [g, a, i] : g >= 0 and 0 <= a < 8 and 8g + a < n and 0 <= i < 3 }", "g.0", "l.0", ""
)


def test_sub_groups_of_a_guarded_group():
    # some of the lanes 0 ... 3 has 8*g + lane < n where 8*g < n; some of 4 ... 7 where 8*g + 4 < n
    (first,), (second,) = factors_of_lanes(factored(GUARDED.points), GUARDED, launch(8), 4)
    for factors, lane in ((first, 0), (second, 4)):
        inames, groups = factors
        assert {form(_v2=1), form(2, _v2=-1)} == {*inames.inequalities}
        for n in (1, 4, 5, 13):
            assert {(g,) for g in range(4) if 8 * g + lane < n} == points_of(groups, n=n)


@pytest.mark.parametrize("n", [1, 5, 8, 11])
def test_sub_groups_that_end_inside_a_row(n):
    """Rows of 3 lanes, 2 of them in a group: sub-groups of 4 lanes are a row and a lane, and two lanes."""
    rows = domain("[n] -> { [g, a, b] : g >= 0 and 0 <= a < 3 and 0 <= b < 2 and 2g + b < n }", "g.0", "l.0", "l.1")
    ids = lanes((3, 2))
    for number, (factors,) in enumerate(factors_of_lanes(factored(rows.points), rows, launch(3, 2), 4)):
        expected = {(g,) for g in range(n) if any(2 * g + b < n for _, b in ids[4 * number:4 * number + 4])}
        groups = next(factor for factor in factors if factor.variables == ("_v0",))
        assert expected == points_of(groups, n=n)


def test_boxes_of_which_none_holds_the_others():
    # rows of 3 lanes: lane (2, 0) reaches g <= 4 and i = 0, lane (0, 1) reaches g = 0 and i <= 3
    corners = domain(
        "{ [g, i, a, b] : 0 <= g <= 2a and 0 <= i <= 3b and 0 <= a < 3 and 0 <= b < 2 }", "g.0", "", "l.0", "l.1"
    )
    found = list(factors_of_lanes(factored(corners.points), corners, launch(3, 2), 2))
    assert 3 == len(found)
    assert [{(0, 0), (1, 0), (2, 0), (3, 0), (4, 0)}, {(0, 0), (0, 1), (0, 2), (0, 3)}] == [
        {(g, i) for (g,) in points_of(one) for (i,) in points_of(other)} for one, other in found[1]
    ]  # lanes (2, 0) and (0, 1)
