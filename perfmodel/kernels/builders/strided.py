"""Accesses with a lane stride: every work-item accesses some of the cells between itself and its neighbour.

The arrays have the shape (stride, n, k) and are column-major, so that work-item i finds its cells at the
addresses stride*i, stride*i + 1, ... of each of the k slices.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import loopy as lp
import numpy as np

from perfmodel.kernels.shapes import WorkGroup, assume


def strided(
    statement: str, arguments: Iterable[lp.KernelArgument], cells: int, name: str, work_group: WorkGroup
) -> lp.TranslationUnit:
    """Run `statement` for each work-item i, slice r and cell o < `cells`; `arguments` leave out n and k."""
    t_unit = lp.make_kernel(
        f"{{[i, r, o]: 0 <= i < n and 0 <= r < k and 0 <= o < {cells}}}",
        statement,
        [*arguments, lp.ValueArg("n, k", np.int32)],
        assumptions=assume(n=work_group, k=()),
        name=name,
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "i", work_group[0], outer_tag="g.0", inner_tag="l.0")
    return lp.prioritize_loops(t_unit, "r, o")


def strides_in_turn(uses: Mapping[int, Sequence[int]]) -> tuple[dict[str, int], ...]:
    """Variants of `uses`, the numbers of cells by stride: every stride once, then again with its next number.

    Examples
    --------
    >>> [tuple(variant.values()) for variant in strides_in_turn({2: (1, 2), 3: (1,)})]
    [(2, 1), (3, 1), (2, 2)]
    """
    longest = max(map(len, uses.values()))
    return tuple(
        {"stride": stride, "offsets": cells[place]}
        for place in range(longest) for stride, cells in uses.items() if place < len(cells)
    )
