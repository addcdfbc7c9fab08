"""What one unit of a CPU model's quantities is, in plain words (:mod:`perfmodel.quantities.bottleneck.quantities`)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_WAITING = "that waits for the one before"
_CHAINS = {
    "add": "an addition", "multiply": "a product", "multiply_add": "a multiply-add", "minmax": "a minimum or maximum",
    "divide": "a division", "root": "a square root", "power": "a power",
}  # fmt: skip
_SPECIAL = {
    "divide": "a division", "root": "a square root", "inverse_root": "an inverse square root",
    "exponential": "an exponential", "logarithm": "a logarithm", "circular": "a sine, cosine or tangent",
    "function": "another function",
}  # fmt: skip
_LINES = {
    "first_loaded": "loaded into the first-level cache for the first time, next to the one before,",
    "first_loaded_jumping": "loaded into the first-level cache for the first time, away from the one before,",
    "first_stored": "stored to for the first time, next to the one before,",
    "first_stored_jumping": "stored to for the first time, away from the one before,",
    "again_loaded": "loaded into the first-level cache again",
    "again_stored": "stored to again after it left the first-level cache",
    "second_level_streams": "that the second-level cache fetches, next to the one before,",
    "second_level_jumps": "that the second-level cache fetches, away from the one before,",
    "memory_streams": "that the last-level cache fetches, next to the one before,",
    "memory_jumps": "that the last-level cache fetches, away from the one before,",
    "memory_stores": "stored to that leaves the last-level cache",
}
_OTHERS = {
    "runs": ("a run of the kernel, whatever it does,", ""),
    "launched": ("a launch of a device kernel", ""),
    "groups": ("a work-group", ""),
    "waiting_items": ("a barrier, for each work-item,", ""),
    "region_entries": ("a part between barriers, for each work-group,", ""),
    "varied_entries": ("an entry into a loop whose trips differ between work-items", ""),
    "power": ("a power", "op"),
    "instructions": ("an instruction, whatever it does,", "instruction"),
    "minmax": ("a minimum or maximum, beside the instruction,", ""),
    "iterations": ("an iteration of a loop, beside its instructions,", ""),
    "loads": ("a load, beside the instruction,", ""),
    "stores": ("a store, beside the instruction,", ""),
    "gathers": ("an element of a gather, beside the instruction,", ""),
    "scatters": ("an element of a scatter, beside the instruction,", ""),
    "split": ("a vector access over the border of two lines", "instruction"),
    "kept_values": ("a private value that is kept over a barrier", "value"),
}
QUANTITY_WORDS: Mapping[str, tuple[str, str]] = MappingProxyType({
    **{f"chain_{kind}": (f"{words} {_WAITING}", "op") for kind, words in _CHAINS.items()},
    **{f"{kind}_{bits}": (f"{words} of float{bits}", "op") for kind, words in _SPECIAL.items() for bits in (32, 64)},
    **{name: (f"a cache line {words}", "line") for name, words in _LINES.items()},
    **_OTHERS,
})  # fmt: skip
"""By its name what one of it is, and what a rate of it counts; no word for a rate that says nothing."""
