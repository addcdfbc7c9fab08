"""Chains of accesses to local memory, and of operations on registers: Karsin (2018), figures 4.2 and 4.3.

The kernels are from the measurement class ``spt_throughput``, with one work-group or more and up to eight chains
in a work-item. A chain has `k` times `repeats` accesses or multiply-adds, so that the work grows with both
oversubscription and instruction-level parallelism, as in figure 4.3.
"""

from __future__ import annotations

from measurement_kernels.spt_throughput import WIDTH, chains, chains_reference
from perfmodel.kernels import KernelClass, Ladder

MAGNITUDES = (0, 2, 4, 6)

KERNEL = KernelClass(
    name="spt_chains",
    group="spt",
    build=chains,
    variants=tuple({"memory": memory, "ilp": ilp} for memory in ("local", "register") for ilp in (1, 2, 4, 8)),
    sizes=Ladder(
        lambda e: tuple({"n": WIDTH * 2 ** (e + at), "k": 64, "repeats": 16} for at in MAGNITUDES), start=0, rungs=2
    ),
    reference=chains_reference,
    scalars=lambda memory, **_: {"p": 0.03125, "q": 0.96875} if memory == "register" else {},
    tags=("papers", "spt"),
    tolerance=1e-3,
)
