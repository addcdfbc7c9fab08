"""Terms of predicted times in plain words, and what to try where one of them is the largest."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from perfmodel.analyses.weights_in_words import counted_words

_TERMS: Mapping[str, Mapping[str, str]] = MappingProxyType({
    "bottleneck": {
        "overhead_time": "launches, work-groups and barriers",
        "chain_time": "operations that wait for the one before",
        "special_time": "divisions, roots and functions",
        "issue_time": "issuing instructions",
        "near_time": "cache lines that the first-level cache fetches",
        "far_time": "cache lines from the second-level cache on, and from memory",
    },
    "multithreaded": {
        "overhead": "launches and work-groups",
        "loop_issue": "issuing instructions in loops",
        "loop_pass": "accesses to local memory and the first-level cache in loops",
        "loop_near": "cache lines fetched and stored in loops",
        "loop_memory": "cache lines from memory in loops",
        "straight_issue": "issuing instructions outside of loops",
        "straight_pass": "accesses to local memory and the first-level cache outside of loops",
        "straight_near": "cache lines fetched and stored outside of loops",
        "straight_memory": "cache lines from memory outside of loops",
        "chain": "the longest chain of a sub-group: operations and accesses that wait for each other",
    },
    "gpuperf": {
        "dram": "one memory request, its transactions included",
        "amat": "one memory request on average",
        "period": "the instructions of one sub-group",
        "parallel": "instructions of all sub-groups of a compute unit",
        "sync": "waiting at barriers",
        "special": "divisions, roots and functions",
        "divergence": "branches that only some lanes take",
        "banks": "bank conflicts in local memory",
        "serial": "serialised work: barriers, functions, divergence and bank conflicts",
        "compute": "computing, serialised work included",
        "memory": "memory requests",
        "overlap": "the part in which computing and memory overlap",
    },
    "roofline": {
        "compute": "floating-point operations at the peak rate",
        "memory": "moving data in global memory",
        "local": "moving data in local memory",
        "overhead": "launches",
    },
    "overlap": {
        "on_chip_time": "operations and local memory",
        "memory_time": "accesses to global memory",
        "overhead_time": "launches, work-groups and barriers",
    },
    "synchronous_parallel_throughput": {
        "memory": "accesses to global memory",
        "local": "accesses to local memory",
        "register": "operations on registers",
        "barrier": "barriers",
    },
    "threaded_manycore": {
        "compute": "operations of one core",
        "memory": "memory transactions of one work-item after the other",
        "critical_path": "the longest chain of dependent operations",
        "overhead": "launches",
    },
    "work_depth": {
        "compute": "operations, and the longest chain of them",
        "latency": "waiting for data along the longest chain",
        "transfer": "moving data in global memory",
        "overhead": "launches",
    },
})  # fmt: skip
_WARPS = {
    "latency": "one memory request, its transactions included",
    "departure": "the time between two memory requests",
    "memory": "memory requests of one sub-group",
    "compute": "instructions of one sub-group",
    "period": "instructions of one sub-group between two memory requests",
}
_SAME = {
    **dict.fromkeys(("mwp_cwp", "mwp_cwp_l2", "mwp_cwp_l2_all_warps"), _WARPS),
    "threaded_manycore_linear": _TERMS["threaded_manycore"],
}

_FEWER_BYTES = (
    "Move less data: keep what several work-items read in local memory, read neighbouring cells by neighbouring lanes, "
    "use a smaller type, or do two kernels' work in one."
)
_CHAINS = (
    "Break the chain: sum into several independent variables, unroll the loop, or let a work-item compute several "
    "results."
)
_FEWER_INSTRUCTIONS = (
    "Issue fewer instructions: let neighbouring lanes touch neighbouring cells so that accesses become vectors, "
    "unroll short loops, and move what does not change out of loops."
)
_OVERHEAD = "Make each launch and group do more: larger work-groups, more work for each work-item, fewer barriers."
_FUNCTIONS = "Compute fewer functions: reuse their results, or replace divisions and roots by products."
_LOCAL = "Access local memory less: keep values in private variables, and pad rows so that lanes meet different banks."
_ADVICE: Mapping[str, Mapping[str, str]] = MappingProxyType({
    "bottleneck": {
        "overhead_time": _OVERHEAD, "chain_time": _CHAINS, "special_time": _FUNCTIONS,
        "issue_time": _FEWER_INSTRUCTIONS, "far_time": _FEWER_BYTES,
        "near_time": "Fit the first-level cache: work in smaller tiles, and avoid rows whose length is a power of two.",
    },
    "multithreaded": {
        "overhead": _OVERHEAD, "chain": _CHAINS,
        **{f"{part}_{name}": advice for part in ("loop", "straight") for name, advice in (
            ("issue", _FEWER_INSTRUCTIONS), ("pass", _LOCAL), ("near", _FEWER_BYTES), ("memory", _FEWER_BYTES))},
    },
    "roofline": {"compute": _FEWER_INSTRUCTIONS, "memory": _FEWER_BYTES, "local": _LOCAL, "overhead": _OVERHEAD},
    "overlap": {"memory_time": _FEWER_BYTES, "overhead_time": _OVERHEAD, "on_chip_time": _FEWER_INSTRUCTIONS},
    "synchronous_parallel_throughput": {"memory": _FEWER_BYTES, "local": _LOCAL, "barrier": _OVERHEAD},
    "threaded_manycore": {"memory": _FEWER_BYTES, "critical_path": _CHAINS, "overhead": _OVERHEAD},
    "work_depth": {"transfer": _FEWER_BYTES, "latency": _CHAINS, "overhead": _OVERHEAD},
})  # fmt: skip


def term_words(family: str, term: str) -> str:
    """Return what a term of a family's times stands for; that of a family of a user's own is its name.

    Examples
    --------
    >>> term_words("bottleneck", "issue_time"), term_words("stevens_kloeckner_2016", "barrier_local")
    ('issuing instructions', 'a local barrier, for each work-item')
    >>> term_words("mine", "my_part")
    'my part'
    """
    name = family.partition(" ")[0]
    known = _TERMS.get(name) or _SAME.get(name) or {}
    return known.get(term) or counted_words(term)


def term_advice(family: str, term: str) -> str:
    """Return what to try where a term is the largest; empty where nothing is known.

    Examples
    --------
    >>> term_advice("bottleneck", "special_time")
    'Compute fewer functions: reuse their results, or replace divisions and roots by products.'
    >>> term_advice("stevens_kloeckner_2016", "global_load_32_stride1").partition(":")[0]
    'Move less data'
    """
    if (known := _ADVICE.get(family.partition(" ")[0])) is not None:
        return known.get(term, "")
    for beginning, advice in _BY_FEATURE:
        if term.startswith(beginning):
            return _FUNCTIONS if term.endswith("_special") else advice
    return ""


_BY_FEATURE = (
    ("global_", _FEWER_BYTES), ("local_", _LOCAL), ("op_", _FEWER_INSTRUCTIONS), ("barrier", _OVERHEAD),
    ("work_groups", _OVERHEAD), ("launches", _OVERHEAD),
)  # fmt: skip
