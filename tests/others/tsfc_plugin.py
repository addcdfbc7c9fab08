"""Schedules what TSFC hands to Firedrake, which only calls it from kernels of its own (a plug-in of pytest).

TSFC needs one function of PyOP2, which needs MPI and PETSc: a stand-in that remembers nothing takes its place.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any

import loopy as lp


def remembers_nothing(**_: Any) -> Callable[[Any], Any]:
    """Return a decorator that changes nothing."""
    return lambda function: function


def stand_in(name: str, **members: Any) -> None:
    module = types.ModuleType(name)
    vars(module).update(members)
    sys.modules[name] = module


stand_in("pyop2")
stand_in("pyop2.caching", serial_cache=remembers_nothing)
stand_in("petsctools", add_citation=lambda *_: None, cite=lambda *_: None)

from tsfc.kernel_interface import firedrake_loopy  # noqa: E402  what it imports is set above

generate = firedrake_loopy.generate_loopy


@functools.wraps(generate)
def generate_and_schedule(*arguments: Any, **named: Any) -> Any:
    made = generate(*arguments, **named)
    try:
        lp.linearize(lp.preprocess_program(made[0]))
    except Exception as error:
        sys.stderr.write(f"skipped: a kernel of TSFC: {type(error).__name__}: {' '.join(str(error).split())[:150]}\n")
    return made


firedrake_loopy.generate_loopy = generate_and_schedule
