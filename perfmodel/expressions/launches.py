"""Expressions for one launch, summed over all launches. Names of quantities of launch 2 end with ``@2``, and so on."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from perfmodel.expressions.expression import Expression

MARK = "@"


def in_launch(name: str, number: int) -> str:
    """Return the name of a quantity in a launch. Launches are numbered from 1."""
    return name if number == 1 else f"{name}{MARK}{number}"


def quantity_of(name: str) -> str:
    """Return a quantity's name without its launch."""
    return name.partition(MARK)[0]


def each_launch(names: Collection[str], values: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the values for each launch, under names without ``@k``. Later launches have only those of `names`."""
    yield values
    for number in count(2):
        of_launch = {name: values[there] for name in names if (there := in_launch(name, number)) in values}
        if not of_launch:
            return
        yield of_launch


@dataclass(frozen=True)
class LaunchSum(Expression):
    """The sum of an expression over launches. A launch after the first is skipped for a row with only zeros in it."""

    one: Expression

    @classmethod
    def of(cls, one: Expression, names: Collection[str]) -> Expression:
        """Return the sum of `one` over the launches in `names`. If there is only one launch, return `one` itself."""
        most = max((int(name.partition(MARK)[2] or 1) for name in names), default=1)
        if most == 1:
            return one
        features = tuple(in_launch(name, k) for k in range(1, most + 1) for name in one.features)
        own = {part.name: getattr(one, part.name) for part in fields(one)}
        return cls(**{**own, "features": features, "one": one})

    def value(self, features: Mapping[str, Any], weights: Sequence[float] | npt.NDArray[np.float64]) -> Any:
        """Return the values of rows, shape (n_rows,), from columns of that shape."""
        total = np.array(self.one.value(features, weights), dtype=np.float64)
        for rows, columns in self._later(features):
            total[rows] += self.one.value(columns, weights)
        return total

    def jacobian(
        self, features: Mapping[str, Any], weights: Sequence[float] | npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        """Return the derivatives by the weights, shape (n_rows, n_weights), from columns of shape (n_rows,)."""
        total = self.one.jacobian(features, weights)
        for rows, columns in self._later(features):
            total[rows] += self.one.jacobian(columns, weights)
        return total

    def _later(self, features: Mapping[str, Any]) -> Iterator[tuple[npt.NDArray[np.int64], dict[str, Any]]]:
        """Yield for each launch after the first the rows of kernels with this launch, and the columns of these rows."""
        _, *later = each_launch(self.one.features, features)
        for columns in later:
            rows = np.flatnonzero(np.any([column != 0 for column in columns.values()], axis=0))
            yield rows, {name: column[rows] for name, column in columns.items()}
