"""Names of features to offer where somebody wrote another name."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

from perfmodel.features.names import ACCESS_BITS, PLAIN_KINDS

_DTYPES = ("float32", "float64", "float16", "complex64", "complex128", "int32", "int64")
_CLASSES = (
    "uniform", "stride1", "indirect",
    *(f"stride{stride}_{used}of{stride}" for stride in (2, 3, 4) for used in range(1, stride + 1)),
    *(f"strideN_{used}of4" for used in range(1, 5)),
)  # fmt: skip

FEATURE_NAMES: tuple[str, ...] = (
    *(f"op_{dtype}_{kind}" for dtype in _DTYPES for kind in (*PLAIN_KINDS, "special")),
    *(
        f"global_{direction}_{bits}_{stride}"
        for direction in ("load", "store", "minloadstore")
        for bits in ACCESS_BITS
        for stride in _CLASSES
    ),
    *(f"local_{direction}_{bits}" for direction in ("load", "store") for bits in ACCESS_BITS),
    "barrier_local", "work_groups", "launches",
)  # fmt: skip
"""Features of the common types. (Others, such as uint16's, have names too.)"""


def nearest(name: str, others: Collection[str] = ()) -> list[str]:
    """Return the features, and names of `others`, that look most like a name; the nearest first.

    Examples
    --------
    >>> nearest("launchs")
    ['launches']
    """
    return get_close_matches(name, [*others, *FEATURE_NAMES], 3)
