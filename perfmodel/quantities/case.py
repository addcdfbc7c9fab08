"""One kernel at given sizes on a device, from which the quantities of models are computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from perfmodel import features
from perfmodel.errors import MissingFactError
from perfmodel.lazy import Lazy, cached_property

if TYPE_CHECKING:
    from perfmodel.counts import Count, KernelCounts
    from perfmodel.counts.flow.paths import Parallelism
    from perfmodel.facts import DeviceFacts
    from perfmodel.features import Values


@dataclass(frozen=True, eq=False)
class Case(Lazy):
    """A counted kernel at given sizes on a device."""

    counts: KernelCounts
    parameters: Mapping[str, Any]  # integers, or integer arrays, which are broadcast to the *sizes' shape*
    facts: DeviceFacts | None = None  # what is known of the device
    family: str = ""  # the model that needs the quantities, for messages

    @cached_property
    def features(self) -> Values:
        """Values of all features that are not zero (:func:`perfmodel.features.evaluate`)."""
        return features.evaluate(self.counts, self.parameters)

    def total(self, *patterns: str) -> Any:
        """Return the sum of the features that match a pattern, as for file names.

        Examples
        --------
        ``case.total("op_float*")`` are all floating-point operations.
        """
        return features.total(self.features, patterns)

    def sum(self, *counts: Count) -> Any:
        """Return the sum of counts at the sizes; zero of none."""
        return sum((self.value(count) for count in counts), 0.0)

    def value(self, count: Count | Parallelism) -> Any:
        """Return a count, or a ratio of two, at the sizes: a float, or a float64 array of the sizes' shape."""
        if any(isinstance(size, np.ndarray | list | tuple) for size in self.parameters.values()):
            sizes = {name: np.asarray(size) for name, size in self.parameters.items()}
            shape = np.broadcast_shapes(*(size.shape for size in sizes.values()))
            return np.broadcast_to(count.evaluate(sizes), shape)
        return float(count(**self.parameters))

    def fact(self, key: str) -> Any:
        """Return a fact of the device.

        Raises
        ------
        MissingFactError
            If it is not known; the message says which family needs it and where to put it.
        """
        if not self.knows(key):
            device = "" if self.facts is None else self.facts.name
            raise MissingFactError(key, self.family, device)
        return self.known(key)

    def knows(self, *keys: str) -> bool:
        """Return whether all these facts of the device are known."""
        return self.facts is not None and all(key in self.facts for key in keys)

    def known(self, key: str, otherwise: Any = None) -> Any:
        """Return a fact of the device, or `otherwise` where it is not known."""
        return self.facts.value(key) if self.facts is not None and key in self.facts else otherwise
