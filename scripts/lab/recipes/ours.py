"""Kernels of the gallery, the suites and the papers without their transformations: ``python -m ... FOLDER``.

Each file ``FOLDER/NAME.py`` has ``kernel()``, the plain kernel; ``authors()``, the transformed versions by name;
``sizes()``; and ``arguments(**sizes)``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass
from perfmodel.kernels.files import execute
from perfmodel.measuring.subject import array_arguments

ROOT = Path(__file__).resolve().parents[3]
#: Functions of Loopy that change how a kernel runs, and not what it computes or how its arguments are stored.
TRANSFORMATIONS = (
    "add_inames_for_unused_hw_axes", "add_inames_to_insn", "add_prefetch", "affine_map_inames", "alias_temporaries",
    "assignment_to_subst", "buffer_array", "chunk_iname", "duplicate_inames", "extract_subst", "interchange_inames",
    "join_inames", "precompute", "prioritize_loops", "privatize_temporaries_with_inames", "realize_reduction",
    "rename_iname", "set_loop_priority", "set_temporary_address_space", "set_temporary_scope", "split_iname",
    "split_reduction_inward", "split_reduction_outward", "tag_inames", "unprivatize_temporaries_with_inames",
)  # fmt: skip
#: Where each kernel is, and sizes at which the authors' version takes 0.5 to 30 ms on two cores.
KERNELS: Mapping[str, tuple[str, dict[str, int]]] = {
    "dg_operator": ("docs/lab/gallery/dg_operator", {"n": 4096}),
    "fft_stage": ("docs/lab/gallery/fft_stage", {"m": 4096, "s": 256}),
    "gemm": ("docs/lab/gallery/gemm", {"n": 384}),
    "halo_stencil": ("docs/lab/gallery/halo_stencil", {"n": 2048}),
    "image_filter": ("docs/lab/gallery/image_filter", {"n": 1024}),
    "n_body": ("docs/lab/gallery/n_body", {"n": 4096}),
    "reduction": ("docs/lab/gallery/reduction", {"n": 4096}),
    "sparse_product": ("docs/lab/gallery/sparse_product", {"n": 262144}),
    "covariance": ("test_kernels/suites/covariance", {"m": 256, "n": 256}),
    "doitgen": ("test_kernels/suites/doitgen", {"m": 32, "n": 64}),
    "fdtd_2d": ("test_kernels/suites/fdtd_2d", {"n": 2048}),
    "hotspot": ("test_kernels/suites/hotspot", {"n": 1024}),
    "jacobi_3d": ("test_kernels/suites/jacobi_3d", {"m": 64, "n": 256}),
    "kmeans": ("test_kernels/suites/kmeans", {"n": 65536}),
    "lava_md": ("test_kernels/suites/lava_md", {"m": 16, "n": 16}),
    "md_neighbours": ("test_kernels/suites/md_neighbours", {"n": 65536, "k": 32}),
    "mri_q": ("test_kernels/suites/mri_q", {"n": 8192, "k": 256}),
    "mvt": ("test_kernels/suites/mvt", {"n": 2048}),
    "pathfinder": ("test_kernels/suites/pathfinder", {"n": 4194304}),
    "spmv_ell": ("test_kernels/suites/spmv_ell", {"n": 131072, "k": 32}),
    "srad": ("test_kernels/suites/srad", {"n": 1024}),
    "syrk": ("test_kernels/suites/syrk", {"n": 512, "m": 128}),
    "triad": ("test_kernels/suites/triad", {"n": 2097152}),
    "convolution": ("test_kernels/convolution", {"n": 192}),
    "transpose": ("test_kernels/transpose_variants", {"n": 2048}),
}


@contextmanager
def untransformed() -> Iterator[None]:
    """Let the transformations of Loopy return their kernel unchanged."""
    with ExitStack() as stack:
        for name in TRANSFORMATIONS:
            if hasattr(lp, name):
                stack.enter_context(patch.object(lp, name, lambda t_unit, *given, **named: t_unit))
        yield


def names_of(path: str, sizes: Mapping[str, int]) -> dict[str, Callable[..., Any]]:
    """Return what a file of the collection defines, for the kernel file or class at a path below the clone's root."""
    names = execute(ROOT / f"{path}.py")
    kernel_class: KernelClass | None = names.get("KERNEL")

    def units() -> Iterator[tuple[str, lp.TranslationUnit]]:
        if kernel_class is None:
            yield from names["variants"]().items()
            return
        for variant in kernel_class.variants_on(4096):
            yield _words(variant), kernel_class.build(**variant)

    def kernel() -> lp.TranslationUnit:
        with untransformed():
            return next(units())[1]

    def authors() -> dict[str, lp.TranslationUnit]:
        interface = _interface(kernel())
        return {name: unit for name, unit in units() if _interface(unit) == interface}

    def arguments(**at: int) -> dict[str, Any]:
        if kernel_class is None:
            return dict(names["arguments"](**at)) if "arguments" in names else {}
        variant = kernel_class.variants_on(4096)[0]
        scalars = dict(kernel_class.scalars(**variant))
        shapes = {array.name: array for array in array_arguments(kernel().default_entrypoint, {**scalars, **at})}
        generator = np.random.default_rng(0)
        drawn = {name: draw(generator, shapes[name].shape) for name, draw in kernel_class.contents.items()}
        return scalars | {name: np.asarray(value, shapes[name].dtype) for name, value in drawn.items()}

    return {"kernel": kernel, "authors": authors, "sizes": lambda: dict(sizes), "arguments": arguments}


def _words(variant: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in variant.items()) or "default"


def _interface(t_unit: lp.TranslationUnit) -> list[str]:
    return sorted(str(argument) for argument in t_unit.default_entrypoint.args)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, (path, sizes) in KERNELS.items():
        text = f"from scripts.lab.recipes.ours import names_of\n\nglobals().update(names_of({path!r}, {sizes!r}))\n"
        (folder / f"{name}.py").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
