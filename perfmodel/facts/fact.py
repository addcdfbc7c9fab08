"""One fact of a device; the keys of facts with their units and meanings; checks of documents.

A fact that OpenCL reports (:mod:`perfmodel.opencl.device`) is listed where a model uses it. A user's own family may use
other keys.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, Union

from perfmodel.documents import MOST_LANES, shortened
from perfmodel.errors import DocumentError

FactValue = Union[int, float, str, bool, tuple[int, ...]]  # noqa: UP007 -- evaluated, not annotated


@dataclass(frozen=True)
class Fact:
    """One fact of a device.

    Parameters
    ----------
    value : int, float, str, bool or tuple of int
    unit : str
        Its unit; empty for a pure number or a word.
    source : str
        Where the value comes from: an OpenCL query, a data sheet, a measurement.
    """

    value: FactValue
    unit: str
    source: str


class Key(NamedTuple):
    """Unit and meaning of the fact under a key."""

    unit: str  # empty for a pure number
    meaning: str
    words: tuple[str, ...] = ()  # the allowed values; empty for a number


UNITS = ("", "share", "B", "s", "Hz", "B/s", "operation/s", "registers", "work-items", "MHz", "ns")
"""Units of facts; a share is from 0 to 1, and the last two are units of OpenCL."""

KEYS: Mapping[str, Key] = MappingProxyType(
    {
        "arithmetic_latency_s": Key("s", "from the start of an operation to its result"),
        "banks": Key("", "banks of local memory, each one 4-byte word wide"),
        "barrier_group_s": Key("s", "cost of a barrier for its work-group as a whole, in addition to barrier_s"),
        "barrier_latency_s": Key("s", "latency of a barrier for one sub-group"),
        "barrier_s": Key("s", "cost of a barrier for each work-item of its work-group"),
        "barriers_per_s": Key("operation/s", "barriers of work-items that the device executes in a second"),
        "cache_bandwidth_bytes_per_s": Key("B/s", "bandwidth of arrays that fit into the last-level cache"),
        "cache_line_bytes": Key("B", "line of the cache of global memory (OpenCL reports it)"),
        "clock_hz": Key("Hz", "clock of the compute units: a CPU's without boost, a GPU's with it"),
        "compute_units": Key("", "multiprocessors, or cores of a CPU (OpenCL reports it)"),
        "departure_coalesced_s": Key("s", "time between two coalesced memory requests of a compute unit"),
        "departure_uncoalesced_s": Key("s", "time between two transactions of one uncoalesced request"),
        "device_type": Key("", "kind of device (OpenCL reports it)", ("cpu", "gpu", "accelerator", "custom")),
        "global_transaction_bytes": Key("B", "bytes of one transaction with global memory"),
        "guarded_loads_wait": Key("", "1 if loads behind tests wait and arrays that tests index lie in memory, else 0"),
        "issue_s": Key("s", "time to issue one instruction of a sub-group"),
        "l1_bandwidth_bytes_per_s": Key("B/s", "bandwidth of the first-level caches of all compute units together"),
        "l1_bytes": Key("B", "first-level data cache of a compute unit"),
        "l1_line_bytes": Key("B", "line of the first-level cache"),
        "l1_load_s": Key("s", "time of a load that the first-level cache answers, if its address waits for another"),
        "l1_miss_ratio": Key("share", "share of a kernel's requests that miss the first-level cache"),
        "l1_told_bytes": Key("B", "first-level cache as the operating system reports it, to compare"),
        "l1_told_ways": Key("", "its ways as the operating system reports them"),
        "l1_ways": Key("", "ways of the first-level cache: lines that one set holds"),
        "l2_bandwidth_bytes_per_s": Key("B/s", "bandwidth of the second-level cache"),
        "l2_bytes": Key("B", "second-level cache of the device, or of a core on a CPU"),
        "l2_latency_s": Key("s", "latency of a load that hits the second-level cache"),
        "l2_line_bytes": Key("B", "line of the second-level cache"),
        "l2_load_s": Key("s", "as l1_load_s, of the second-level cache"),
        "l2_miss_ratio": Key("share", "share of the requests to the second-level cache that miss it"),
        "l2_told_bytes": Key("B", "second-level cache as the operating system reports it, to compare"),
        "l2_told_ways": Key("", "its ways as the operating system reports them"),
        "l2_ways": Key("", "ways of the second-level cache"),
        "l3_bytes": Key("B", "third-level cache, the part of it that one work-item can fill"),
        "l3_load_s": Key("s", "as l1_load_s, of the third-level cache"),
        "l3_told_bytes": Key("B", "third-level cache as the operating system reports it, to compare"),
        "l3_told_ways": Key("", "its ways as the operating system reports them"),
        "l3_ways": Key("", "ways of the third-level cache"),
        "lane_order": Key(
            "", "how the lanes of a group run: one after the other, in step, or in step with many sub-groups at a time",
            ("serial", "lockstep", "multithreaded"),
        ),
        "lanes_per_unit": Key("", "work-items that a compute unit computes at once, in float32"),
        "last_level_bytes": Key("B", "last-level cache, the part of it that all units keep while they read again"),
        "launch_s": Key("s", "time of an empty launch"),
        "load_store_lanes": Key("", "work-items whose accesses to memory a compute unit takes in a cycle"),
        "loads_wait": Key("", "1 if loads are issued where their values are needed, and so wait one by one; else 0"),
        "local_bandwidth_bytes_per_s": Key("B/s", "bandwidth of the local memories of all compute units together"),
        "local_latency_s": Key("s", "latency of a load from local memory"),
        "local_memory_bytes": Key("B", "local memory of a compute unit (OpenCL reports it)"),
        "lockstep_lanes": Key("work-items", "lanes that run in step, so that each waits for the longest; 1 if none do"),
        "max_groups_per_unit": Key("", "work-groups that a compute unit can hold at once"),
        "max_items_per_unit": Key("work-items", "work-items that a compute unit can hold at once"),
        "max_work_group_size": Key("work-items", "largest number of work-items in a work-group (OpenCL reports it)"),
        "memory_bandwidth_bytes_per_s": Key("B/s", "bandwidth of global memory"),
        "memory_latency_s": Key("s", "latency of a load from global memory"),
        "memory_load_s": Key("s", "as l1_load_s, of memory behind the last cache"),
        "odd_pitch_access": Key(
            "", "how lanes that are neighbours access a local array whose rows are not a power of two long",
            ("vector", "element"),
        ),
        "on_chip_bytes": Key("B", "on-chip memory Z of roofline and work_depth; without it, Z has no limit"),
        "overlap_exponent": Key("", "p of T = (A^p + B^p)^(1/p), for times A of computing and B of memory: 1 to 16"),
        "oversubscription": Key("", "1 if more work-items on a compute unit hide latency, 0 if not"),
        "page_bytes": Key("B", "page of a CPU's memory that an entry of the TLB covers"),
        "page_told_bytes": Key("B", "the same as the operating system reports it"),
        "peak_flops_float32": Key("operation/s", "float32 operations; a fused multiply-add is two"),
        "peak_flops_float64": Key("operation/s", "float64 operations; a fused multiply-add is two"),
        "resource_sharpness": Key("", "sharpness of the smooth maximum of resources: 1 if their times add up"),
        "recorded": Key("", "1 where others recorded the times; its source is who did, and what is uncertain"),
        "register_latency_s": Key("s", "latency of an access to a register"),
        "registers_per_unit": Key("registers", "32-bit registers of a compute unit"),
        "registers_per_work_item": Key("registers", "32-bit registers that the compiler gives a work-item"),
        "simulated": Key("", "1 where a simulator counted the times, and no device ran"),
        "special_latency_s": Key("s", "from the start of a special function to its result"),
        "special_units_per_unit": Key("", "units for special functions in a compute unit"),
        "subgroup_size": Key("work-items", "work-items that execute in step: a warp or wavefront (OpenCL reports it)"),
        "tlb_pages": Key("", "pages that the TLB of a CPU's core covers"),
        "vector_lanes": Key("work-items", "work-items of one vector instruction, in float32"),
        "vector_lanes_float64": Key("work-items", "work-items of one vector instruction, in float64"),
    }
)


WHOLE: Mapping[str, float] = MappingProxyType({"subgroup_size": MOST_LANES, "compute_units": math.inf})
"""Facts by which models divide: integers from 1 to these."""

_PARTS = ("value", "unit", "source")


def checked_facts(rows: Mapping[str, Any]) -> dict[str, Fact]:
    """Return the facts of a document by key; a DocumentError if a part is missing, or has a value or unit not allowed.

    Examples
    --------
    >>> checked_facts({"banks": {"value": 32, "unit": "", "source": "data sheet"}})["banks"].value
    32
    """
    return {key: _fact(shortened(key, quoted=False), key, row) for key, row in rows.items()}


def _fact(shown: str, key: str, row: Any) -> Fact:
    if not isinstance(row, dict) or set(row) != set(_PARTS):
        raise DocumentError(f"must have exactly {', '.join(_PARTS)} for '{shown}'")
    unit, source = row["unit"], row["source"]
    if key in KEYS and unit != KEYS[key].unit:
        raise DocumentError(f"has '{shown}' in {shortened(unit)}, not in '{KEYS[key].unit}'")
    if unit not in UNITS:
        raise DocumentError(f"has '{shown}' in {shortened(unit)}; units are {', '.join(filter(None, UNITS))}")
    if not isinstance(source, str) or not source.strip():
        raise DocumentError(f"has '{shown}' without a source")
    value = _value(f"has {shortened(row['value'])} for '{shown}'", key, row["value"])
    if unit == "share" and not (isinstance(value, int | float) and 0 <= value <= 1):
        raise DocumentError(f"has {shortened(value)} for '{shown}', not a share from 0 to 1")
    if key in WHOLE and not (isinstance(value, int | float) and value % 1 == 0 and 1 <= value <= WHOLE[key]):
        upper = f"to {WHOLE[key]}" if math.isfinite(WHOLE[key]) else "up"
        raise DocumentError(f"has {shortened(value)} for '{shown}', not an integer from 1 {upper}")
    return Fact(value, unit, source)


def _value(found: str, key: str, value: Any) -> FactValue:
    words = KEYS[key].words if key in KEYS else ()
    if words and value not in words:
        raise DocumentError(f"{found}, not one of {', '.join(words)}")
    if isinstance(value, list) and all(type(number) is int for number in value):
        value = tuple(value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and not (math.isfinite(value) and value >= 0):
        raise DocumentError(f"{found}, not a finite number from 0 up")
    if not number and not words and (key in KEYS or not isinstance(value, str | bool | tuple)):
        raise DocumentError(f"{found}, not a number")
    checked: FactValue = value
    return checked
