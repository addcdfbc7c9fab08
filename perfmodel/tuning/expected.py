"""Outputs that a user's function ``reference(**arguments)`` gives, checked against those of a variant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from perfmodel.errors import ReferenceOutputError
from perfmodel.tuning.outputs import all_nan

if TYPE_CHECKING:
    from loopy import TranslationUnit

Reference: TypeAlias = "Callable[..., Mapping[str, Any] | TranslationUnit]"


def expected_outputs(value: object, outputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arrays that a reference gives, each of the type of the variant's output of that name.

    Parameters
    ----------
    value
        What the function returned.
    outputs
        The outputs of a variant by name.

    Raises
    ------
    ReferenceOutputError
        If it is no dict of a variant's outputs, or an array has another shape or kind of numbers, or nothing but NaN.
    """
    names = ", ".join(outputs) or "none"
    if not isinstance(value, Mapping) or not value:
        kind = "an empty dict" if isinstance(value, Mapping) else type(value).__name__
        raise ReferenceOutputError(f"returns {kind}", f"a dict with some of the outputs: {names}")
    found = {}
    for name, one in value.items():
        if name not in outputs:
            raise ReferenceOutputError(f"gives {name!r}, which is no output", f"some of the outputs: {names}")
        found[str(name)] = _array(str(name), one, outputs[name])
    return found


def _array(name: str, value: Any, output: Any) -> Any:
    try:
        array = np.asarray(value)
    except Exception as error:  # a ragged list, or an object with a conversion of its own
        raise ReferenceOutputError(f"gives '{name}', which is no array ({error})", _allowed(output)) from error
    if array.shape != output.shape or not np.can_cast(array.dtype, output.dtype, "same_kind"):
        found = f"gives '{name}' as an array of {array.dtype.name} and shape {array.shape}"
        raise ReferenceOutputError(found, _allowed(output))
    with np.errstate(all="ignore"):
        same = array.astype(output.dtype)
    if all_nan(same):
        raise ReferenceOutputError(f"gives '{name}' with NaN in every element", "numbers that can be compared")
    return same


def _allowed(output: Any) -> str:
    return f"an array of {output.dtype.name} and shape {output.shape}"
