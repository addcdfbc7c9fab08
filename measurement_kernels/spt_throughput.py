"""Oversubscription times instruction-level parallelism, for registers, local and global memory.

Karsin, *A Performance Model for GPU Architectures: Analysis and Design of Fundamental Algorithms* (2018), sections
4.2 to 4.4: from one work-group on the device to a thousand, each work-item with ``ilp`` independent chains.  Few
groups show the latency of an operation, and many its throughput.  Each cell of global memory is loaded
only once, so that no load finds it in a cache because of an earlier one.
"""

from __future__ import annotations

from perfmodel.kernels import KernelClass, Ladder
from perfmodel.kernels.builders.chains import chains, chains_reference

ISOLATES = {"register": "op_float32_mul", "local": "local_load_32", "global": "global_load_32_stride1"}


KERNEL = KernelClass(
    name="spt_throughput",
    group="spt",
    build=chains,
    variants=tuple({"memory": memory, "ilp": ilp} for ilp in (1, 2, 4) for memory in ("register", "local", "global")),
    sizes=Ladder(lambda e: ({"n": 2**e, "k": 64, "repeats": 8},), start=8, step=2, rungs=6),
    reference=chains_reference,
    scalars=lambda memory, **_: {"p": 0.03125, "q": 0.96875} if memory == "register" else {},
    tags=("spt", "overhead"),
    isolates=lambda memory, **_: ISOLATES[memory],
    doubles="repeats",
    tolerance=1e-3,
)
