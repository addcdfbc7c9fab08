"""Schedules feintune's kernels of discontinuous Galerkin methods, with transformations from its search space.

feintune is no package: the folder of its modules is in ``sys.path``, and what they import of others is set aside.
"""

from __future__ import annotations

import itertools
import runpy
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import loopy as lp
import numpy as np

ELEMENTS = (96, 200)  # a multiple of the block, and not
PARAMETERS = ((32, 16, 10, 5, 5), (64, 32, 10, 10, 10), (32, 32, 5, 5, 2), (96, 32, 10, 2, 5), (64, 8, 2, 1, 10))


def main() -> None:
    """Take the generators of kernels and of transformations from the folder that the command line names."""
    sys.path.insert(0, sys.argv[1])
    for name in ("meshmode.array_context", "meshmode.transform_metadata", "decouple_domain"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["meshmode.array_context"].EinsumTag = type("EinsumTag", (), {})
    sys.modules["meshmode.transform_metadata"].FirstAxisIsElementsTag = type("FirstAxisIsElementsTag", (), {})
    sys.modules["decouple_domain"].decouple_domain = None
    kernels = runpy.run_path(str(Path(sys.argv[1]) / "__init__.py"))
    sys.modules["__init__"] = types.SimpleNamespace(**kernels)
    generators = runpy.run_path(str(Path(sys.argv[1]) / "generators.py"))
    for text, make in variants(kernels, generators):
        try:
            lp.linearize(lp.preprocess_program(make()))
        except Exception as error:
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:150]}"
            sys.stderr.write(f"skipped: feintune's {text}: {reason}\n")


def variants(kernels: dict[str, Any], generators: dict[str, Any]) -> Iterator[tuple[str, Callable[[], Any]]]:
    products = generators["mxm_trans_list_generator"]
    for elements, dtype in itertools.product(ELEMENTS, (np.float32, np.float64)):
        plain = {
            "diff_2": lambda: kernels["gen_diff_knl_fortran2"](2, elements, 10, 10, dtype),
            "diff_3": lambda: kernels["gen_diff_knl_fortran2"](3, elements, 10, 10, dtype),
            "elwise_linear": lambda: kernels["gen_elwise_linear_knl"](elements, 10, 10, dtype),
        }
        for name, make in plain.items():
            yield name, make
            for parameters in PARAMETERS:
                yield f"{name} {parameters}", lambda: transformed(make(), products(parameters, knl=make()))
        for name, size in (("gen_face_mass_knl", 20), ("gen_face_mass_knl_merged", 20)):
            yield name, lambda: kernels[name](elements, 4, size, 10, dtype)


def transformed(unit: Any, transformations: list[list[Any]]) -> Any:
    """Apply what feintune's own loop applies, without printing, timing and leaving the program."""
    for name, *rest in transformations:
        arguments, named = (*rest, [], {})[:2] if len(rest) < 2 else rest
        unit = getattr(lp, name)(unit, *arguments, **(named or {}))
    return unit


if __name__ == "__main__":
    main()
