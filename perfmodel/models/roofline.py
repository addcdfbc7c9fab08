r"""The roofline model.

Kim, Vuduc, Baghsorkhi, Choi and Hwu (2012), Eq. 4.31 (section 4.2.4), after Williams, Waterman and
Patterson (2009):

.. math:: \text{attainable flop/s} = \min(\text{peak flop/s}, \text{bandwidth} \times \text{flop : byte ratio})

A kernel of F operations that moves Q bytes at that rate takes :math:`\max(F/\text{peak}, Q/\text{bandwidth})`
seconds. Here each floating-point type has its own peak, and their times add up; local memory is one
more roof (section 4.2.4: "one can map specific architectural features to other roofs"); and each
launch costs its overhead:

.. math:: T = \text{overhead} + \max(F_{32}/P_{32} + F_{64}/P_{64},\; Q/B,\; Q_{local}/B_{local})

Every floating-point operation counts as one, a division or a square root too; index arithmetic as
none. Q is what has to be moved at the least (:func:`traffic`), so the maximum is a bound from below. The
peaks are measured (:mod:`perfmodel.fitting.facts.roofs`) or what a person gave; the overhead is fitted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perfmodel.models.model import Family, Weight
from perfmodel.quantities.case import Case

if TYPE_CHECKING:
    from perfmodel.counts import AccessCount

LINE_KEYS = ("global_transaction_bytes", "l2_line_bytes", "cache_line_bytes")
"""Facts that give the size of a transfer, the first that is known."""


def quantities(case: Case) -> dict[str, Any]:
    """Return the operations, the bytes that must be moved, and the launches."""
    return {
        "flops_float32": case.total("op_float16_*", "op_float32_*"),
        "flops_float64": case.total("op_float64_*"),
        "global_bytes": traffic(case),
        "local_bytes": local_traffic(case),
        "launched": case.value(case.counts.launches()),
    }


def traffic(case: Case) -> Any:
    r"""Return the bytes that must move between global memory and the chip [B].

    For each array and direction it is the footprint with its gaps filled, as whole transfers of L
    bytes (:func:`transfer_bytes`) are moved: :math:`\min(|F_{filled}| \, b, |F| \, L)` for cells of b bytes.
    What is touched again is taken to be still on the chip, as if its memory Z had no end (Kim et
    al., section 2.3). Arrays whose cells depend on data count b bytes for each access.

    Raises
    ------
    MissingFactError
        If the size of a transfer is not known.
    """
    line = transfer_bytes(case)
    arrays: dict[tuple[str, str], list[AccessCount]] = {}
    for row in case.counts.access_table:
        if row.space == "global":
            arrays.setdefault((row.array, row.direction), []).append(row)
    return sum((_moved(case, rows, line) for rows in arrays.values()), 0.0)


def transfer_bytes(case: Case) -> float:
    """Return the size L of a transfer with global memory [B]: a transaction, else a line of a cache.

    Raises
    ------
    MissingFactError
        If none is known.
    """
    return float(case.fact(next(filter(case.knows, LINE_KEYS), LINE_KEYS[0])))


def local_traffic(case: Case) -> Any:
    """Return the bytes that move between local memory and registers [B].

    A cell that the lanes of a sub-group share moves once for all of them: on a CPU it is one load of
    a scalar, on a GPU a broadcast. The roof is to bound both.
    """
    total: Any = 0.0
    for row in case.counts.access_table:
        if row.space == "local":
            shared = (not row.indirect) & (case.value(row.stride) == 0)
            total = total + case.value(row.count) * row.bits / 8 / np.where(shared, case.counts.subgroup_size, 1)
    return total


def _moved(case: Case, rows: list[AccessCount], line: float) -> Any:
    """Return the bytes of one array in one direction."""
    size = rows[0].bits / 8
    cells = next((row.footprint for row in rows if row.footprint is not None), None)
    if cells is None:
        return sum(case.value(row.count) for row in rows) * size
    touched = case.value(cells)
    spanned = touched
    for row in rows:
        if row.filled is not None:
            spanned = np.maximum(spanned, case.value(row.filled))
    return np.minimum(spanned * size, touched * line)


FAMILY = Family(
    name="roofline",
    citation=(
        "H. Kim, R. Vuduc, S. Baghsorkhi, J. Choi, W. Hwu: Performance Analysis and Tuning for General Purpose "
        "Graphics Processing Units (GPGPU), 2012, Eq. 4.31; S. Williams, A. Waterman, D. Patterson: Roofline: "
        "An Insightful Visual Performance Model for Multicore Architectures, CACM 52(4), 2009"
    ),
    quantities=quantities,
    units={
        "flops_float32": "operation", "flops_float64": "operation", "global_bytes": "B", "local_bytes": "B",
        "launched": "launch",
    },
    weights=(
        Weight("w_peak_float32", "operation/s", start=1e10, lower=1e3, fact="peak_flops_float32"),
        Weight("w_peak_float64", "operation/s", start=1e10, lower=1e3, fact="peak_flops_float64"),
        Weight("w_bandwidth", "B/s", start=1e10, lower=1e3, fact="memory_bandwidth_bytes_per_s"),
        Weight("w_local_bandwidth", "B/s", start=1e10, lower=1e3, fact="local_bandwidth_bytes_per_s"),
        Weight("w_launch", "s/launch", start=1e-5),
    ),
    parts={
        "compute": "flops_float32/w_peak_float32 + flops_float64/w_peak_float64",
        "memory": "global_bytes/w_bandwidth",
        "local": "local_bytes/w_local_bandwidth",
        "overhead": "w_launch*launched",
    },
    expression="overhead + max(compute, memory, local)",
    additive=False,
)  # fmt: skip
