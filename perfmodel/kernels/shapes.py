"""Work-group shapes, and the assumptions on sizes that go with them.

The sets of shapes are those of Stevens and Kloeckner, section 4.1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

WorkGroup: TypeAlias = tuple[int, ...]

#: The paper's six sets of work-group shapes (section 4.1), by dimensions and size.
WORK_GROUPS: Mapping[tuple[int, str], tuple[WorkGroup, ...]] = MappingProxyType(
    {
        (1, "small"): ((192,), (224,), (256,)),
        (1, "medium"): ((128,), (256,), (384,)),
        (1, "large"): ((256,), (384,), (512,)),
        (2, "small"): ((16, 12), (16, 14), (16, 16)),
        (2, "medium"): ((16, 12), (16, 16), (32, 16)),
        (2, "large"): ((16, 16), (24, 16), (32, 16)),
    }
)


def work_groups(dimensions: int, max_work_group_size: int) -> tuple[WorkGroup, ...]:
    """Work-group shapes that a device with this limit [work-items] runs, the paper's where they fit.

    The medium sets are for devices that allow 512 work-items, the small sets for those
    that allow 256 (as the paper's R9 Fury). Below that, the shape is the largest power of two.

    No dimensions give the one empty shape of a class that sets its own.

    Examples
    --------
    >>> work_groups(2, 4096)
    ((16, 12), (16, 16), (32, 16))
    >>> work_groups(2, 64)
    ((8, 8),)
    """
    if dimensions == 0:
        return ((),)
    for size in ("medium", "small"):
        shapes = WORK_GROUPS[dimensions, size]
        if max(map(math.prod, shapes)) <= max_work_group_size:
            return shapes
    exponent = max_work_group_size.bit_length() - 1
    return ((2 ** (exponent // dimensions),) * dimensions,)


def assume(**multiples: WorkGroup) -> str:
    """Loopy assumptions: each size is positive and a multiple of its power-of-two tiles.

    Sizes are powers of two, so that the code needs no guard for a tile of 16, and needs one for
    a tile of 12 (the paper's sizes "are not multiples" of such groups; guards are counted).

    Examples
    --------
    >>> assume(n=(16, 12), m=())
    'n >= 1 and n mod 16 = 0 and m >= 1'
    """
    terms = []
    for name, tiles in multiples.items():
        terms.append(f"{name} >= 1")
        tile = max((tile for tile in tiles if tile & (tile - 1) == 0), default=1)
        if tile > 1:
            terms.append(f"{name} mod {tile} = 0")
    return " and ".join(terms)
