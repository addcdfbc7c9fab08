r"""How work-groups are dealt to compute units, and how much longer the busiest unit works than the mean.

The picture is a counter of groups that two units share. Eight groups of a triangle, of 8 to 1 rows::

                one by one               in shares
    unit 0      8  5  4  1               8  7  6  5
    unit 1      7  6  3  2               4  3  2  1
    busiest     18, the mean             26
"""

from __future__ import annotations

from heapq import heapreplace
from math import ceil

import numpy as np
from numpy.typing import NDArray

MOST_GROUPS = 1 << 14
"""Most groups of a launch whose work is looked at one by one; more are taken to be equal."""
FEW, MANY = 32, 256
"""Most groups that PoCL deals at once to one of U units, over U: many while more than ``256*U*U`` are left."""


def busiest_over_mean(work: NDArray[np.float64], units: int, in_shares: bool) -> float:
    r"""Return the work of the busiest of U units over the mean of all, for the work of each group.

    A unit that is free takes the next group, as on a GPU. Intel's runtime ends as evenly: its tasks are halved as long
    as a unit is free. *In shares*, a unit takes :math:`\lceil r/U \rceil` of r groups that are left, at most
    :math:`32 U`, or :math:`256 U` where more than :math:`256 U^2` are left. So does PoCL 3.1 (``get_wg_index_range`` in
    ``pthread_scheduler.c``).

    Examples
    --------
    >>> triangle = np.arange(8.0, 0.0, -1.0)
    >>> busiest_over_mean(triangle, 2, in_shares=False) * 18, busiest_over_mean(triangle, 2, in_shares=True) * 18
    (18.0, 26.0)
    """
    before, dealt, busy = np.concatenate([[0.0], np.cumsum(work)]), 0, [0.0] * units
    while dealt < len(work):
        next_one = dealt + (_share(len(work) - dealt, units) if in_shares else 1)
        heapreplace(busy, busy[0] + float(before[next_one] - before[dealt]))
        dealt = next_one
    return max(busy) * units / sum(busy) if any(busy) else 1.0


def _share(left: int, units: int) -> int:
    most = FEW if left <= MANY * units**2 else MANY
    return min(ceil(left / units), most * units)


def rounds_over_mean(groups: float, units: int) -> float:
    r"""Return the same for equal groups, :math:`\lceil g/U \rceil U / g`."""
    return ceil(groups / units) * units / groups if groups else 1.0
