r"""Resources of a compute unit whose sub-groups in flight hide each other's latency.

.. math:: T = o + \left(\sum_r L_r^p + C^p\right)^{1/p} + \left(\sum_r S_r^q\right)^{1/q}

L are the loops' and S the straight code's times of the busiest unit's resources: the instructions that it issues; the
passes of its accesses to local memory and through the first-level cache; lines from behind that cache, and stores;
lines from memory. C is the longest chain of a sub-group times the rounds in which the unit runs its groups, and o what
launches and groups cost. Few groups leave units idle, and with few sub-groups in flight the chain takes longest.

The resources are those of Sim et al. in Kim et al. (2012), section 4.1, whose Eq. 4.1 subtracts an overlap that
follows from warp counts; here a p-norm overlaps them, as in section 6.2 (outlook) of Stevens and Klöckner (2016).

Prices are tied, since a few dozen small measurements determine little: a simple operation, half the turn of a loop, a
pass and a load from local memory take one issue slot each; an instruction on the chain takes ``w_depth`` times its
issue. The exponents p and q, the ties and the constants of :mod:`perfmodel.quantities.multithreaded` were chosen by
leaving out one group of measurement kernels at a time on a simulated GTX 480 (docs/lab/families.md).
"""

from __future__ import annotations

from perfmodel.models.model import Family, Weight
from perfmodel.quantities.advice import (
    FEWER_BYTES,
    FEWER_INSTRUCTIONS,
    LESS_LOCAL_MEMORY,
    LESS_OVERHEAD,
    SHORTER_CHAINS,
)
from perfmodel.quantities.multithreaded import FUNCTIONS, MULTITHREADED_UNITS, multithreaded_resources

IN_LOOPS, STRAIGHT = 10, 2
PRICED = {**FUNCTIONS, "other": "another function"}


def issue(part: str) -> str:
    """Return the time to issue the instructions of a part of the kernel."""
    functions = " + ".join(f"w_{kind}*{part}_{kind}" for kind in PRICED)
    return f"w_issue*{part}_instructions + w_double*{part}_doubles + {functions}"


def resources(part: str) -> dict[str, str]:
    """Return the time of each resource in a part of the kernel."""
    return {
        f"{part}_issue": issue(part),
        f"{part}_pass": f"w_issue*{part}_passes",
        f"{part}_near": f"w_line*{part}_near_lines + w_store*{part}_store_lines",
        f"{part}_memory": f"w_memory*{part}_memory_lines",
    }


def norm(power: int, *names: str) -> str:
    """Return the p-norm of steps of the expression."""
    first, *rest = names
    return f"smooth_max({first}, {norm(power, *rest)}, {power})" if rest else first


LOOPS, OUTSIDE = resources("loop"), resources("straight")
PLACES = {"loop": "in loops", "straight": "outside of loops"}
TIMES = {
    "issue": "issuing instructions",
    "pass": "accesses to local memory and the first-level cache",
    "near": "cache lines fetched and stored",
    "memory": "cache lines from memory",
}

FAMILY = Family(
    name="multithreaded",
    citation=(
        "resources of H. Kim, R. Vuduc, S. Baghsorkhi, J. Choi, W. Hwu: Performance Analysis and Tuning for General "
        "Purpose Graphics Processing Units (GPGPU), 2012, section 4.1, under a p-norm"
    ),
    quantities=multithreaded_resources,
    units=MULTITHREADED_UNITS,
    weights=(
        Weight("w_launch", "s/launch", start=2e-8, words="a launch", scale="launch"),
        Weight("w_group", "s/work-group", start=1e-8, words="a work-group", scale="cycle"),
        Weight("w_issue", "s/operation", start=1e-9, lower=1e-14,
               words="issuing an instruction of a sub-group", counted="instruction", scale="issue"),
        Weight("w_double", "s/operation", start=5e-9,
               words="an instruction in float64, beside issuing it,", counted="instruction", scale="double"),
        *(
            Weight(f"w_{kind}", "s/operation", start=2e-8, words=f"{words} of a sub-group", counted="op", scale="issue")
            for kind, words in PRICED.items()
        ),
        Weight("w_line", "s/access", start=1e-8,
               words="a cache line fetched into the first-level cache", counted="line", scale="l2"),
        Weight("w_store", "s/access", start=1e-8, words="a cache line stored to", counted="line", scale="l2"),
        Weight("w_memory", "s/access", start=2e-8, words="a cache line fetched from memory", counted="line",
               scale="memory"),
        Weight("w_depth", "", start=15.0, upper=100.0,
               words="the wait for an instruction's result, in times of its issue,"),
        Weight("w_hit", "s/access", start=1e-7, words="waiting for a load that a cache answers", scale="l2_latency"),
        Weight("w_miss", "s/access", start=5e-7, words="waiting for a load that memory answers",
               scale="memory_latency"),
        Weight("w_barrier", "s/barrier", start=1e-7, words="waiting at a barrier", scale="cycle"),
    ),
    parts={
        "overhead": "w_launch*started + w_group*dealt_groups",
        **LOOPS, **OUTSIDE,
        "chain": f"w_depth*({issue('chain')}) + w_hit*chain_hits + w_miss*chain_misses + w_barrier*chain_barriers",
    },
    expression=f"overhead + {norm(IN_LOOPS, *LOOPS, 'chain')} + {norm(STRAIGHT, *OUTSIDE)}",
    additive=False,
    words={
        "overhead": "launches and work-groups",
        **{f"{part}_{name}": f"{words} {where}" for part, where in PLACES.items() for name, words in TIMES.items()},
        "chain": "the longest chain of a sub-group: operations and accesses that wait for each other",
    },
    advice={
        "overhead": LESS_OVERHEAD, "chain": SHORTER_CHAINS,
        **{f"{part}_{name}": advice for part in PLACES for name, advice in (
            ("issue", FEWER_INSTRUCTIONS), ("pass", LESS_LOCAL_MEMORY), ("near", FEWER_BYTES),
            ("memory", FEWER_BYTES))},
    },
)  # fmt: skip
