"""What Karsin (2018), section 5.2, says of the matrix product's operations, next to what the kernel's code has."""

from __future__ import annotations

from collections.abc import Mapping
from math import isclose

from scripts.lab.studies.claim import Claim
from scripts.lab.studies.gemm import OPERATIONS, amounts, bandwidth_bound, matmul, operation_shares, shared_reads
from scripts.lab.studies.gemm_points import Point
from scripts.lab.studies.karsin import PLATFORMS, SPT, gpu

#: Banks of shared memory on the dissertation's platforms.
BANKS = 32


def operation_claims(one: Point) -> tuple[Claim, ...]:
    """Return the claims of section 5.2, with the operations counted in the kernel of a configuration."""
    return _operations(one), _shared(one), _conflicts(one), _bandwidth(), _registers(one)


def _counted(one: Point) -> dict[str, float]:
    """Return the operations of a whole launch as the kernel's code has them, barriers for each work-group."""
    counts = one.counts
    numbers = {
        "g": counts.accesses("global"),
        "s": counts.accesses("local"),
        "r": counts.operations(dtype="float32", kind="add"),
        "y": counts.barriers("local"),
    }
    found = {key: float(count(**one.sizes)) for key, count in numbers.items()}
    return {**found, "y": found["y"] / one.group}


def _operations(one: Point) -> Claim:
    counted, closed = _counted(one), amounts(1, **one.sizes, tile=one.tile, depth=one.depth)
    keys = [key for key in closed if key != "s"]
    words = {OPERATIONS[key]: f"{counted[key]:.5g} for {closed[key]:.5g}" for key in keys}
    return Claim(
        "Sections 5.2.1, 5.2.3 and 5.2.4",
        "A_g = 2nmk/N_TB + nm, A_r = nmk, A_y = 2nmk/(N_TB^2 lambda), divided by P",
        f"Counted in the kernel with {one.name}, of all cores: {each_of(words)}.",
        all(isclose(counted[key], closed[key], rel_tol=1e-9) for key in keys),
        measured=False,
    )


def _shared(one: Point) -> Claim:
    counted, closed = _counted(one)["s"], amounts(1, **one.sizes, tile=one.tile, depth=one.depth)["s"]
    rows, columns = one.tile // one.shape[1], one.tile // one.shape[0]
    reads, factor = shared_reads(**one.sizes, rows=rows, columns=columns), counted / closed
    parts = matmul(gpu("ALGOPARC"))
    whole = sum(parts.values())
    more = whole + (factor - 1) * parts["s"]
    return Claim(
        "Section 5.2.2",
        "A_s = 4nmk/N_TB, divided by P: each staged element is written once and read once",
        f"With {one.name} a work-item forms {rows} x {columns} elements, and reads a number of a for "
        f"{columns} products and one of b for {rows}: {reads:.4g} reads, with the writes {counted:.4g} accesses for "
        f"{closed:.4g}, {factor:.1f} times as many. On ALGOPARC that would be {more:.2f} s for {whole:.2f} s, if "
        "nothing overlapped.",
        (agrees := isclose(counted, closed, rel_tol=0.05)),
        not agrees,
        measured=False,
    )


def _conflicts(one: Point) -> Claim:
    """Compare beta of section 4.3: the passes that an access of a sub-group takes, on average."""
    passes = {}
    for array in ("a_tile", "b_tile"):
        together = one.counts.accesses("local", array=array, granularity="subgroup")(**one.sizes)
        passes[array] = float(one.counts.bank_conflicts(array, BANKS)(**one.sizes) / together)
    words = {name: f"{beta:.2f}" for name, beta in passes.items()}
    return Claim(
        "Section 5.2.2",
        "the algorithm is completely free of bank conflicts, beta = 1",
        f"beta by the addresses, of {BANKS} banks and sub-groups of {one.counts.subgroup_size}: {each_of(words)}.",
        all(beta == 1 for beta in passes.values()),
        measured=False,
    )


def _bandwidth() -> Claim:
    bound = {name: bandwidth_bound(gpu(name)) for name in PLATFORMS}
    waits = {name: [OPERATIONS[key] for key, yes in keys.items() if not yes] for name, keys in bound.items()}
    words = {name: " and ".join(names) or "nothing" for name, names in waits.items()}
    return Claim(
        "Section 5.2.5",
        "multiplicity is large enough: shared and global memory are bound by their bandwidth on all three platforms",
        f"By the closed form with MAGMA's parameters, these are bound by latency: {each_of(words)}.",
        all(keys["g"] and keys["s"] for keys in bound.values()),
        measured=False,
    )


def _registers(one: Point) -> Claim:
    closed = {name: operation_shares(gpu(name))[OPERATIONS["r"]] for name in PLATFORMS}
    here, closed_form = one.shares(), {name: f"{share:.0%}" for name, share in closed.items()}
    words = {name: f"{share:.0%}" for name, share in here.items()}
    return Claim(
        "Section 5.2.3",
        "the majority of the work is done in registers",
        f"Share of the time by the closed form: {each_of(closed_form)}. Here {SPT} "
        + (f"predicts with {one.name}: {each_of(words)}." if here else "has no weights."),
        min(closed.values()) > 0.5,
        measured=False,
    )


def each_of(values: Mapping[str, str]) -> str:
    """Return names and texts in one line."""
    return ", ".join(f"{name} {value}" for name, value in values.items())
