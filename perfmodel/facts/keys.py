"""Keys of the facts that models ask for, each with its unit and its meaning.

OpenCL's own (:mod:`perfmodel.opencl.queries`) are among them where a model uses them.  A family of
one's own may ask for facts under other keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Key(NamedTuple):
    """What a fact is.

    Parameters
    ----------
    unit
        Its unit; empty for a pure number.
    meaning
        In words.
    """

    unit: str
    meaning: str


UNITS = ("", "share", "B", "s", "Hz", "B/s", "operation/s", "registers", "work-items", "MHz", "ns")
"""Units that facts may have: a share lies in 0 to 1; the last two are OpenCL's own."""

KEYS: Mapping[str, Key] = MappingProxyType(
    {
        "arithmetic_latency_s": Key("s", "from an operation's start to its result"),
        "banks": Key("", "banks of local memory, each one 4-byte word wide"),
        "barriers_per_s": Key("operation/s", "barriers of work-items that the device meets a second"),
        "barrier_latency_s": Key("s", "a barrier's, for one sub-group"),
        "cache_bandwidth_bytes_per_s": Key("B/s", "of arrays that fit into the last-level cache"),
        "cache_line_bytes": Key("B", "line of the global memory's cache (OpenCL tells it)"),
        "clock_hz": Key("Hz", "clock of the compute units, without boost"),
        "compute_units": Key("", "multiprocessors, or cores of a CPU (OpenCL tells it)"),
        "departure_coalesced_s": Key("s", "between two coalesced memory requests of a compute unit"),
        "departure_uncoalesced_s": Key("s", "between two transactions of one uncoalesced request"),
        "global_transaction_bytes": Key("B", "what one transaction with global memory moves"),
        "issue_s": Key("s", "that one instruction of a sub-group takes to issue"),
        "l1_bytes": Key("B", "first-level data cache of a compute unit"),
        "l1_miss_ratio": Key("share", "of a kernel's requests that the first-level cache does not answer"),
        "l2_bytes": Key("B", "second-level cache: the device's, or a core's own on a CPU"),
        "l2_latency_s": Key("s", "of a load that the second-level cache answers"),
        "l2_line_bytes": Key("B", "line of the second-level cache"),
        "l2_miss_ratio": Key("share", "of those that reach the second-level cache and that it does not answer"),
        "lanes_per_unit": Key("", "work-items a compute unit computes on at once, in float32"),
        "launch_s": Key("s", "of a launch that does nothing"),
        "local_bandwidth_bytes_per_s": Key("B/s", "of all compute units' local memories together"),
        "local_latency_s": Key("s", "of a load from local memory"),
        "local_memory_bytes": Key("B", "local memory of a compute unit (OpenCL tells it)"),
        "max_groups_per_unit": Key("", "work-groups that a compute unit holds at once"),
        "max_items_per_unit": Key("work-items", "that a compute unit holds at once"),
        "max_work_group_size": Key("work-items", "in one group at most (OpenCL tells it)"),
        "memory_bandwidth_bytes_per_s": Key("B/s", "of global memory"),
        "memory_latency_s": Key("s", "of a load from global memory"),
        "oversubscription": Key("", "1 where more work-items on a compute unit hide latency, else 0"),
        "peak_flops_float32": Key("operation/s", "float32 operations; a fused multiply-add is two"),
        "peak_flops_float64": Key("operation/s", "float64 operations; a fused multiply-add is two"),
        "register_latency_s": Key("s", "of an access to a register"),
        "registers_per_unit": Key("registers", "32-bit registers of a compute unit"),
        "registers_per_work_item": Key("registers", "32-bit registers that the compiler gives a work-item"),
        "special_latency_s": Key("s", "from a special function's start to its result"),
        "special_units_per_unit": Key("", "units for special functions in a compute unit"),
        "subgroup_size": Key("work-items", "that run in step: a warp or wavefront (OpenCL tells it)"),
    }
)
