"""Operations and instructions, summed over all work-items, and work, critical path and parallelism of the dataflow."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from perfmodel.counts import OperationCount
from perfmodel.counts.program.program import DECISIONS, INDEX_DIVISIONS
from perfmodel.features import matches
from perfmodel.quantities.case import Case, launched

SIMPLE = frozenset({
    "add", "mul", "mulhi", "minmax", "shift", "bitwise", "fabs", "floor", "ceil", "trunc", "rint", "copysign", "isnan",
    "isinf", "isfinite", "compare", "select", "convert", "switch", "index", *INDEX_DIVISIONS,
})  # fmt: skip
"""Kinds that a CPU or GPU computes in one instruction; sign changes are not counted at all."""
ORDINARY = SIMPLE | {"madd"}  #: Simple kinds, and multiply-adds that are counted as one operation
NATIVE: Mapping[str, str] = {"div": "divide", "sqrt": "root", "rsqrt": "inverse_root"}
"""Kinds that are one slow instruction, and their names in quantities."""
INLINED: Mapping[str, tuple[int, ...]] = {"exp": (32, 64), "tanh": (32,)}
"""Functions, by the bits of their type, that PoCL's library inlines into the kernel, so that vectors compute them.

Any other is a call for each work-item, and a compiler does not vectorise a loop with such a call. The source is the
machine code of PoCL 3.1 (docs/lab/functions.md).
"""


def is_call(kind: str, bits: int) -> bool:
    """Return whether an operation is a call of a library function, or takes as long: an atomic update."""
    return kind not in SIMPLE and kind not in NATIVE and bits not in INLINED.get(kind, ())


def float_operations(case: Case) -> tuple[Any, Any]:
    """Return the floating-point operations of up to 32 bits, and of 64 bits (Kim et al. 2012, section 4.2.4)."""
    return arithmetic(case, "float16") + arithmetic(case, "float32"), arithmetic(case, "float64")


def arithmetic(case: Case, dtype: str = "*") -> Any:
    """Return the operations of a type, without comparisons and selects."""
    return case.total(f"op_{dtype}_*") - case.total(*(f"op_{dtype}_{kind}" for kind in DECISIONS))


def arithmetic_rows(case: Case) -> Iterator[OperationCount]:
    """Yield the operations that remain after compilation, by type and kind, without comparisons and selects."""
    return (row for row in case.counts.compiled.operation_table if row.kind not in DECISIONS)


def fused_operations(case: Case) -> Any:
    """Return all operations, with as many fused multiply-adds as possible (Karsin 2018, section 5.2.3)."""
    values = case.features
    additions = ((name, value) for name, value in values.items() if matches(("op_float*_add",), name))
    pairs = (np.minimum(value, values.get(name.removesuffix("add") + "mul", 0.0)) for name, value in additions)
    return arithmetic(case) - sum(pairs, 0.0)


def instructions(case: Case) -> Any:
    """Return operations, accesses with one address instruction each, and barriers.

    An addition and a multiplication count as one instruction, like the FFMA in the listing of Wang and Lou (2017, 3.3).
    """
    moved = case.total("global_load_*", "global_store_*", "local_*")
    return fused_operations(case) + 2 * moved + case.total("barrier_local")


def fast_work(case: Case) -> Any:
    """Return T_1, the operations and the accesses to local memory (Ma et al. 2014, section II.A)."""
    local = (row.count for row in case.counts.access_table if row.space == "local")
    return case.sum(*(row.count for row in arithmetic_rows(case)), *local)


def work(case: Case) -> Any:
    """Return W, the operations and loads of all work-items (Kim et al. 2012, figure 2.3)."""
    loads = (row.count for row in case.counts.access_table if row.direction == "load" and row.space != "private")
    return case.sum(*(row.count for row in arithmetic_rows(case)), *loads)


def critical_path(case: Case) -> Any:
    """Return D, the operations and loads on the longest chain of dependences (Kim et al. 2012, section 2.2)."""
    return case.sum(*(row.count for row in case.counts.flow.depth.rows if row.is_operation or row.kind == "load"))


def fast_critical_path(case: Case) -> Any:
    r"""Return :math:`T_\infty`, operations and local accesses on the longest chain (Ma et al. 2014, Eq. 1)."""
    rows = (row for row in case.counts.flow.depth.rows if row.kind != "barrier")
    return case.sum(*(row.count for row in rows if row.is_operation or row.where == "local"))


def special_functions(case: Case) -> Any:
    """Return the floating-point divisions, powers and functions: all kinds that are not in :data:`SIMPLE`."""
    rows = arithmetic_rows(case)
    return case.sum(*(row.count for row in rows if row.dtype.startswith("float") and row.kind not in ORDINARY))


def divergence(case: Case) -> Any:
    """Return the instructions of a sub-group, on all paths, divided by those of its mean work-item, minus 1."""
    by_items, by_subgroups = map(case.value, case.counts.executions)
    items, subgroups = launched(case)
    mean = by_items / items
    return np.maximum(by_subgroups / subgroups / np.where(mean > 0, mean, np.inf) - 1, 0)


def first_instructions(case: Case) -> Any:
    """Return the :func:`instructions` of a work-item before its first access to global memory, a mean over launches."""
    counts, all_of_them = case.counts, np.maximum(instructions(case) / launched(case)[0], 1)
    before = {(row.where, row.kind): case.value(row.count) for row in counts.flow.before_access.rows}
    number = sum(before.values(), 0.0)
    for (where, kind), amount in before.items():
        if kind == "add" and where.startswith("float"):
            number = number - np.minimum(amount, before.get((where, "mul"), 0.0))
        elif where == "local" and kind != "barrier":
            number = number + amount
    return np.minimum(number / np.maximum(case.value(counts.launches()), 1) + 1, all_of_them)


def instruction_parallelism(case: Case) -> Any:
    """Return the number of a work-item's instructions that can be in flight between barriers, at least 1."""
    return np.maximum(case.value(case.counts.flow.instruction_parallelism), 1)


def memory_parallelism(case: Case) -> Any:
    """Return the number of global loads that a work-item can start before it uses the first value, at least 1."""
    return np.maximum(case.value(case.counts.flow.memory_parallelism), 1)
