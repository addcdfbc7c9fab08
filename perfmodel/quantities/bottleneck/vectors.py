"""What PoCL's compiler leaves of vectors: rows of a group that it writes out, and iterations that vectors leave over.

The rules and their numbers are what the machine code of small kernels shows (PoCL 3.1, LLVM 15; docs/lab/families.md).

Examples
--------
A loop over 17 neighbouring cells of float32 is two vectors of 8 and one cell alone: 17 iterations in 3 instructions.
"""

from __future__ import annotations

from math import floor, log2

from perfmodel.quantities.bottleneck.compiled import CompiledLaunch, CompiledNest

WRITTEN_CODE = 300
"""Instructions up to which the compiler writes the loop over a row's work-items out: it then makes no vectors of it."""
OF_LOOP, OF_ADDRESS, OF_TEST = 3, 2, 3
"""Instructions, beside operations and accesses, of a loop, of each address that is computed, and of a guard."""
FEWEST_TRIPS = 4
"""Fewest iterations of a loop, whose number is known, that become a vector."""


def writes_rows_out(launch: CompiledLaunch[float]) -> bool:
    """Return whether the compiler writes the loop over the work-items of a group's row out."""
    code = 0.0
    for nest in launch.nests:
        if nest.iterations:
            accesses = sum(access.executions * (1 + OF_ADDRESS * access.new_address) for access in nest.accesses)
            operations = sum(operation.executions for operation in nest.operations)
            code += (accesses + operations) / nest.iterations + OF_TEST * (nest.iterations < nest.box)
    return launch.row_items * (code + OF_LOOP) <= WRITTEN_CODE


def loop_lanes(nest: CompiledNest[float], width: float) -> float:
    """Return the iterations of the innermost loop for each instruction that vectors of a width, or scalars, need.

    Where the loop has few trips, and they are known, the compiler makes vectors of as many; less than
    :data:`FEWEST_TRIPS` stay scalar.
    """
    trips = nest.iterations / nest.entries
    if nest.written_out:
        width = min(width, 2.0 ** floor(log2(trips))) if trips >= FEWEST_TRIPS else 1.0
    vectors = trips // width
    return trips / (vectors + trips - vectors * width)
