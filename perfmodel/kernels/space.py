"""Spaces of transformations: a function that builds a kernel, and the values of its parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from perfmodel.errors import SpaceError
from perfmodel.lazy import Lazy

if TYPE_CHECKING:
    from loopy import TranslationUnit
    from numpy.typing import NDArray

Configuration = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Space(Lazy):
    """All variants of a kernel that a function builds from parameters.

    Parameters
    ----------
    build
        Takes the parameters by name and returns a Loopy ``TranslationUnit``.
    values
        The values of each parameter.
    restrictions
        Functions that take some of the parameters by their names, or one argument of another name: the whole
        configuration as a dict. A configuration is left out where one returns false.

    Raises
    ------
    SpaceError
        If a parameter has no values or one value twice, a restriction takes something that is no parameter, or no
        configuration meets all restrictions.

    Examples
    --------
    >>> space = Space(build=print, values={"tile": (8, 16), "unroll": (1, 16)},
    ...               restrictions=[lambda tile, unroll: unroll <= tile])
    >>> list(space.variants)
    ['tile=8 unroll=1', 'tile=16 unroll=1', 'tile=16 unroll=16']
    """

    build: Callable[..., TranslationUnit]
    values: Mapping[str, Sequence[Any]]
    restrictions: Iterable[Callable[..., bool]] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", {name: tuple(values) for name, values in self.values.items()})
        object.__setattr__(self, "restrictions", tuple(self.restrictions))
        for name, values in self.values.items():
            if not values:
                raise SpaceError(f"parameter '{name}' has no values", "give at least one")
            for value in values:
                if values.count(value) > 1:
                    raise SpaceError(f"parameter '{name}' has the value {value!r} twice", "give each value once")
        if not self.configurations:
            raise SpaceError("no configuration meets all restrictions", "check them, or give more values")

    @cached_property
    def configurations(self) -> tuple[Configuration, ...]:
        """The configurations that meet all restrictions; the last parameter varies first."""
        checks = [self._check(one) for one in self.restrictions]
        every = (dict(zip(self.values, values, strict=True)) for values in product(*self.values.values()))
        return tuple(one for one in every if all(check(one) for check in checks))

    @cached_property
    def variants(self) -> dict[str, Callable[[], TranslationUnit]]:
        """By the name of each variant a function that builds it; names leave out parameters with one value."""
        return {self.name_of(one): partial(self.build, **one) for one in self.configurations}

    def name_of(self, configuration: Mapping[str, Any]) -> str:
        """Return the name of the variant of a configuration, as in ``tile=8 prefetch=True``."""
        several = [name for name, values in self.values.items() if len(values) > 1] or list(self.values)
        return " ".join(f"{name}={configuration[name]}" for name in several)

    @cached_property
    def coordinates(self) -> NDArray[np.float64]:
        """Where each variant stands in the space, shape (n_variants, n_coordinates).

        Numbers stand in their order between 0 and 1, other values at corners that are as far from each other; all is
        divided by the square root of the number of parameters, so that no two variants are further apart than 1.
        """
        columns: list[list[float]] = []
        for name, values in self.values.items():
            if all(isinstance(value, int | float) for value in values):
                ordered, last = sorted(values), max(len(values) - 1, 1)
                columns.append([ordered.index(one[name]) / last for one in self.configurations])
            else:
                columns += [[float(one[name] == value) / np.sqrt(2) for one in self.configurations] for value in values]
        found: NDArray[np.float64] = np.array(columns).T / np.sqrt(max(len(self.values), 1))
        return found

    def _check(self, restriction: Callable[..., bool]) -> Callable[[Configuration], bool]:
        """Return a restriction as a function of a configuration."""
        names = tuple(inspect.signature(restriction).parameters)
        if len(names) == 1 and names[0] not in self.values:
            return restriction
        for name in names:
            if name not in self.values:
                told = ", ".join(self.values)
                raise SpaceError(f"a restriction takes '{name}', which is no parameter", f"the parameters are {told}")
        return lambda one: restriction(**{name: one[name] for name in names})

