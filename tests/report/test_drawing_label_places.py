"""Labels that cover nothing."""

from __future__ import annotations

import itertools

from perfmodel.report.drawing import box_around, label_places, overlap


def test_labels_lie_beside_their_points_and_on_nothing_else():
    anchors = [(10.0 * (k % 3), 2.0 * (k // 3)) for k in range(12)]
    obstacles = [box_around(one, (1.0, 1.0)) for one in anchors]
    bounds = (-30.0, -30.0, 60.0, 60.0)
    boxes = [box_around(place, (3.0, 1.5)) for place in label_places(anchors, (3.0, 1.5), obstacles, bounds, 1.0)]
    assert not [pair for pair in itertools.combinations(boxes, 2) if overlap(*pair)]
    assert not [(box, one) for box in boxes for one in obstacles if overlap(box, one)]
    assert all(bounds[0] <= box[0] and box[3] <= bounds[3] for box in boxes)


def test_a_label_without_room_is_still_placed():
    wall = [(-100.0, -100.0, 100.0, 100.0)]
    assert 1 == len(label_places([(0.0, 0.0)], (1.0, 1.0), wall, (-5.0, -5.0, 5.0, 5.0), 1.0))
