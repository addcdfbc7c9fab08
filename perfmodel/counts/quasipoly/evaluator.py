"""Values of a count at sizes that its assumptions allow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import islpy as isl
import numpy as np
from numpy.typing import ArrayLike, NDArray

from perfmodel.counts.quasipoly.arguments import whole, whole_array
from perfmodel.counts.quasipoly.evaluation import QuasiPolynomial, evaluated
from perfmodel.errors import AssumptionError, ParameterError


@dataclass(frozen=True)
class Evaluator:
    """Evaluates a function where its assumptions hold.

    Attributes
    ----------
    function : QuasiPolynomial
        What is evaluated.
    allowed : QuasiPolynomial
        The indicator of the assumptions.
    assumptions : islpy.Set
        The assumptions, for messages.
    """

    function: QuasiPolynomial
    allowed: QuasiPolynomial
    assumptions: isl.Set

    def at(self, sizes: Mapping[str, int]) -> int | Fraction:
        """Return the exact value at one size; errors as those of ``Count.__call__``."""
        try:
            point = [sizes[name] for name in self.function.parameters]
            context = [sizes[name] for name in self.allowed.parameters]
        except KeyError as missing:
            raise self._missing(missing.args[0]) from None
        for name, value in sizes.items():
            if type(value) is not int or value < 0:
                return self.at({**sizes, name: whole(name, value, self._parameters)})
        if not self.allowed.holds(*context):
            values = dict(zip(self.allowed.parameters, context, strict=True))
            raise AssumptionError(str(self.assumptions), values)
        return self.function.exact(*point)

    def at_arrays(self, sizes: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """Return the values at arrays of sizes, broadcast together."""
        arrays = {}
        for name in self._names:
            if name not in sizes:
                raise self._missing(name)
            arrays[name] = whole_array(name, sizes[name], self._parameters)
        shape = np.broadcast_shapes(*(np.shape(value) for value in sizes.values()))
        flat = {name: np.ravel(np.broadcast_to(array, shape)) for name, array in arrays.items()}
        number = int(np.prod(shape, dtype=np.int64))
        allowed = evaluated(self.allowed, [flat[name] for name in self.allowed.parameters], number)
        if not allowed.all():
            broken = tuple(np.flatnonzero(allowed != 1).tolist())
            values = {name: int(flat[name][broken[0]]) for name in self.allowed.parameters}
            raise AssumptionError(str(self.assumptions), values, broken)
        return evaluated(self.function, [flat[name] for name in self.function.parameters], number).reshape(shape)

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.function.parameters, *self.allowed.parameters)))

    @property
    def _parameters(self) -> tuple[str, ...]:
        return tuple(sorted(self.function.parameters))

    def _missing(self, name: str) -> ParameterError:
        return ParameterError(name, "was left out", self._names)
