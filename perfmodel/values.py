"""Frozen values that can be copied and pickled, with cached results, and values in groups."""

import copyreg
from collections.abc import Callable, Hashable, Iterable
from functools import cached_property, wraps
from types import MappingProxyType
from typing import Any, Concatenate, ParamSpec, TypeVar

Value = TypeVar("Value", bound="FrozenValue")
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Key = TypeVar("Key", bound=Hashable)
UNKNOWN: Any = object()


class FrozenValue:
    """Base of frozen dataclasses and other values. Copies and pickles leave out cached results, such as functions."""

    def __getstate__(self) -> dict[str, Any]:
        kind = type(self)
        cached = {name for name in vars(self) if isinstance(getattr(kind, name, None), cached_property)}
        return {name: value for name, value in vars(self).items() if name not in cached}

    @cached_property
    def _results(self) -> dict[Any, Any]:
        return {}


def cached_method(
    method: Callable[Concatenate[Value, Arguments], Result]
) -> Callable[Concatenate[Value, Arguments], Result]:
    """Cache the results of a method of a frozen value by its arguments, as long as the value exists.

    A function whose first argument is a frozen value is like a method.
    """

    @wraps(method)
    def cached(self: Value, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        key = (method, args, *sorted(kwargs.items())) if kwargs else (method, args)
        try:
            result: Result = self._results.get(key, UNKNOWN)
        except TypeError:  # the method refuses such arguments
            return method(self, *args, **kwargs)
        if result is UNKNOWN:
            result = self._results[key] = method(self, *args, **kwargs)
        return result

    return cached  # type: ignore[return-value]  # self has a name in mypy's type of a method


def grouped(pairs: Iterable[tuple[Key, Result]]) -> dict[Key, list[Result]]:
    """Return the values of each key, keys and values in the order of the pairs."""
    found: dict[Key, list[Result]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


def _read_only(content: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(content)


# Python neither pickles nor copies read-only mappings.
copyreg.pickle(MappingProxyType, lambda mapping: (_read_only, (dict(mapping),)))
