"""The name, the unit and the definition of each feature."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import lru_cache
from types import MappingProxyType

from perfmodel.errors import UnknownFeatureError

# Every class has a code, so that arrays of sizes can be classified at once:
# 0 uniform, 1 stride1, else 10*d + q with d = 2, 3, 4 for that stride and 5 for any larger one.
CLASS_NAMES: Mapping[int, str] = MappingProxyType(
    {0: "uniform", 1: "stride1"}
    | {10 * s + q: f"stride{s}_{q}of{s}" for s in (2, 3, 4) for q in range(1, s + 1)}
    | {50 + q: f"strideN_{q}of4" for q in range(1, 5)}
)

ACCESS_BITS = (8, 16, 32, 64, 128)
"""Sizes of a memory access, each with features of its own [bit]."""

PLAIN_KINDS = ("add", "mul", "div", "pow", "minmax", "shift", "bitwise")
"""Kinds of operation with a feature of their own; every other kind is ``special``."""

STRIDE_CLASSES = (*CLASS_NAMES.values(), "indirect")
"""Classes of a global access; data that a kernel finds through another array is ``indirect``."""

_STRIDE_CLASS = "|".join(STRIDE_CLASSES)
_BITS = "|".join(str(bits) for bits in ACCESS_BITS)
_KINDS = "|".join((*PLAIN_KINDS, "special"))

# (pattern of the name, unit, definition)
_GRAMMAR: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (
        re.compile(rf"op_(?P<dtype>[a-z]+[0-9]*)_(?P<kind>{_KINDS})"),
        "operation",
        "{kind} operations on {dtype}, summed over all work-items",
    ),
    (
        re.compile(rf"global_(?P<direction>load|store)_(?P<bits>{_BITS})_(?P<cls>{_STRIDE_CLASS})"),
        "access",
        "{bits}-bit global {direction}s of stride class {cls}, summed over all work-items",
    ),
    (
        re.compile(rf"global_minloadstore_(?P<bits>{_BITS})_(?P<cls>{_STRIDE_CLASS})"),
        "access",
        "the smaller of the {bits}-bit global loads and stores of stride class {cls}",
    ),
    (
        re.compile(rf"local_(?P<direction>load|store)_(?P<bits>{_BITS})"),
        "access",
        "{bits}-bit {direction}s of local memory, summed over all work-items",
    ),
    (re.compile("barrier_local"), "barrier", "local barriers times the work-items that meet them"),
    (re.compile("work_groups"), "work-group", "work-groups launched"),
    (re.compile("launches"), "launch", "device kernels launched"),
)

_DTYPES = ("float32", "float64", "float16", "complex64", "complex128", "int32", "int64")
FEATURE_NAMES: tuple[str, ...] = (
    *(f"op_{dtype}_{kind}" for dtype in _DTYPES for kind in (*PLAIN_KINDS, "special")),
    *(
        f"global_{direction}_{bits}_{stride}"
        for direction in ("load", "store", "minloadstore")
        for bits in ACCESS_BITS
        for stride in STRIDE_CLASSES
    ),
    *(f"local_{direction}_{bits}" for direction in ("load", "store") for bits in ACCESS_BITS),
    "barrier_local", "work_groups", "launches",
)  # fmt: skip
"""Features of the common types. (Other types, such as uint16, have names too.)"""


@dataclass(frozen=True)
class Feature:
    """One number that a model may charge for."""

    name: str  # an identifier, as ``global_load_32_stride1``
    unit: str  # the thing counted, as ``access``; a weight then has the unit ``s/access``
    definition: str  # what is counted, in words


def feature(name: str) -> Feature:
    """Return the feature of that name.

    Raises
    ------
    UnknownFeatureError
        If no feature has that name.

    Examples
    --------
    >>> feature("op_float32_add").unit
    'operation'
    >>> feature("global_load_32_stride2_1of2").definition
    '32-bit global loads of stride class stride2_1of2, summed over all work-items'
    """
    for pattern, unit, definition in _GRAMMAR:
        match = pattern.fullmatch(name)
        if match is not None:
            return Feature(name, unit, definition.format(**match.groupdict()))
    raise UnknownFeatureError(name)


def unit(name: str) -> str:
    """Return the unit of a feature; raises as :func:`feature` does.

    Examples
    --------
    >>> unit("barrier_local")
    'barrier'
    """
    return feature(name).unit


def operation_feature(dtype: str, kind: str) -> str:
    """Return the name of the feature that an operation counts towards.

    Examples
    --------
    >>> operation_feature("float32", "add"), operation_feature("float64", "rsqrt")
    ('op_float32_add', 'op_float64_special')
    """
    return f"op_{dtype}_{kind if kind in PLAIN_KINDS else 'special'}"


@lru_cache(maxsize=4096)
def matches(patterns: tuple[str, ...], name: str) -> bool:
    """Return whether a feature's name fits one of the patterns, written as for file names.

    Examples
    --------
    >>> matches(("op_float*_add", "launches"), "op_float64_add")
    True
    """
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def nearest_names(name: str, others: Collection[str] = ()) -> list[str]:
    """Return up to three features, or names of `others`, that look most like a name; the nearest first.

    Examples
    --------
    >>> nearest_names("launchs")
    ['launches']
    """
    return get_close_matches(name, [*others, *FEATURE_NAMES], 3)
