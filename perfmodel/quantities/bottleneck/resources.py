"""The quantities by the resource that they use."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

RESOURCES: Mapping[str, Mapping[str, str]] = MappingProxyType({
    "overhead": MappingProxyType({
        "runs": "launch", "launched": "launch", "groups": "work-group", "waiting_items": "barrier",
        "region_entries": "work-group", "varied_entries": "operation",
    }),
    "chain": MappingProxyType(dict.fromkeys((
        "chain_add", "chain_multiply", "chain_multiply_add", "chain_minmax", "chain_divide", "chain_root",
        "chain_power",
    ), "operation")),
    "special": MappingProxyType(dict.fromkeys((
        "divide_32", "divide_64", "root_32", "root_64", "inverse_root_32", "inverse_root_64", "exponential_32",
        "exponential_64", "logarithm_32", "logarithm_64", "circular_32", "circular_64", "function_32", "function_64",
        "power",
    ), "operation")),
    "issue": MappingProxyType({
        **dict.fromkeys(("instructions", "minmax", "iterations"), "operation"),
        **dict.fromkeys(("loads", "stores", "gathers", "scatters", "split", "kept_values"), "access"),
    }),
    "near": MappingProxyType(dict.fromkeys((
        "again_loaded", "again_stored", "first_loaded", "first_loaded_jumping", "first_stored", "first_stored_jumping",
    ), "access")),
    "far": MappingProxyType(dict.fromkeys((
        "second_level_streams", "second_level_jumps", "memory_streams", "memory_jumps", "memory_stores",
    ), "access")),
})  # fmt: skip
"""The quantities of each resource, with their units.

overhead (added to the rest)
    ``runs`` is 1; ``launched`` launches; ``groups``; ``waiting_items`` work-items times barriers; ``region_entries``
    work-groups times the parts between barriers, or iterations of the loops around the work-items;
    ``varied_entries`` of loops whose trips differ between work-items, where a branch is mispredicted.
chain
    Operations that wait for the one before, as far as other work-items do not fill the wait: see
    :func:`perfmodel.quantities.bottleneck.work.waiting_share`.
special
    Divisions, roots and functions, by the bits of their type: exponentials, logarithms, sines and their like
    (``circular``), and all others, which rest on the hyperbolic tangent.
issue
    Vector or scalar instructions, of whatever kind: operations, two for each turn of a loop, accesses. Beside it, what
    ``minmax``, ``iterations``, ``loads``, ``stores``, ``gathers`` and ``scatters`` cost more than an instruction; a
    gather or scatter is one for each element. ``split`` are vectors over the border of two lines, ``kept_values`` loads
    and stores of private values that live over barriers.
near
    Lines that the first-level cache fetches: again (they were in it before), or for the first time in a launch.
far
    Lines that the second and the last level fetch.
"""

QUANTITIES: Mapping[str, str] = MappingProxyType(
    {name: unit for part in RESOURCES.values() for name, unit in part.items()}
)
"""All quantities with their units."""
