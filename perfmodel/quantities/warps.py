"""What the warps (sub-groups) of a compute unit do: the inputs of Table 1 of Wang and Lou (2017)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from perfmodel.quantities.case import Case
from perfmodel.quantities.instructions import instructions
from perfmodel.quantities.occupancy import active_units, groups_per_launch, launched
from perfmodel.quantities.subgroup_accesses import global_accesses, subgroup_transactions

WARP_UNITS: Mapping[str, str] = MappingProxyType({
    **dict.fromkeys(("insts", "mem_insts", "periods"), "operation"), "warp_bytes": "B", "rounds": "launch",
    **dict.fromkeys(("uncoalesced", "coalesced", "per_mw", "more_per_mw", "warps", "units"), ""), "launched": "launch",
})  # fmt: skip
"""Unit of each quantity of :func:`warp_quantities`."""
CACHED_WARP_UNITS: Mapping[str, str] = MappingProxyType({**WARP_UNITS, "misses": "", "hits": ""})
"""Unit of each quantity of :func:`cached_warp_quantities`."""


def warp_quantities(case: Case) -> dict[str, Any]:
    """Return the inputs of Table 1, means over all launches, with the numbers of the paper's equations.

    - ``insts``, ``mem_insts``: instructions and accesses to global memory of one warp; a warp issues
      one instruction at least. ``periods``: the accesses, at least 1.
    - ``uncoalesced``, ``coalesced``: shares of the accesses (Eq. 13, 14). An access is uncoalesced
      where its lanes are further apart than its size, or where it depends on data.
    - ``per_mw``, ``more_per_mw``: transactions of an uncoalesced access, and those beyond the first.
    - ``warp_bytes``: bytes that a warp moves with one access [B].
    - ``warps``, ``units``, ``rounds``: warps of a unit at a time (Eq. 18), units in use, and how often
      the units are filled in all launches, #Rep (Eq. 19, with the active blocks of a unit).
    - ``launched``: launches.
    """
    launches, (items, _) = case.value(case.counts.launches()), launched(case)
    units, groups, warps = active_units(case)
    amounts, apart, sizes = global_accesses(case)
    mem, uncoalesced = amounts.sum(0), (amounts * (apart > 1)).sum(0)
    moves = amounts * (apart > 1) * subgroup_transactions(case, apart, sizes)
    share = uncoalesced / np.where(mem > 0, mem, 1)
    split = np.maximum(moves.sum(0) / np.where(uncoalesced > 0, uncoalesced, 1), 1)
    width = (amounts * sizes).sum(0) / np.where(mem > 0, mem, 1)
    return {
        "insts": np.maximum(instructions(case) / items, 1),
        "mem_insts": mem / items,
        "periods": np.maximum(mem / items, 1),
        "uncoalesced": share,
        "coalesced": 1 - share,
        "per_mw": split,
        "more_per_mw": split - 1,
        "warp_bytes": case.counts.subgroup_size * np.where(mem > 0, width, 4),
        "warps": groups * warps,
        "units": units,
        "rounds": launches * np.maximum(groups_per_launch(case) / (groups * units), 1),
        "launched": launches,
    }


def cached_warp_quantities(case: Case) -> dict[str, Any]:
    """Return :func:`warp_quantities`, and of later accesses the shares that miss and that hit the L2 cache.

    The share of misses is the fact ``l2_miss_ratio``. Without it all later accesses hit, as in the paper (section 2.4).
    """
    miss = float(case.known("l2_miss_ratio", 0.0))
    return {**warp_quantities(case), "misses": miss, "hits": 1 - miss}
