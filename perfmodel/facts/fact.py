"""One fact of a device: a number or a word, its unit, and where it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

FactValue = Union[int, float, str, bool, tuple[int, ...]]  # noqa: UP007 -- evaluated, not annotated


@dataclass(frozen=True)
class Fact:
    """One fact of a device.

    Parameters
    ----------
    value : int, float, str, bool or tuple of int
        The number or word.
    unit : str
        Its unit; empty for a pure number or a word.
    source : str
        Where the value comes from: an OpenCL query, a data sheet, a measurement.
    """

    value: FactValue
    unit: str
    source: str
