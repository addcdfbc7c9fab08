"""Schedules the kernels that sumpy makes for the steps of a fast multipole method, without running them.

sumpy's own tests need an arraycontext that is not on PyPI, so this runs in their place.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import loopy as lp
import numpy as np
import pyopencl as cl
import sumpy
from sumpy.expansion.local import LinearPDEConformingVolumeTaylorLocalExpansion, VolumeTaylorLocalExpansion
from sumpy.expansion.multipole import LinearPDEConformingVolumeTaylorMultipoleExpansion, VolumeTaylorMultipoleExpansion
from sumpy.kernel import AxisTargetDerivative, DirectionalSourceDerivative, HelmholtzKernel, LaplaceKernel, YukawaKernel

from tests.others.old_names import install

NUMBERS = re.compile("^n(sources|targets)$|(starts|lists|counts|counts_nonchild|boxes|ids|levels|ibox|offset)$")


def main() -> None:
    install()
    context = cl.create_some_context(interactive=False)
    for name, make in steps(context):
        try:
            unit = typed(make())
            unit = lp.preprocess_program(unit)
            lp.linearize(unit)
        except Exception as error:
            sys.stderr.write(f"skipped: sumpy's {name}: {type(error).__name__}: {' '.join(str(error).split())[:150]}\n")


def typed(unit: lp.TranslationUnit) -> lp.TranslationUnit:
    """Return the kernel with the types that sumpy's callers pass: numbers of boxes, and coordinates."""
    untyped = [argument.name for argument in unit.default_entrypoint.args if argument.dtype is None]
    return lp.add_dtypes(unit, {name: np.int32 if NUMBERS.search(name) else np.float64 for name in untyped})


def steps(context: cl.Context) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield each step's name and what makes its kernel."""
    for dimension in (2, 3):
        for kernel in (LaplaceKernel(dimension), HelmholtzKernel(dimension), YukawaKernel(dimension)):
            for order in (2, 4):
                yield from expansions(context, kernel, order)
            derivatives = (kernel, AxisTargetDerivative(0, kernel), DirectionalSourceDerivative(kernel))
            for target in derivatives:
                yield from direct(context, kernel, target)


def direct(context: cl.Context, kernel: Any, target: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    is_source = isinstance(target, DirectionalSourceDerivative)
    options = {
        "target_kernels": (kernel if is_source else target,), "source_kernels": (target if is_source else kernel,),
        "exclude_self": False,
    }
    for step in ("P2P", "P2PFromCSR"):
        def make(step: str = step) -> Any:
            return _kernel_of(getattr(sumpy, step)(context, **options))
        yield f"{step} of {target}", make


def expansions(context: cl.Context, kernel: Any, order: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    pairs = (
        (VolumeTaylorMultipoleExpansion, VolumeTaylorLocalExpansion),
        (LinearPDEConformingVolumeTaylorMultipoleExpansion, LinearPDEConformingVolumeTaylorLocalExpansion),
    )
    for multipole_type, local_type in pairs:
        multipole, local = multipole_type(kernel, order), local_type(kernel, order)
        made = {
            "P2EFromSingleBox": (multipole, (kernel,)), "P2EFromCSR": (local, (kernel,)),
            "E2PFromSingleBox": (multipole, (kernel,)), "E2PFromCSR": (local, (kernel,)),
            "E2EFromCSR": (multipole, local), "E2EFromChildren": (multipole, multipole),
            "E2EFromParent": (local, local),
        }
        for step, arguments in made.items():
            def make(step: str = step, arguments: tuple[Any, ...] = arguments) -> Any:
                return _kernel_of(getattr(sumpy, step)(context, *arguments))
            yield f"{step} of {kernel} to order {order}", make


def _kernel_of(step: Any) -> Any:
    try:
        return step.get_kernel()
    except TypeError:  # needs to be told whether targets are in arrays of objects
        return step.get_kernel(False, False)


if __name__ == "__main__":
    main()
