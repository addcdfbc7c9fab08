"""A kernel's feature values at given sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from perfmodel.counts.quasipoly.arguments import check_exact, check_range
from perfmodel.errors import ParameterError
from perfmodel.features.names import FEATURE_NAMES, matches
from perfmodel.features.sources import FeatureSources, find_sources
from perfmodel.features.stride import CLASS_NAMES, class_code, class_codes

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts

Values = Mapping[str, Any]
"""Feature name to a float, or to a float64 array of the sizes' shape."""

_known: WeakKeyDictionary[KernelCounts, FeatureSources] = WeakKeyDictionary()

# load feature -> (store feature, the smaller of the two)
_PARTNERS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        name: (name.replace("load", "store"), name.replace("load", "minloadstore"))
        for name in FEATURE_NAMES
        if name.startswith("global_load_")
    }
)


def sources_of(counts: KernelCounts) -> FeatureSources:
    """Return the counts that the features of a kernel are made of; they are kept as long as the kernel's counts."""
    found = _known.get(counts)
    if found is None:
        found = _known[counts] = find_sources(counts)
    return found


def evaluate(counts: KernelCounts, parameters: Mapping[str, Any]) -> Values:
    """Return the values of all features of a kernel at given sizes.

    Parameters
    ----------
    counts
        The counted kernel.
    parameters
        Every size parameter of the kernel with an integer, or with an integer array; arrays are
        broadcast against each other, to the *sizes' shape*. Offsets of arrays may be given, but no feature
        depends on them.

    Returns
    -------
    Mapping
        Feature name to its value in :func:`~perfmodel.features.unit` units: a float where all
        parameters are integers, else a float64 array of the sizes' shape. A feature that is not
        listed is zero at all sizes.

        The count of an access goes to the class that the access has at each size, by its stride and
        utilisation, and ``global_minloadstore_<class>`` is the smaller of the loads and
        the stores in the class (Stevens and Klöckner, section 2.1). Where the counts do not know
        the utilisation it is taken to be full.

    Raises
    ------
    ParameterError
        If a size parameter is left out, is unknown to the kernel, is not a non-negative integer, or is too large to
        be exact as a double (above 2**53).
    SizeRangeError
        If a size is larger than the type of the kernel's argument holds.
    AssumptionError
        If a size breaks the kernel's assumptions.
    """
    sources = sources_of(counts)
    _check_names(counts, parameters)
    if any(isinstance(value, np.ndarray | list | tuple) for value in parameters.values()):
        return _at_arrays(sources, parameters)
    return _at_point(sources, parameters)


def total(values: Values, patterns: tuple[str, ...]) -> Any:
    """Return the sum of the features that fit one of the patterns; zero of none.

    Examples
    --------
    >>> total({"op_float32_add": 2.0, "op_float32_mul": 3.0, "launches": 1.0}, ("op_float*",))
    5.0
    """
    return sum((value for name, value in values.items() if matches(patterns, name)), 0.0)


def _check_names(counts: KernelCounts, parameters: Mapping[str, Any]) -> None:
    allowed = counts.parameters
    for name in allowed:
        if name not in parameters:
            raise ParameterError(name, "is missing", allowed)
    for name in parameters:
        if name not in allowed and name not in counts.offsets:
            raise ParameterError(name, "is unknown", allowed)
        check_exact(name, parameters[name], allowed)
        check_range(name, parameters[name], allowed, counts.types.get(name, "int32"))


def _at_point(sources: FeatureSources, parameters: Mapping[str, Any]) -> dict[str, float]:
    numbers = sources.counts.at(parameters)
    values = {name: float(sum([numbers[place] for place in places])) for name, places in sources.sums}
    for access in sources.unclassified:
        code = class_code(numbers[access.stride], numbers[access.footprint], numbers[access.filled])
        name = access.prefix + CLASS_NAMES[code]
        values[name] = values.get(name, 0.0) + float(numbers[access.count])
    for load, (store, both) in _partners(values):
        values[both] = min(values[load], values[store])
    return values


def _at_arrays(sources: FeatureSources, parameters: Mapping[str, Any]) -> dict[str, Any]:
    sizes = {name: np.asarray(value) for name, value in parameters.items()}
    shape = np.broadcast_shapes(*(size.shape for size in sizes.values()))
    sizes = {name: np.broadcast_to(size, shape) for name, size in sizes.items()}
    numbers = [np.broadcast_to(count.evaluate(sizes), shape) for count in sources.counts]
    values: dict[str, Any] = {
        name: np.sum([numbers[place] for place in places], axis=0) for name, places in sources.sums
    }
    for access in sources.unclassified:
        codes = class_codes(numbers[access.stride], numbers[access.footprint], numbers[access.filled])
        for code in np.unique(codes):
            name = access.prefix + CLASS_NAMES[int(code)]
            here = np.where(codes == code, numbers[access.count], 0.0)
            values[name] = values.get(name, 0.0) + here
    for load, (store, both) in _partners(values):
        values[both] = np.minimum(values[load], values[store])
    return values


def _partners(values: Iterable[str]) -> list[tuple[str, tuple[str, str]]]:
    return [(name, _PARTNERS[name]) for name in values if name in _PARTNERS and _PARTNERS[name][0] in values]
