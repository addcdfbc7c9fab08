"""Schedules feintune's kernels of discontinuous Galerkin methods, with transformations from its search space.

feintune is no package: the working folder is that of its modules. What they import of others has stand-ins.
"""

from __future__ import annotations

import itertools
import runpy
import sys
import types
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import loopy as lp
import numpy as np

ELEMENTS = (96, 200)  # a multiple of the block, and not
PARAMETERS = ((32, 16, 10, 5, 5), (64, 32, 10, 10, 10), (32, 32, 5, 5, 2), (96, 32, 10, 2, 5), (64, 8, 2, 1, 10))


def main() -> None:
    """Take the generators of kernels and of transformations from the working folder."""
    sys.path.insert(0, str(Path.cwd()))
    for name in ("meshmode.array_context", "meshmode.transform_metadata", "decouple_domain"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["meshmode.array_context"].EinsumTag = type("EinsumTag", (), {})
    sys.modules["meshmode.transform_metadata"].FirstAxisIsElementsTag = type("FirstAxisIsElementsTag", (), {})
    sys.modules["decouple_domain"].decouple_domain = None
    kernels = runpy.run_path("__init__.py")
    sys.modules["__init__"] = types.SimpleNamespace(**kernels)
    generators = runpy.run_path("generators.py")
    for text, make in variants(kernels, generators):
        try:
            lp.linearize(lp.preprocess_program(make()))
        except Exception as error:
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:150]}"
            sys.stderr.write(f"skipped: feintune's {text}: {reason}\n")


def variants(kernels: dict[str, Any], generators: dict[str, Any]) -> Iterator[tuple[str, Callable[[], Any]]]:
    product = generators["mxm_trans_list_generator"]
    for elements, dtype in itertools.product(ELEMENTS, (np.float32, np.float64)):
        makers = {
            "diff_2": partial(kernels["gen_diff_knl_fortran2"], 2, elements, 10, 10, dtype),
            "diff_3": partial(kernels["gen_diff_knl_fortran2"], 3, elements, 10, 10, dtype),
            "elwise_linear": partial(kernels["gen_elwise_linear_knl"], elements, 10, 10, dtype),
        }
        for name, make in makers.items():
            yield name, make
            for parameters in PARAMETERS:
                yield f"{name} {parameters}", partial(transformed, make, product, parameters)
        for name in ("gen_face_mass_knl", "gen_face_mass_knl_merged"):
            yield name, partial(kernels[name], elements, 4, 20, 10, dtype)


def transformed(make: Callable[[], Any], product: Callable[..., list[list[Any]]], parameters: tuple[int, ...]) -> Any:
    """Apply what feintune's own loop applies, without printing, timing and leaving the program."""
    unit = make()
    for name, *rest in product(parameters, knl=unit):
        arguments, named = (*rest, [], {})[:2] if len(rest) < 2 else rest
        unit = getattr(lp, name)(unit, *arguments, **(named or {}))
    return unit


if __name__ == "__main__":
    main()
