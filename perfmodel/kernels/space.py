"""Spaces of transformations: a function that builds a kernel, and the values of its parameters."""

import inspect
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import Any

import numpy as np
from loopy import TranslationUnit
from numpy.typing import NDArray

from perfmodel.errors import TuningError
from perfmodel.values import FrozenValue

Configuration = dict[str, Any]
Check = Callable[[Configuration], bool]

MOST = 10**7  # configurations of a space before restrictions: about ten seconds
MOST_KEPT = 10**6  # configurations that satisfy all restrictions: a gigabyte of memory


@dataclass(frozen=True, eq=False)
class Space(FrozenValue):
    """All variants of a kernel that a function builds from parameters.

    Raise a TuningError if the name of a parameter is not a string, or if a parameter has no values or one value twice.
    The same error is raised if there are more than :data:`MOST` configurations, or if no configuration satisfies all
    restrictions. A restriction must know its parameters and return true or false.

    >>> space = Space(build=print, values={"tile": (8, 16), "unroll": (1, 16)},
    ...               restrictions=[lambda tile, unroll: unroll <= tile])
    >>> list(space.variants)
    ['tile=8 unroll=1', 'tile=16 unroll=1', 'tile=16 unroll=16']
    """

    build: Callable[..., TranslationUnit]  #: takes the parameters by name
    values: Mapping[str, Sequence[Any]]  #: the values of each parameter
    #: Functions that take some of the parameters by their names, or one argument of another name: the whole
    #: configuration as a dict. A configuration is left out where one returns false.
    restrictions: Iterable[Callable[..., bool]] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", _checked_values(self.values))
        object.__setattr__(self, "restrictions", tuple(self.restrictions))
        if not self.configurations:
            raise TuningError("no configuration satisfies all restrictions", "check them, or give more values")
        if len(self.configurations) > MOST_KEPT:
            raise TuningError(f"more than {MOST_KEPT} configurations satisfy all restrictions", "restrict them more")

    @cached_property
    def configurations(self) -> tuple[Configuration, ...]:
        """The configurations that satisfy all restrictions. The last parameter varies fastest."""
        checks, known = defaultdict[int, list[Check]](list), 0
        for restriction in self.restrictions:
            check, taken = self._check(restriction)
            known = max(known, *map([*self.values].index, taken))
            checks[known].append(check)
        allowed: Iterable[Configuration] = [{}]
        for position, (name, values) in enumerate(self.values.items()):
            allowed = _extended(allowed, name, values, checks[position])
        return tuple(islice(allowed, MOST_KEPT + 1))

    @cached_property
    def variants(self) -> dict[str, Callable[[], TranslationUnit]]:
        """The functions that build the variants, by variant name. Names leave out parameters that have one value."""
        builders: dict[str, Callable[[], TranslationUnit]] = {}
        for configuration in self.configurations:
            if (name := self.name_of(configuration)) in builders:
                raise TuningError(f"two configurations are named '{name}'", "give values that look different as text")
            builders[name] = partial(self.build, **configuration)
        return builders

    def name_of(self, configuration: Mapping[str, Any]) -> str:
        """Return the variant name of a configuration, such as ``tile=8 prefetch=True``."""
        several = [name for name, values in self.values.items() if len(values) > 1] or list(self.values)
        return " ".join(f"{name}={configuration[name]}" for name in several)

    @cached_property
    def coordinates(self) -> NDArray[np.float64]:
        """The position of each variant in the space, shape (n_variants, n_coordinates), with distances of at most 1.

        A number's coordinate is its rank, scaled to [0, 1]. Other values have the distance 1 from each other.
        """
        columns: list[list[float]] = []
        for name, values in self.values.items():
            if all(isinstance(value, int | float) for value in values):
                ordered, last = sorted(values), max(len(values) - 1, 1)
                columns.append([ordered.index(configuration[name]) / last for configuration in self.configurations])
            else:
                taken = [configuration[name] for configuration in self.configurations]
                columns += [[float(one == value) / np.sqrt(2) for one in taken] for value in values]
        return np.asarray(np.array(columns).T / np.sqrt(max(len(self.values), 1)))

    def _check(self, restriction: Callable[..., bool]) -> tuple[Check, tuple[str, ...]]:
        try:
            parameters = inspect.signature(restriction).parameters
        except (TypeError, ValueError) as error:
            raise TuningError(f"a restriction cannot be called ({error})", "give a function of parameters") from error
        kinds = {given.kind for given in parameters.values()}
        names = tuple(parameters)
        if kinds == {inspect.Parameter.VAR_KEYWORD}:
            return lambda given: _truth(restriction(**given), given), tuple(self.values)
        if len(names) == 1 and names[0] not in self.values:
            return lambda given: _truth(restriction(given), given), tuple(self.values)
        for name in names:
            if name not in self.values:
                advice = f"the parameters are {', '.join(self.values)}"
                raise TuningError(f"a restriction takes '{name}', which is not a parameter", advice)
        return lambda given: _truth(restriction(**{name: given[name] for name in names}), given), names


def _extended(
    configurations: Iterable[Configuration], name: str, values: Sequence[Any], checks: Sequence[Check]
) -> Iterator[Configuration]:
    for configuration in configurations:
        for value in values:
            extended = {**configuration, name: value}
            if all(check(extended) for check in checks):
                yield extended


def _checked_values(given: Mapping[Any, Any]) -> dict[str, tuple[Any, ...]]:
    for name, values in given.items():
        if not isinstance(name, str):
            raise TuningError(f"a parameter's name is {name!r}, not a string", "give names such as 'tile'")
        if not isinstance(values, Collection) or isinstance(values, str | bytes | Mapping):
            kind = type(values).__name__
            raise TuningError(f"the values of parameter '{name}' are of type {kind}", "give a tuple, a list or a range")
    counts = {name: len(values) for name, values in given.items()}
    for name, count in counts.items():
        if not count:
            raise TuningError(f"parameter '{name}' has no values", "give at least one")
    if math.prod(counts.values()) > MOST:
        product = " * ".join(f"{count} of {name}" for name, count in counts.items())
        raise TuningError(f"the space has more than {MOST} configurations ({product} values)", "give fewer values")
    tuples = {name: tuple(values) for name, values in given.items()}
    for name, values in tuples.items():
        if (twice := _twice(values)) is not None:
            raise TuningError(f"parameter '{name}' has the value {twice[0]!r} twice", "give each value once")
    return tuples


def _twice(values: Sequence[Any]) -> tuple[Any] | None:
    try:
        count = Counter(values)
        return next(((value,) for value in values if count[value] > 1), None)
    except TypeError:  # lists are values too
        return next(((value,) for value in values if values.count(value) > 1), None)


def _truth(answer: object, configuration: Configuration) -> bool:
    if isinstance(answer, bool | np.bool_ | int | np.integer):
        return bool(answer)
    given = " ".join(f"{name}={value!r}" for name, value in configuration.items())
    kind = "None" if answer is None else f"an object of type {type(answer).__name__}"
    raise TuningError(f"a restriction returned {kind} for {given}", "return True or False, as with all() of an array")
