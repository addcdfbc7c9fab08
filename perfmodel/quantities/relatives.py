"""Quantities and features that are *relatives*. The cost of one predicts the cost of another."""

from collections.abc import Iterable
from functools import lru_cache

from perfmodel.features import matches

FUNCTIONS = ("exponential_*", "logarithm_*", "circular_*", "function_*", "inlined_*", "power")
NATIVE = ("divide_*", "root_*", "inverse_root_*")
ACCESSES = ("loads", "stores", "gathers", "scatters", "split", "kept_values")

GROUPS: tuple[tuple[str, ...], ...] = (
    FUNCTIONS,
    NATIVE,
    ("int_divide_*", "chain_divide", "divide_*", "root_*"),
    ("chain_add", "chain_multiply", "chain_multiply_add", "chain_minmax"),
    ("chain_divide", "chain_root", "chain_power", "chain_multiply_add"),
    (*FUNCTIONS, *NATIVE, "int_divide_*", "instructions"),
    (*ACCESSES, "minmax", "iterations", "instructions"),
    ("again_*", "first_*"),
    ("second_level_*", "memory_*", "page_walks"),
    ("waiting_items", "region_entries", "varied_entries", "groups"),
    ("chain_loads", "chain_far"),
    ("chain_local", "chain_private", "chain_barriers", "chain_tests", "chain_operations"),
    ("sectors", "near_sectors", "stored_sectors", "wavefronts"), ("memory_bytes", "stored_bytes"),
    ("op_float*_add", "op_float*_mul", "op_float*_minmax"),
    ("op_float*_div", "op_float*_special"), ("op_float*_special", "op_float*_pow"), ("op_*",),
    ("global_load_*",), ("global_store_*",),
    ("global_minloadstore_*", "global_load_*", "global_store_*"),
    ("local_load_*", "local_store_*", "global_load_*_stride1"),
    ("barrier_local", "local_load_*", "work_groups"),
)  # fmt: skip
"""Groups of related names as patterns, the nearest groups of a name first."""

NEVER_FREE = (*FUNCTIONS, *NATIVE, "int_divide_*")
"""Operations that take longer than an instruction on every device, even if a fit sets their weight to zero."""


@lru_cache(maxsize=1 << 16)
def are_related(name: str, other: str) -> bool:
    """Return whether two names are in one of the groups."""
    return any(matches(group, name) and matches(group, other) for group in GROUPS)


def groups_of(name: str) -> tuple[tuple[str, ...], ...]:
    """Return the groups that contain a name. The nearest group comes first."""
    return tuple(group for group in GROUPS if matches(group, name))


def relatives_of(name: str, group: tuple[str, ...], among: Iterable[str]) -> list[str]:
    """Return the names in ``among`` that are relatives of a name in a group, in the order of the group's patterns."""
    others = [other for other in among if other != name]
    found = (other for pattern in group for other in others if matches((pattern,), other))
    return list(dict.fromkeys(found))
