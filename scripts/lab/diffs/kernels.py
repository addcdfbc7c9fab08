"""The pairs: kernels of other projects, each with a changed version.

The kernels are other people's code, so they are read from a folder. ``captured/PROJECT/*.pickle`` in it are kernels
that :mod:`scripts.lab.capturing.capture` kept, and ``programs.jsonl.xz`` has their sizes (:mod:`scripts.lab.others`).
"""

from __future__ import annotations

import hashlib
import json
import lzma
import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import loopy as lp
import numpy as np
from pymbolic import var
from pytools.tag import Tag

from perfmodel.errors import DocumentError
from scripts.lab.diffs import changes
from scripts.lab.diffs.changes import ALMOST_ONE, Change, Unit

SLOWER, HARMLESS, HELD_OUT = "slower", "harmless", "held out"


@dataclass(frozen=True)
class Pair:
    """A kernel and a change. `sort` is SLOWER, HARMLESS or HELD_OUT."""

    sort: str
    kernel: str
    change: str
    sizes: Mapping[str, int]
    old: Callable[[], Unit]
    apply: Change

    def new(self) -> Unit:
        """Return the changed version."""
        return self.apply(self.old())


GRID = {"Nx": 128, "Ny": 128, "Nz": 128}
#: Name, project and start of the file's name, which is Loopy's key of the kernel, and sizes.
KERNELS: Mapping[str, tuple[str, str, dict[str, int]]] = {
    "pystella laplacian": ("pystella", "1aa822e6", GRID),
    "pystella step": ("pystella", "327f95ee", GRID),
    "feinsum gradient": ("feinsum", "061318a3", {"Ne": 65536}),
    "feinsum product": ("feinsum", "166a7529", {"Ni": 1024, "Nj": 128, "Nk": 256}),
    "feinsum contraction": ("feinsum", "25e8e965", {"Ni": 200000}),
    "feinsum divergence": ("feinsum", "068798b8", {"Ne": 65536}),
    "volumential table": ("volumential", "0d9bbfb5", {}),
    "sumpy postprocessing": ("volumential", "70e28f29", {"ntgt_boxes": 20000}),
    "sumpy preprocessing": ("volumential", "fb124b86", {"nsrc_boxes": 20000}),
}
HALO = (
    "0.01*(_fx[i_inner, j_inner, k_inner] + _fx[2+i_inner, 2+j_inner, 2+k_inner] + _fx[i_inner, j_inner, 2+k_inner]"
    " + _fx[2+i_inner, 2+j_inner, k_inner] + _fx[i_inner, 2+j_inner, k_inner] + _fx[2+i_inner, j_inner, 2+k_inner])"
)
EXPONENTIAL = changes.in_reductions(lambda term: var("exp")(term))
DIVISION = changes.in_reductions(lambda term: term / np.float32(ALMOST_ONE))
FLOAT64 = changes.in_reductions(lambda term: term * np.float64(ALMOST_ONE))
SLOWDOWNS: Mapping[str, Mapping[str, Change]] = {
    "pystella laplacian": {
        "lost prefetch": changes.lost_prefetch("_fx", "fx", "8*i_outer, 8*j_outer, 8*k_outer", "fx_fetch_rule"),
        "strided store": changes.array_layout("lap", "N0,N1,N2"),
        "larger halo": changes.more_terms(HALO),
        "division": changes.division(),
        "strided loads": changes.array_layout("fx", "N0,N1,N2"),
        "added load": changes.added_load,
    },
    "pystella step": {
        "added load": changes.added_load,
        "strided array": changes.array_layout("lap_f", "N0,N1,N2"),
        "strided lanes": changes.retagged(k_inner="l.1", j_inner="l.0"),
        "smaller group": changes.retagged(j_inner=None),
        "two divisions": changes.both(changes.division(2), changes.division(3)),
    },
    "feinsum gradient": {
        "float64 in the sum": FLOAT64,
        "division in the loop": DIVISION,
        "strided load": changes.array_layout("A", "N0,N1,N2"),
        "smaller group": changes.smaller_group("i_0_inner", 4),
    },
    "feinsum product": {"float64 in the sum": FLOAT64, "smaller group": changes.smaller_group("i_0_inner", 2)},
    "feinsum contraction": {"exponential in the loop": EXPONENTIAL, "division in the loop": DIVISION},
    "feinsum divergence": {"serial lanes": changes.retagged(i_0_inner=None)},
    "volumential table": {
        "exponential in the loop": EXPONENTIAL, "smaller group": changes.smaller_group("ientry_inner", 8),
    },
    "sumpy postprocessing": {
        "strided load": changes.array_layout("tgt_expansions_before_postprocessing", "N0,N1"),
        "added load": changes.added_load,
    },
    "sumpy preprocessing": {"strided store": changes.array_layout("preprocessed_src_expansions", "N0,N1")},
}  # fmt: skip
LOOPS = {"loops renamed": changes.renamed_loops}
ORDER = {"instructions reversed": changes.reversed_instructions}
OPERANDS = {"operands reversed": changes.reversed_operands}
NAMES = {"instructions renamed": changes.renamed_instructions}
INDICES = {"equivalent indices": changes.equivalent_indices}
UNCHANGED: Mapping[str, Mapping[str, Change]] = {
    "pystella laplacian": {
        **LOOPS, **OPERANDS, **INDICES, **NAMES, "temporary renamed": changes.renamed_temporary("_fx"),
    },
    "pystella step": {
        **LOOPS, **ORDER, **OPERANDS, **INDICES, **NAMES, "temporary renamed": changes.renamed_temporary("_f_rhs_0"),
    },
    "feinsum gradient": {**LOOPS, **OPERANDS, **NAMES},
    "feinsum product": {**LOOPS, **OPERANDS},
    "feinsum contraction": LOOPS,
    "volumential table": {**ORDER, **OPERANDS, **LOOPS},
    "sumpy postprocessing": {**ORDER, **LOOPS},
    "sumpy preprocessing": {**ORDER, **NAMES},
}  # fmt: skip


class _Unpickler(pickle.Unpickler):
    """Replaces tags of packages that are not installed by tags without meaning."""

    def find_class(self, module: str, name: str) -> Any:
        try:
            return super().find_class(module, name)
        except (ModuleNotFoundError, AttributeError):
            return _tag(module, name)


def _tag(module: str, name: str, made: dict[tuple[str, str], type] = {}) -> type:  # noqa: B006, kept between calls
    methods = {"__init__": lambda self, *args, **more: None, "__hash__": lambda self: hash(name),
               "__eq__": lambda self, other: type(self) is type(other), "__module__": module}  # fmt: skip
    return made.setdefault((module, name), type(name, (Tag,), methods))


def captured(folder: Path, project: str, start: str) -> Unit:
    """Return a captured kernel for PyOpenCL. Raises a DocumentError if the folder does not have exactly one."""
    files = [*(folder / "captured" / project).glob(f"{start}*.pickle")]
    if len(files) != 1:
        problem = f"'{folder}' has {len(files)} files captured/{project}/{start}*.pickle"
        advice = "capture the kernels with scripts.lab.capturing.capture and the Loopy that perfmodel uses"
        raise DocumentError(problem, advice)
    with files[0].open("rb") as file:
        unit = _Unpickler(file).load()["unit"]
    return unit if isinstance(unit.target, lp.PyOpenCLTarget) else unit.copy(target=lp.PyOpenCLTarget())


def seeded(folder: Path) -> Iterator[Pair]:
    """Yield the pairs that were chosen by hand: slowdowns, then changes that change nothing."""
    for sort, table in ((SLOWER, SLOWDOWNS), (HARMLESS, UNCHANGED)):
        for kernel, made in table.items():
            project, start, sizes = KERNELS[kernel]
            for name, change in made.items():
                yield Pair(sort, kernel, name, sizes, partial(captured, folder, project, start), change)


def held_out(folder: Path) -> Iterator[Pair]:
    """Yield pairs that nobody chose, in an order that a hash decides: other kernels, and changes that apply to many.

    Raises a DocumentError if the folder has no ``programs.jsonl.xz``.
    """
    source = folder / "programs.jsonl.xz"
    if not source.is_file():
        raise DocumentError(f"'{folder}' has no file {source.name}", "give the folder of captured kernels")
    with lzma.open(source, "rt") as file:
        sizes = {row["kernel"]: row["sizes"] for row in map(json.loads, file)}
    seen = {(project, start) for project, start, _ in KERNELS.values()}
    pairs = []
    for kernel, at in sizes.items():
        project, _, name = kernel.partition("/")
        start = name.rpartition("-")[2]
        if (project, start) not in seen and [*(folder / "captured" / project).glob(f"{start}*.pickle")]:
            old = partial(captured, folder, project, start)
            pairs += [Pair(HELD_OUT, kernel, change, at, old, apply) for change, apply in changes.GENERAL.items()]
    return iter(sorted(pairs, key=lambda pair: hashlib.sha256(f"{pair.kernel} {pair.change}".encode()).digest()))
