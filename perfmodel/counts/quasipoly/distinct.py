"""Distinct counts that one function evaluates together."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any, TypeVar

from perfmodel.counts.points.cardinality import Number
from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.quasipoly.evaluation import together
from perfmodel.values import FrozenValue

Build = Callable[[Sequence[Number | float]], Any]
Amount = TypeVar("Amount", Count, float)  # Count in a tree of counts, float in the same tree at given sizes


class JointCounts(tuple[Count, ...]):
    """Counts that are evaluated at the same sizes."""

    def at(self, sizes: Mapping[str, int]) -> tuple[Number, ...]:
        """Return each count's value at one size, or raise as a Count does. Sizes are checked once for all counts."""
        function, parameters = self._function
        fits = (type(value) is int and (value >= 0 or name in self._signed) for name, value in sizes.items())
        if sizes.keys() >= {*parameters} and all(fits):
            values = function(*[sizes[name] for name in parameters])
            if all(values[len(self):]):
                return tuple([
                    count(**sizes) if count.unexpanded else value for count, value in zip(self, values, strict=False)
                ]) if self._are_unexpanded else values[:len(self)]
        return tuple(count(**sizes) for count in self)  # one count raises the error, or accepts these sizes

    @cached_property
    def _function(self) -> tuple[Callable[..., tuple[Number, ...]], tuple[str, ...]]:
        """The function that returns the values of all counts, then 1 or 0 for the assumptions of each count."""
        return together([*(count.function for count in self), *dict.fromkeys(count.allowed for count in self)])

    @cached_property
    def _signed(self) -> frozenset[str]:
        return frozenset().union(*(count.signed for count in self))

    @cached_property
    def _are_unexpanded(self) -> bool:
        return any(count.unexpanded for count in self)


class DistinctCounts:
    """Assigns a position to each distinct count. Comparing texts is faster than comparing functions with isl."""

    def __init__(self) -> None:
        self.positions: dict[str, tuple[int, Count]] = {}

    def __call__(self, count: Count) -> int:
        return self.positions.setdefault(json.dumps(count.to_json(), sort_keys=True), (len(self.positions), count))[0]

    def joint(self) -> JointCounts:
        return JointCounts(count for _, count in self.positions.values())


@dataclass(frozen=True, eq=False)
class NamedCounts(FrozenValue):
    """A tree of dataclasses, tuples and mappings that contain counts. The tree is evaluated as a whole."""

    tree: Any

    @property
    def counts(self) -> JointCounts:
        """The distinct counts."""
        return self._prepared[0]

    def at(self, sizes: Mapping[str, int]) -> Any:
        """Return the tree with each count replaced by its value as a float."""
        return self.with_values(self.counts.at(sizes))

    def with_values(self, values: Sequence[Number | float]) -> Any:
        """Return the tree with :attr:`counts` replaced by values."""
        build = self._prepared[1]
        return self.tree if build is None else build([float(value) for value in values])

    @cached_property
    def _prepared(self) -> tuple[JointCounts, Build | None]:
        position = DistinctCounts()
        build = _builder(self.tree, position)
        return position.joint(), build


def _builder(tree: Any, position: DistinctCounts) -> Build | None:
    """Return a function that makes the tree from its counts' values, or None if the tree contains no count."""
    if isinstance(tree, Count):
        return itemgetter(position(tree))
    if isinstance(tree, tuple):
        if len(tree) > 1 and all(isinstance(item, Count) for item in tree):
            return itemgetter(*map(position, tree))
        items = [(item, _builder(item, position)) for item in tree]
        if any(build for _, build in items):
            builds = [build or _constant(item) for item, build in items]
            return lambda values: tuple([build(values) for build in builds])
    elif isinstance(tree, Mapping):
        build_values = _builder(tuple(tree.values()), position)
        if build_values is not None:
            return lambda values: dict(zip(tree, build_values(values), strict=True))
    elif is_dataclass(tree):
        return _dataclass_builder(tree, position)
    return None


def _dataclass_builder(tree: Any, position: DistinctCounts) -> Build | None:
    kind, items = type(tree), {field.name: getattr(tree, field.name) for field in fields(tree)}
    builders = {name: _builder(item, position) for name, item in items.items()}
    builds = [(name, build) for name, build in builders.items() if build is not None]

    def build_dataclass(values: Sequence[Number | float]) -> Any:
        value = object.__new__(kind)  # faster than __init__, which sets each frozen field by a call
        content = vars(value)
        content.update(items)
        for name, build in builds:
            content[name] = build(values)
        return value

    return build_dataclass if builds else None


def _constant(item: Any) -> Build:
    return lambda values: item
