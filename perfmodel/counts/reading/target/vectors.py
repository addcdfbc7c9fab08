"""OpenCL's vector types, which count as their components, and structures."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import loopy as lp
import numpy as np
from loopy.kernel.function_interface import CallableKernel


def lanes(dtype: np.dtype[Any]) -> int:
    """Return the components of an OpenCL vector type (3 of a float3, which has the size of 4); 1 for any other type."""
    if dtype.names is None or dtype.names[0] != "s0" or len(set(_formats(dtype))) != 1:
        return 1
    return sum(not name.startswith("padding") for name in dtype.names)


def component(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type of a vector type's components; any other type unchanged."""
    return _formats(dtype)[0] if dtype.kind == "V" and lanes(dtype) > 1 else dtype


@cache
def type_name(dtype: np.dtype[Any]) -> str:
    """Return the name that a type has in counts: that of a vector's components; ``struct`` for a structure.

    NumPy makes a name anew each time, so names are kept.
    """
    found = component(dtype)
    return "struct" if found.kind == "V" else str(found.name)


def member_of(dtype: np.dtype[Any], names: tuple[str, ...]) -> tuple[np.dtype[Any], int]:
    """Return the type of a member of a structure or vector, and its place in bytes.

    Examples
    --------
    >>> member_of(np.dtype([("x", np.int32), ("y", np.float32)]), ("y",))
    (dtype('float32'), 4)
    """
    place = 0
    for name in names:
        fields: Mapping[str, Any] = dtype.fields or {}
        dtype, offset = fields[name][:2]
        place += offset
    return dtype, place


def structured_types(t_unit: lp.TranslationUnit) -> str:
    """Return a text of the vector types and structures of all variables, which Loopy's persistent key takes for one."""
    found = []
    for kernel in t_unit.callables_table.values():
        if isinstance(kernel, CallableKernel):
            inner = kernel.subkernel
            for variable in (*inner.args, *inner.temporary_variables.values()):
                dtype = getattr(variable.dtype, "numpy_dtype", None)
                if dtype is not None and dtype.kind == "V":
                    found.append(f"{variable.name}: {dtype!r}")
    return "; ".join(sorted(found))


def _formats(dtype: np.dtype[Any]) -> list[np.dtype[Any]]:
    fields: Mapping[str, Any] = dtype.fields or {}
    return [fields[name][0] for name in dtype.names or ()]
