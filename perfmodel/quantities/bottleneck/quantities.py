"""The quantities of the family ``bottleneck`` by the resource that they use, at one size or at arrays of sizes.

The picture is a launch whose parts overlap: while the core issues instructions (``issue``, ``special``), the
first-level cache fetches lines (``near``), the others and memory do (``far``), and a sum waits for itself (``chain``).
The slowest of them is the time, and what cannot overlap (``overhead``) is added.

Examples
--------
A copy of 1024 float32 in groups of 64, on a device that runs 8 lanes in lockstep: 16 groups, 128 vectors to load, as
many to store, and the lines of both arrays.

>>> import loopy as lp, numpy as np
>>> from perfmodel.counts import count
>>> from perfmodel.facts import DeviceFacts, Fact
>>> unit = lp.make_kernel(
...     "{ [i]: 0 <= i < n }", "out[i] = a[i]", assumptions="n mod 64 = 0 and n > 0", lang_version=(2018, 2))
>>> unit = lp.split_iname(lp.add_dtypes(unit, {"a": np.float32}), "i", 64, outer_tag="g.0", inner_tag="l.0")
>>> device = DeviceFacts.from_mapping("d", "p", "1", {"vector_lanes": Fact(8, "", "given")})
>>> copy = bottleneck_quantities(Case(count(unit), {"n": 1024}, device))
>>> [copy[name] for name in ("groups", "loads", "stores", "first_loaded", "first_stored")]
[16.0, 128.0, 128.0, 64.0, 64.0]
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from perfmodel.quantities.bottleneck.compiled import CompiledKernel, compiled_kernel
from perfmodel.quantities.bottleneck.device import Device, device_of, moved_lines
from perfmodel.quantities.bottleneck.work import LaunchWork
from perfmodel.quantities.case import Case

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts

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

MOST_KEPT = 4096
"""Sizes of one kernel whose quantities are kept."""

SizeItems = tuple[tuple[str, int], ...]
_kept: WeakKeyDictionary[KernelCounts, dict[tuple[Device, SizeItems], Mapping[str, float]]] = WeakKeyDictionary()


def bottleneck_quantities(case: Case) -> dict[str, Any]:
    """Return each quantity of :data:`~perfmodel.quantities.bottleneck.QUANTITIES`, of the sizes' shape.

    Raises
    ------
    FlowUnknownError, PlacesUnknownError
        The counts were stored before dataflow, or the places of instructions, were recorded.
    """
    device = device_of(case)
    if not any(isinstance(size, np.ndarray | list | tuple) for size in case.parameters.values()):
        return dict(at_sizes(case.counts, case.parameters, device))
    names = sorted(case.parameters)
    columns = np.broadcast_arrays(*(np.asarray(case.parameters[name]) for name in names))
    points = zip(*(column.ravel().tolist() for column in columns), strict=True)
    rows = [at_sizes(case.counts, dict(zip(names, point, strict=True)), device) for point in points]
    return {name: np.array([row[name] for row in rows]).reshape(columns[0].shape) for name in QUANTITIES}


def at_sizes(counts: KernelCounts, sizes: Mapping[str, int], device: Device) -> Mapping[str, float]:
    """Return the quantities at one size; they are kept as long as the kernel's counts."""
    kept = _kept.setdefault(counts, {})
    key = device, tuple(sorted((name, int(size)) for name, size in sizes.items()))
    if key not in kept:
        if len(kept) >= MOST_KEPT:
            kept.clear()
        kept[key] = _at_sizes(counts, sizes, device)
    return kept[key]


def _at_sizes(counts: KernelCounts, sizes: Mapping[str, int], device: Device) -> Mapping[str, float]:
    kernel: CompiledKernel[float] = compiled_kernel(counts).at(sizes)
    quantities: defaultdict[str, float] = defaultdict(float, runs=1.0, waiting_items=kernel.barriers)
    for launch in kernel.launches:
        LaunchWork(launch, kernel, device).add_to(quantities)
    quantities.update(moved_lines(counts, sizes, device))
    return {name: max(quantities[name], 0.0) for name in QUANTITIES}
