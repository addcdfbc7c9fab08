"""Operations and instructions, summed over all work-items."""

from __future__ import annotations

from typing import Any

import numpy as np

from perfmodel.features import matches
from perfmodel.quantities.case import Case


def float_operations(case: Case) -> tuple[Any, Any]:
    """Return the floating-point operations of up to 32 bits, and those of 64 bits [operation].

    Each operation counts as one, a division or a square root too (Kim et al. 2012, section 4.2.4).
    """
    return case.total("op_float16_*", "op_float32_*"), case.total("op_float64_*")


def fused_operations(case: Case) -> Any:
    """Return all operations, an addition and a multiplication of one floating-point type as one.

    The fused multiply-add of Karsin (2018), section 5.2.3: of each type as many pairs as there can be.
    """
    values = case.features
    pairs = (
        np.minimum(value, values.get(name.removesuffix("add") + "mul", 0.0))
        for name, value in values.items()
        if matches(("op_float*_add",), name)
    )
    return case.total("op_*") - sum(pairs, 0.0)


def instructions(case: Case) -> Any:
    """Return the instructions: operations, accesses, one of index arithmetic for each access, and barriers.

    An addition and a multiplication are one instruction, as the FFMA in the listing of Wang and Lou
    (2017), section 3.3.
    """
    moved = case.total("global_load_*", "global_store_*", "local_*")
    return fused_operations(case) + 2 * moved + case.total("barrier_local")


def fast_work(case: Case) -> Any:
    """Return T_1, the operations and the accesses to local memory.

    Ma et al. (2014), section II.A: "computation and access to fast memory take unit time".
    """
    local = (row.count for row in case.counts.access_table if row.space == "local")
    return case.sum(*(row.count for row in case.counts.operation_table), *local)
