"""Smaller sizes of a kernel, at which it does the same in less time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from perfmodel.errors import AssumptionError

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts

Sizes: TypeAlias = dict[str, int]

LEAST = 16
"""No parameter is made smaller: small ones count fields, taps or the points of an element, and are no sizes."""
WINDOW = 1 << 12
"""Number of sizes above the half of one that are tested against the kernels' assumptions."""


def smaller_sizes(kernels: Sequence[KernelCounts], sizes: Mapping[str, int]) -> tuple[Sizes, ...]:
    """Return sizes at which all kernels may run, from small to large; the last are those given.

    Each has about half of each parameter of the next one, so that their ratios stay. A parameter is rounded up to
    what the kernels assume, as multiples of a tile. Where no such sizes meet all assumptions together, only one
    parameter is halved, the largest that can be.

    Parameters
    ----------
    kernels
        Counts of kernels, which meet their assumptions at the sizes given.
    sizes
        Every size parameter.

    Examples
    --------
    For a kernel that assumes multiples of 48, ``{"n": 480}`` gives 48, 96, 144, 240 and 480.
    """
    found = [dict(sizes)]
    while smaller := _halved(kernels, found[-1]):
        found.append(smaller)
    return tuple(reversed(found))


def _halved(kernels: Sequence[KernelCounts], sizes: Sizes) -> Sizes | None:
    """Return sizes about half as large; None where there are none."""
    large = sorted((name for name, size in sizes.items() if size >= 2 * LEAST), key=lambda name: -sizes[name])
    together = {**sizes, **{name: -(-sizes[name] // 2) for name in large}}
    if large and _meets(kernels, together):
        return together
    rounded = {name: half for name in large if (half := _rounded(kernels, sizes, name))}
    if rounded and _meets(kernels, {**sizes, **rounded}):
        return {**sizes, **rounded}
    return next(({**sizes, name: half} for name, half in rounded.items()), None)


def _rounded(kernels: Sequence[KernelCounts], sizes: Sizes, name: str) -> int | None:
    """Return the least value of a parameter from its half on, below its value, that all kernels may have."""
    half = -(-sizes[name] // 2)
    tried = np.arange(half, min(half + WINDOW, sizes[name]), dtype=np.int64)
    for kernel in kernels:
        tried = _valid(kernel, sizes, name, tried)
    return int(tried[0]) if len(tried) else None


def _valid(kernel: KernelCounts, sizes: Sizes, name: str, tried: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return those of some values of a parameter that meet a kernel's assumptions."""
    while len(tried):
        try:
            kernel.work_groups().evaluate({**sizes, name: tried})
            break
        except AssumptionError as error:
            if not error.indices:
                return tried[:0]
            tried = np.delete(tried, error.indices)
    return tried


def _meets(kernels: Sequence[KernelCounts], sizes: Sizes) -> bool:
    try:
        for kernel in kernels:
            kernel.work_groups()(**sizes)
    except AssumptionError:
        return False
    return True
