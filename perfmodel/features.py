r"""Features: numbers for one kernel at given sizes, each with a name, a unit and a definition.

A *feature* is a sum of counts. The counts are found once for each kernel. Only accesses whose stride class depends on
the sizes are classified at each evaluation.

The class depends on the lane stride :math:`s` in units of the access size, on :math:`m = \min(s, 4)`, and on the
utilisation :math:`u = |F| / |F_{filled}|`: distinct cells accessed, over the same cells plus the gaps of the stride.
The class is

- ``uniform`` for :math:`s = 0` and ``stride1`` for :math:`s = 1`, whatever :math:`u` is;
- ``stride<s>_<q>of<m>``, or ``strideN_<q>of4`` for :math:`s > 4`, with :math:`q = \lceil u m \rceil` clipped to
  :math:`1 \ldots m`.

F is the set of cells that the loads, or the stores, of an array access. With :class:`Classes` a family may choose to
take loads and stores together, and to have classes for local memory.

Source: Stevens and Klöckner, *A Unified, Hardware-Fitted, Cross-GPU Performance Model*, sections 2.1, 3.2 and 6.2.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import lru_cache
from math import ceil, gcd
from types import MappingProxyType
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np

from perfmodel.counts import AccessCount, Count, KernelCounts
from perfmodel.counts.points.cardinality import Number
from perfmodel.counts.quasipoly.arguments import check_exact, size_error
from perfmodel.counts.quasipoly.distinct import DistinctCounts, JointCounts
from perfmodel.errors import SizeError, UnknownNameError

__all__ = ["FEATURE_NAMES", "Classes", "Values", "evaluate", "matches", "stride_class", "total", "unit"]
ACCESS_BITS = (8, 16, 32, 64, 128)  # sizes of a memory access
# Kinds of operation with their own feature; every other kind is ``special``.
PLAIN_KINDS = ("add", "mul", "div", "pow", "minmax", "shift", "bitwise", "compare", "select")
GLOBAL = ("global", "constant")  # spaces of global accesses
STRIDE_CLASSES = (
    "uniform", "stride1", *(f"stride{s}_{q}of{s}" for s in (2, 3, 4) for q in range(1, s + 1)),
    *(f"strideN_{q}of4" for q in range(1, 5)), "indirect",  # indirect: the address depends on data
)  # fmt: skip
MOST_BANKS = 32
# Classes of a local access: its stride, or the largest power of two up to 32 that divides it.
LOCAL_CLASSES = ("uniform", *(f"stride{2**power}" for power in range(6)), "varying", "indirect")

_STRIDE_CLASS = "|".join(STRIDE_CLASSES)
_LOCAL_CLASS = "|".join(LOCAL_CLASSES)
_BITS = "|".join(str(bits) for bits in ACCESS_BITS)
_KINDS = "|".join((*PLAIN_KINDS, "special"))

_UNITS = tuple((re.compile(pattern), unit) for pattern, unit in (
    (rf"op_[a-z]+[0-9]*_({_KINDS})", "operation"),
    (rf"global_(load|store|minloadstore)_({_BITS})_({_STRIDE_CLASS})", "access"),
    (rf"local_(load|store)_({_BITS})(_({_LOCAL_CLASS}))?", "access"), ("barrier_local", "barrier"),
    ("work_groups", "work-group"), ("launches", "launch"),
))  # fmt: skip
_DTYPES = ("float32", "float64", "float16", "complex64", "complex128", "int32", "int64")
FEATURE_NAMES: tuple[str, ...] = (
    *(f"op_{dtype}_{kind}" for dtype in _DTYPES for kind in (*PLAIN_KINDS, "special")),
    *(
        f"global_{direction}_{bits}_{stride}"
        for direction in ("load", "store", "minloadstore") for bits in ACCESS_BITS for stride in STRIDE_CLASSES
    ),
    *(
        f"local_{direction}_{bits}{end}"
        for direction in ("load", "store") for bits in ACCESS_BITS for end in ("", *(f"_{c}" for c in LOCAL_CLASSES))
    ),
    "barrier_local", "work_groups", "launches",
)  # fmt: skip
"""Features of the common types. (Other types, such as uint16, have features too.)"""


def unit(name: str) -> str:
    """Return the unit of a feature. Raise an UnknownNameError for an unknown feature."""
    for pattern, found in _UNITS:
        if pattern.fullmatch(name):
            return found
    raise UnknownNameError(
        f"there is no feature '{name}'",
        "names are like op_float32_add, global_load_32_stride1, local_load_32, barrier_local, work_groups, launches",
    )


HOST_LAUNCH = "host_launch"  #: Term of a prediction by which the host's clock exceeds the device's; not a feature

RATES_OF_FEATURES: Mapping[str, str] = MappingProxyType({
    "op_*_special": "lane_cycle", "op_float32_*": "single_operation", "op_float64_*": "double_operation",
    "op_*": "lane_cycle", "global_*": "memory_byte", "local_*": "lane_cycle", "barrier_*": "lane_cycle",
    "work_groups": "unit_cycle", "launches": "launch",
})  # fmt: skip
"""The rate (``predicting.transfer.RATES``) by which a feature's cost differs between devices; the first matching
pattern counts."""


def rate(name: str) -> str:
    """Return the rate with which a feature's cost is transferred to another device, by name, or "" if unknown."""
    return next((rate for pattern, rate in RATES_OF_FEATURES.items() if matches((pattern,), name)), "")


def operation_feature(dtype: str, kind: str) -> str:
    """Return the name of an operation's feature, as ``op_float64_special`` for ``rsqrt``."""
    return f"op_{dtype}_{kind if kind in PLAIN_KINDS else 'special'}"


@lru_cache(maxsize=4096)
def matches(patterns: tuple[str, ...], name: str) -> bool:
    """Whether a feature's name matches one of the patterns, which are written as for file names."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def nearest_names(name: str, others: Collection[str] = ()) -> list[str]:
    """Return up to three features, or names of `others`, that are most similar to a name, nearest first."""
    return get_close_matches(name, [*others, *FEATURE_NAMES], 3)


Values = Mapping[str, Any]  #: Feature name to a float, or to a float64 array of the sizes' shape

def stride_class(stride: Number | float, footprint: Number | float = 1, filled: Number | float = 1) -> str:
    """Return the stride class of one access at one size.

    `stride` is the distance between the addresses of neighbouring lanes, in units of the access size. `footprint` is
    the number of distinct cells that are accessed. `filled` also counts the cells in the gaps that the stride leaves.

    >>> stride_class(0), stride_class(1), stride_class(1024, 10, 30)
    ('uniform', 'stride1', 'strideN_2of4')
    """
    if stride == 0:
        return "uniform"
    if stride <= 1:
        return "stride1"
    slots = min(-int(-stride // 1), 4)
    q = -int(-footprint * slots // filled) if filled else 1
    return f"stride{slots if stride <= 4 else 'N'}_{min(max(q, 1), slots)}of{slots}"


stride_classes = np.vectorize(stride_class, otypes=[object])


@dataclass(frozen=True)
class UnclassifiedAccess:
    """A global access whose stride class depends on the sizes."""

    prefix: str  # its feature's name up to the class, as ``global_load_32_``
    count: int  # this and the next three: positions in :attr:`FeatureSources.counts`
    stride: int
    footprint: int
    filled: int


@dataclass(frozen=True)
class FeatureSources:
    """The counts of a kernel, each with the name of its feature."""

    counts: JointCounts  # each is evaluated once
    sums: tuple[tuple[str, tuple[int, ...]], ...]  # a feature, and the positions of its counts
    unclassified: tuple[UnclassifiedAccess, ...]  # classified at each size, and not in sums


@dataclass(frozen=True)
class Classes:
    """Options of the classes of accesses.

    `utilization` selects the accesses that determine the utilisation of an array. With ``direction``, loads count for
    loads and stores for stores. With ``array``, loads and stores count together (Algorithm 2 of the paper). If
    `local_strides` is true, accesses to local memory have classes, as ``local_load_32_stride2`` (section 6.2). If a
    power of two divides the stride, the lanes use fewer banks by this factor.
    """

    utilization: Literal["direction", "array"] = "direction"
    local_strides: bool = False


PLAIN = Classes()


def find_sources(counts: KernelCounts, classes: Classes = PLAIN) -> FeatureSources:
    """Return the counts from which a kernel's features are computed."""
    position = DistinctCounts()
    sums: dict[str, list[int]] = {}
    varying: list[AccessCount] = []

    def add(name: str, count: Count) -> None:
        sums.setdefault(name, []).append(position(count))

    for operation in counts.operation_table:
        add(operation_feature(operation.dtype, operation.kind), operation.count)
    for row in counts.access_table:
        if row.space == "local":
            add(f"local_{row.direction}_{row.bits}{f'_{_class(row)}' if classes.local_strides else ''}", row.count)
        elif row.space in GLOBAL and (settled := _class(row)) is not None:
            add(f"global_{row.direction}_{row.bits}_{settled}", row.count)
        elif row.space in GLOBAL:
            varying.append(row)
    add("barrier_local", counts.barriers(scope="local"))
    add("work_groups", counts.work_groups())
    add("launches", counts.launches())
    unclassified = tuple(_unclassified(counts, row, classes, position) for row in varying)
    return FeatureSources(position.joint(), tuple((name, tuple(rows)) for name, rows in sums.items()), unclassified)


def _class(row: AccessCount) -> str | None:
    """Return the class of an access, or None for a global access whose class depends on the sizes."""
    if row.indirect:
        return "indirect"
    try:
        stride = row.stride()
    except SizeError:  # a function of the sizes
        return "varying" if row.space == "local" else None
    if row.space == "local":
        return f"stride{gcd(ceil(stride), MOST_BANKS)}" if stride else "uniform"  # stride2 for a stride of 6
    return stride_class(stride) if stride <= 1 else None


def _unclassified(
    counts: KernelCounts, row: AccessCount, classes: Classes, position: DistinctCounts
) -> UnclassifiedAccess:
    footprint, filled = counts.cells_together(row) if classes.utilization == "array" else (row.footprint, row.filled)
    if footprint is None or filled is None:
        footprint = filled = row.count  # an unknown utilisation counts as full
    return UnclassifiedAccess(
        f"global_{row.direction}_{row.bits}_", *map(position, (row.count, row.stride, footprint, filled))
    )


_known: WeakKeyDictionary[KernelCounts, dict[Classes, FeatureSources]] = WeakKeyDictionary()


def evaluate(counts: KernelCounts, parameters: Mapping[str, Any], classes: Classes = PLAIN) -> Values:
    """Return the values of all features of a kernel at given sizes, zero for features that are not listed.

    `parameters` has an integer for each size parameter, or integer arrays that broadcast. For arrays the values are
    float64 arrays of the broadcast shape. At each size, an access counts in the class that it has there.
    ``global_minloadstore_<class>`` is the smaller of the loads and stores in the class (Stevens and Klöckner, section
    2.1). An unknown utilisation counts as 1.

    Raise a SizeError if a size is missing, unknown, not an integer, negative (unless the kernel allows that), above
    2**53 or outside the type of its argument. Raise an AssumptionError if a size breaks the assumptions of the kernel.
    """
    known = _known.setdefault(counts, {})
    if classes not in known:
        known[classes] = find_sources(counts, classes)
    sources = known[classes]
    _check_names(counts, parameters)
    if any(isinstance(value, np.ndarray | list | tuple) for value in parameters.values()):
        return _at_arrays(sources, parameters)
    return _at_point(sources, parameters)


def total(values: Values, patterns: tuple[str, ...]) -> Any:
    """Return the sum of the features that match one of the patterns."""
    return sum((value for name, value in values.items() if matches(patterns, name)), 0.0)


def _check_names(counts: KernelCounts, parameters: Mapping[str, Any]) -> None:
    allowed = counts.parameters
    known = {*allowed, *counts.offsets, *counts.size_arguments}
    unknown = [name for name in parameters if name not in known]
    for name in allowed:
        if name not in parameters:
            misspelt = f", and '{unknown[0]}' is unknown" if unknown else ""
            raise size_error(name, f"is missing{misspelt}", allowed)
    for name in parameters:
        if name in unknown:
            raise size_error(name, "is unknown", allowed)
        check_exact(name, parameters[name], allowed, counts.types.get(name, "int32"))


def _at_point(sources: FeatureSources, parameters: Mapping[str, Any]) -> dict[str, float]:
    numbers = sources.counts.at(parameters)
    values = {name: float(sum([numbers[position] for position in positions])) for name, positions in sources.sums}
    for access in sources.unclassified:
        name = access.prefix + stride_class(numbers[access.stride], numbers[access.footprint], numbers[access.filled])
        values[name] = values.get(name, 0.0) + float(numbers[access.count])
    return values | {name: min(pair) for name, pair in _loads_and_stores(values)}


def _at_arrays(sources: FeatureSources, parameters: Mapping[str, Any]) -> dict[str, Any]:
    sizes = dict(zip(parameters, np.broadcast_arrays(*parameters.values()), strict=True))
    numbers = [count.evaluate(sizes) for count in sources.counts]
    values: dict[str, Any] = {
        name: np.sum([numbers[position] for position in positions], axis=0) for name, positions in sources.sums
    }
    for access in sources.unclassified:
        classes = stride_classes(numbers[access.stride], numbers[access.footprint], numbers[access.filled])
        for found in np.unique(classes):
            name = access.prefix + found
            values[name] = values.get(name, 0.0) + np.where(classes == found, numbers[access.count], 0.0)
    return values | {name: np.minimum(*pair) for name, pair in _loads_and_stores(values)}


def _loads_and_stores(values: Mapping[str, Any]) -> Iterator[tuple[str, tuple[Any, Any]]]:
    for name, loads in values.items():
        if name.startswith("global_load_") and (store := name.replace("load", "store")) in values:
            yield name.replace("load", "minloadstore"), (loads, values[store])
