"""Lanes of sub-groups as boxes, against linear local ids in plain Python."""

from itertools import product

import pytest

from perfmodel.counts.counters.executions import boxes_of_sub_groups, completed, in_sub_groups
from tests.counts.counters.boxes import domain, lanes, launch, points_at

ROWS = domain("[n] -> { [g, i, a, b] : 0 <= g < n and 0 <= i < 2 and 0 <= a < 10 and 0 <= b < 4 and 4g + b < n }",
              "g.0", "", "l.0", "l.1")  # fmt: skip


def test_sub_groups_that_end_inside_a_row():
    # 40 lanes in rows of 10: lanes 0 to 31 are three rows and ids 0 and 1 of the last one
    first, second = boxes_of_sub_groups(launch(10, 4), 32)
    assert [((0, 9), (0, 0)), ((0, 9), (1, 2)), ((0, 1), (3, 3))] == first
    assert [((2, 9), (3, 3))] == second


@pytest.mark.parametrize("shape", [(7,), (10, 4), (3, 5, 2), (4, 1, 3)])
@pytest.mark.parametrize("size", [1, 4, 8, 64])
def test_boxes_hold_each_lane_once(shape, size):
    ids = lanes(shape)
    found = [
        [lane for box in boxes for lane in product(*(range(low, high + 1) for low, high in box))]
        for boxes in boxes_of_sub_groups(launch(*shape), size)
    ]
    assert [set(ids[k:k + size]) for k in range(0, len(ids), size)] == [set(one) for one in found]
    assert len(ids) == sum(len(one) for one in found)


def test_sub_groups_take_the_place_of_lanes():
    # at n = 6 the second group has rows 0 and 1, which are lanes 0 to 19: all in the first sub-group
    expected = {(g, i, s) for g, i, s in product(range(2), range(2), range(2)) if not (g == 1 and s == 1)}
    instances = in_sub_groups(ROWS, launch(10, 4), 32)
    assert expected == {(*point, s) for s, points in enumerate(instances) for point in points_at(points, n=6)}


def test_missing_axes_are_added():
    whole = completed(domain("{ [i] : 0 <= i < 2 }", ""), launch(3))
    assert ("", "g.0", "l.0") == whole.axes
    assert ("i", "g_axis_0", "l_axis_0") == whole.names
    assert set(product(range(2), range(5), range(3))) == points_at(whole.points, n=5)
    assert ("", "l.0") == completed(domain("{ [i] : 0 <= i < 2 }", ""), launch(3), groups=False).axes
