"""Schedules the einsums that feinsum generates, plain, split over a device's axes, and in the order of opt_einsum."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import feinsum as f
import loopy as lp

#: Subscripts, and the shape of each operand; names are sizes.
EINSUMS = (
    ("ij,j->i", ("Ni", 35), (35,)),
    ("ij,ej->ei", (10, 10), ("Ne", 10)),
    ("ij,jk->ik", ("Ni", "Nj"), ("Nj", "Nk")),
    ("ij,ij->ij", ("Ni", 12), ("Ni", 12)),
    ("ij->i", ("Ni", 20)),
    ("ijk,ijk->ijk", ("Ni", 3, 4), ("Ni", 3, 4)),
    ("e,ij,ej->ei", ("Ne",), (8, 8), ("Ne", 8)),
    ("ifj,fe,fej->ei", (10, 4, 6), (4, "Ne"), (4, "Ne", 6)),
    ("xre,rij,ej->xei", (3, 3, "Ne"), (3, 10, 10), ("Ne", 10)),
    ("xre,rij,xej->ei", (3, 3, "Ne"), (3, 10, 10), (3, "Ne", 10)),
    ("ijkl,l->ijk", (6, 6, "Nk", 6), (6,)),
    ("aij,ajk->aik", ("Na", 5, 7), ("Na", 7, 5)),
)


def main() -> None:
    for text, kernel in kernels():
        try:
            lp.linearize(lp.preprocess_program(kernel()))
        except Exception as error:
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:150]}"
            sys.stderr.write(f"skipped: feinsum's {text}: {reason}\n")


def kernels() -> Iterator[tuple[str, Any]]:
    for subscripts, *shapes in EINSUMS:
        for dtype in ("float64", "float32"):
            operands = [f.array(name, shape, dtype) for name, shape in zip("ABCD", shapes, strict=False)]
            einsum = f.einsum(subscripts, *operands)
            yield subscripts, lambda einsum=einsum: f.generate_loopy(einsum)
            yield f"{subscripts}, split", lambda einsum=einsum: on_device(f.generate_loopy(einsum), einsum)
            yield f"{subscripts}, in parts", lambda einsum=einsum: f.generate_loopy_with_opt_einsum_schedule(einsum)


def on_device(unit: Any, einsum: Any) -> Any:
    """Give the longest free index of the result to groups and lanes."""
    free = [name for name in unit.default_entrypoint.all_inames() if any(
        name in instruction.within_inames for instruction in unit.default_entrypoint.instructions
    )]
    sized = [name for name in sorted(free) if not unit.default_entrypoint.get_inames_domain(name).is_params()]
    unit = lp.split_iname(unit, sized[0], 32, outer_tag="g.0", inner_tag="l.0")
    return unit


if __name__ == "__main__":
    main()
