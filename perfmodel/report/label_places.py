"""Places for the labels of points, so that no label covers another label or a point."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TypeAlias

Place: TypeAlias = tuple[float, float]
Box: TypeAlias = tuple[float, float, float, float]

ANGLES = (0, 180, 90, 270, 45, 135, 315, 225, 22, 158, 338, 202, 68, 112, 292, 248)
"""Directions from the anchor that are tried, in this order [degree]."""
RINGS = 12


def label_places(
    anchors: Sequence[Place], size: Place, obstacles: Sequence[Box], bounds: Box, gap: float
) -> tuple[Place, ...]:
    """Return the middle of each label: the free place that is nearest to its anchor.

    Rings of places around the anchor are tried from near to far, beginning at `gap` between the anchor and the
    label's edge. Where no place is free, the last place within the bounds is taken. All lengths are in one unit;
    boxes are (left, bottom, right, top), and labels keep off the boxes in `obstacles`.

    Examples
    --------
    >>> label_places([(0, 0), (0, 0)], (2, 1), [], (-9, -9, 9, 9), 1)
    ((2.0, 0.0), (-2.0, 0.0))
    """
    taken = list(obstacles)
    found = []
    for anchor in anchors:
        place = anchor
        for candidate in _around(anchor, size, gap):
            box = box_around(candidate, size)
            if not _inside(box, bounds):
                continue
            place = candidate
            if not any(overlap(box, other) for other in taken):
                break
        taken.append(box_around(place, size))
        found.append(place)
    return tuple(found)


def box_around(middle: Place, size: Place) -> Box:
    """Return the box (left, bottom, right, top) of that size around a place."""
    (x, y), (width, height) = middle, size
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


def overlap(one: Box, other: Box) -> bool:
    """Return whether two boxes share an area."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _around(anchor: Place, size: Place, gap: float) -> Iterator[Place]:
    for ring in range(RINGS):
        away = gap * (1 + ring)
        for angle in ANGLES:
            across, up = math.cos(math.radians(angle)), math.sin(math.radians(angle))
            yield (
                anchor[0] + round(across, 9) * (away + size[0] / 2),
                anchor[1] + round(up, 9) * (away + size[1] / 2),
            )


def _inside(box: Box, bounds: Box) -> bool:
    return bounds[0] <= box[0] and bounds[1] <= box[1] and box[2] <= bounds[2] and box[3] <= bounds[3]
