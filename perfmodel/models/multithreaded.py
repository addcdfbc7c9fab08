r"""Resources of a compute unit whose sub-groups in flight hide each other's latency.

.. math:: T = o + \Big(\sum_r R_r^s\Big)^{1/s}, \qquad R_r = \sum_q w_q q

The overhead o is the cost of launches and groups. The resources are those of the busiest unit. The first resource is
the instructions that the unit issues. The next are accesses to local memory, by bank, and the sectors that loads and
stores touch and fetch. Another resource is the bytes that the unit's share of memory bandwidth moves. The last resource
is the chain of one sub-group (its waits in sequence), times the number of rounds in which the unit runs its groups.
With few sub-groups in flight, the chain takes longest.

The resources are those of Sim et al. in Kim et al. (2012), section 4.1. Their Eq. 4.1 subtracts an overlap. Here a
p-norm overlaps resources, as in section 6.2 of Stevens and Klöckner (2016). ``docs/lab/real-gpus.md`` shows how
quantities were chosen.
"""

from dataclasses import replace

from perfmodel.models.model import KIM_2012, SHARPNESS, Family, Weight, overlapping, weighted
from perfmodel.quantities.hints import FEWER_BYTES, FEWER_INSTRUCTIONS, FEWER_SECTORS, LESS_OVERHEAD, SHORTER_CHAINS
from perfmodel.quantities.multithreaded import MULTITHREADED_UNITS, assumed_special_units, multithreaded_resources

# values that a fit tries; sharper ones predict the TITAN V's einsums no better, and order variants worse
SHARPNESSES = (2.0, 1.25, 1.5)

OVERHEADS = ("started", "dealt_groups")
RESOURCES = {
    "issue": ("arithmetic", "turns"),
    # private data in memory pass the same units as other accesses, and these do not hide them
    "near": ("wavefronts", "sectors", "near_sectors", "stored_sectors", "chain_private", "chain_far"),
    "memory": ("memory_bytes", "stored_bytes"),
    "chain": ("chain_loads", "chain_local", "chain_barriers", "chain_tests", "chain_operations"),
}
LATENCIES = {
    "chain_loads": "l2_latency_s", "chain_local": "local_latency_s", "chain_operations": "arithmetic_latency_s",
}  # fmt: skip
"""The facts that give weights. Recorded times of full compute units determine no latency."""
#: Of each quantity: what one unit of it is, what a rate of it counts, and of which rate its weight is a multiple.
LABELS = {
    "started": ("a launch", "", "launch"),
    "dealt_groups": ("a work-group", "", "cycle"),
    "arithmetic": ("a cycle of arithmetic at the peak", "", "cycle"),
    "turns": ("a turn of a loop", "turn", "issue"),
    "wavefronts": ("a wavefront of loads and of local memory", "wavefront", "cycle"),
    "sectors": ("a sector that a load touches", "sector", "cycle"),
    "near_sectors": ("a sector fetched into the first-level cache", "sector", "l2"),
    "stored_sectors": ("a sector that a store touches", "sector", "l2"),
    "memory_bytes": ("a byte fetched from memory", "byte", "memory"),
    "stored_bytes": ("a byte stored to memory", "byte", "memory"),
    "chain_loads": ("waiting for loads from global memory", "", "l2_latency"),
    "chain_local": ("waiting for loads from local memory", "", "cycle"),
    "chain_private": ("waiting for private data in memory", "", "cycle"),
    "chain_far": ("waiting for one access beyond the first-level cache", "", "l2_latency"),
    "chain_barriers": ("waiting at a barrier", "", "cycle"),
    "chain_tests": ("waiting for a test in a loop that is written out", "", "cycle"),
    "chain_operations": ("waiting for an operation's result", "", "cycle"),
}

FAMILY = Family(
    name="multithreaded",
    citation=f"resources of {KIM_2012}, section 4.1, under a p-norm",
    quantities=multithreaded_resources, units=MULTITHREADED_UNITS,
    weights=(
        *(
            Weight(f"w_{name}", f"s/{unit}", start=None, fact=LATENCIES.get(name, ""), label=LABELS[name][0],
                   counted=LABELS[name][1], scale=LABELS[name][2])
            for name, unit in MULTITHREADED_UNITS.items()
        ),
        replace(SHARPNESS, start=SHARPNESSES[0], fact="resource_sharpness"),
    ),
    parts={"overhead": weighted(OVERHEADS), **{name: weighted(names) for name, names in RESOURCES.items()}},
    expression=f"overhead + {overlapping(RESOURCES)}", additive=False, resources=RESOURCES,
    choices={"resource_sharpness": SHARPNESSES}, assumed_facts=assumed_special_units,
    labels={
        "overhead": "launches and work-groups", "issue": "issuing instructions",
        "near": "sectors of global memory, accesses to local memory, or private data in memory",
        "memory": "bytes from and to memory",
        "chain": "the chain of a sub-group: instructions, loads and barriers that wait for each other",
    },
    advice={
        "overhead": LESS_OVERHEAD, "issue": FEWER_INSTRUCTIONS, "near": FEWER_SECTORS, "memory": FEWER_BYTES,
        "chain": SHORTER_CHAINS,
    },
)  # fmt: skip
