"""The quantities by the resource that they use, each with its unit and its words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Quantity:
    """A quantity's unit, what one of it is in words, and what a rate of it counts (nothing where it says nothing)."""

    unit: str
    words: str
    counted: str = ""


def _chains(**words: str) -> dict[str, Quantity]:
    return {
        f"chain_{kind}": Quantity("operation", f"{operation} that waits for the one before", "op")
        for kind, operation in words.items()
    }


def _functions(**words: str) -> dict[str, Quantity]:
    return {
        f"{kind}_{bits}": Quantity("operation", f"{operation} of float{bits}", "op")
        for kind, operation in words.items() for bits in (32, 64)
    }  # fmt: skip


def _lines(**words: str) -> dict[str, Quantity]:
    return {name: Quantity("access", f"a cache line {which}", "line") for name, which in words.items()}


def _tables(**resources: Mapping[str, Quantity]) -> Mapping[str, Mapping[str, Quantity]]:
    return MappingProxyType({name: MappingProxyType(dict(table)) for name, table in resources.items()})


RESOURCES: Mapping[str, Mapping[str, Quantity]] = _tables(
    overhead={
        "runs": Quantity("launch", "a run of the kernel, whatever it does,"),
        "launched": Quantity("launch", "a launch of a device kernel"),
        "groups": Quantity("work-group", "a work-group"),
        "waiting_items": Quantity("barrier", "a barrier, for each work-item,"),
        "region_entries": Quantity("work-group", "a part between barriers, for each work-group,"),
        "varied_entries": Quantity("operation", "an entry into a loop whose trips differ between work-items"),
    },
    chain=_chains(
        add="an addition", multiply="a product", multiply_add="a multiply-add", minmax="a minimum or maximum",
        divide="a division", root="a square root", power="a power",
    ),
    special={
        **_functions(
            divide="a division", root="a square root", inverse_root="an inverse square root",
            exponential="an exponential", logarithm="a logarithm", circular="a sine, cosine or tangent",
            function="another function",
        ),
        "power": Quantity("operation", "a power", "op"),
    },
    issue={
        "instructions": Quantity("operation", "an instruction, whatever it does,", "instruction"),
        "minmax": Quantity("operation", "a minimum or maximum, beside the instruction,"),
        "iterations": Quantity("operation", "an iteration of a loop, beside its instructions,"),
        "loads": Quantity("access", "a load, beside the instruction,"),
        "stores": Quantity("access", "a store, beside the instruction,"),
        "gathers": Quantity("access", "an element of a gather, beside the instruction,"),
        "scatters": Quantity("access", "an element of a scatter, beside the instruction,"),
        "split": Quantity("access", "a vector access over the border of two lines", "instruction"),
        "kept_values": Quantity("access", "a private value that is kept over a barrier", "value"),
    },
    near=_lines(
        again_loaded="loaded into the first-level cache again",
        again_stored="stored to again after it left the first-level cache",
        first_loaded="loaded into the first-level cache for the first time, next to the one before,",
        first_loaded_jumping="loaded into the first-level cache for the first time, away from the one before,",
        first_stored="stored to for the first time, next to the one before,",
        first_stored_jumping="stored to for the first time, away from the one before,",
    ),
    far=_lines(
        second_level_streams="that the second-level cache fetches, next to the one before,",
        second_level_jumps="that the second-level cache fetches, away from the one before,",
        memory_streams="that the last-level cache fetches, next to the one before,",
        memory_jumps="that the last-level cache fetches, away from the one before,",
        memory_stores="stored to that leaves the last-level cache",
    ),
)  # fmt: skip
"""The quantities of each resource.

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

QUANTITIES: Mapping[str, Quantity] = MappingProxyType(
    {name: quantity for table in RESOURCES.values() for name, quantity in table.items()}
)
"""All quantities by name."""
