"""What one unit of a family's own weights is, in plain words (:mod:`perfmodel.models`)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_LAUNCH = ("a launch", "")
_FUNCTIONS = {
    "div": "a division", "pow": "a power", "exp": "an exponential", "log": "a logarithm", "sin": "a sine",
    "cos": "a cosine", "tanh": "a hyperbolic tangent", "sqrt": "a square root", "rsqrt": "an inverse square root",
    "other": "another function",
}  # fmt: skip
_WARPS = {
    "w_memory_latency": ("waiting for one memory request", ""),
    "w_issue": ("issuing an instruction of a sub-group", "instruction"),
    "w_departure_coalesced": ("the gap between two coalesced memory requests", ""),
    "w_departure_uncoalesced": ("the gap between two transactions of one uncoalesced request", ""),
    "w_bandwidth": ("the bandwidth of global memory", ""),
    "w_l2_latency": ("waiting for the second-level cache", ""),
    "w_launch": _LAUNCH,
}
_MANYCORE = {
    "w_operation": ("an operation of a core", "op"), "w_latency": ("waiting for one memory transaction", ""),
    "w_launch": _LAUNCH,
}  # fmt: skip
FAMILY_WORDS: Mapping[str, Mapping[str, tuple[str, str]]] = MappingProxyType({
    "multithreaded": {
        "w_launch": _LAUNCH,
        "w_group": ("a work-group", ""),
        "w_issue": ("issuing an instruction of a sub-group", "instruction"),
        "w_double": ("an instruction in float64, beside issuing it,", "instruction"),
        **{f"w_{kind}": (f"{words} of a sub-group", "op") for kind, words in _FUNCTIONS.items()},
        "w_line": ("a cache line fetched into the first-level cache", "line"),
        "w_store": ("a cache line stored to", "line"),
        "w_memory": ("a cache line fetched from memory", "line"),
        "w_depth": ("the wait for an instruction's result, in times of its issue,", ""),
        "w_hit": ("waiting for a load that a cache answers", ""),
        "w_miss": ("waiting for a load that memory answers", ""),
        "w_barrier": ("waiting at a barrier", ""),
    },
    "gpuperf": {
        "w_memory_latency": ("waiting for one memory request", ""),
        "w_hit_latency": ("waiting for a request that a cache answers", ""),
        "w_departure": ("the gap between two transactions of one request", ""),
        "w_arithmetic_latency": ("waiting for the result of an instruction", ""),
        "w_issue": ("issuing an instruction of a sub-group", "instruction"),
        "w_bandwidth": ("the bandwidth of global memory", ""),
        "w_sync": ("the share of a memory request that a barrier waits", ""),
        "w_launch": _LAUNCH,
    },
    "mwp_cwp": _WARPS,
    "mwp_cwp_l2": _WARPS,
    "mwp_cwp_l2_all_warps": _WARPS,
    "overlap": {"w_sharpness": ("the sharpness of the overlap (1: times add up, 64: only the longest counts)", "")},
    "bottleneck": {"w_sharpness": ("the sharpness of the overlap (1: times add up, 64: only the longest counts)", "")},
    "roofline": {
        "w_peak_float32": ("the peak rate of float32 operations", ""),
        "w_peak_float64": ("the peak rate of float64 operations", ""),
        "w_bandwidth": ("the bandwidth of global memory", ""),
        "w_local_bandwidth": ("the bandwidth of local memory", ""),
        "w_launch": _LAUNCH,
    },
    "synchronous_parallel_throughput": {
        **{f"w_{name}_latency": (f"waiting for {words}", "") for name, words in (
            ("memory", "an access to global memory"), ("local", "an access to local memory"),
            ("register", "an operation on registers"), ("barrier", "a barrier"))},
        "w_memory_rate": ("the bandwidth of global memory", ""),
        "w_local_rate": ("the bandwidth of local memory", ""),
        "w_register_rate": ("the rate of operations on registers", ""),
        "w_barrier_rate": ("the rate of barriers", ""),
        "w_launch": _LAUNCH,
    },
    "threaded_manycore": _MANYCORE,
    "threaded_manycore_linear": _MANYCORE,
    "work_depth": {
        "w_operation": ("an operation of a lane", "op"),
        "w_latency": ("waiting for data, for each step of the longest chain,", ""),
        "w_byte": ("a byte of global memory", "B"),
        "w_launch": _LAUNCH,
    },
})  # fmt: skip
"""By family and weight: what is charged for, and what a rate of it counts; no word for a rate that says nothing."""
