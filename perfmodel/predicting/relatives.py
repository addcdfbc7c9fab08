r"""The cost of a quantity that was never measured on a device, from the cost of a relative, with its uncertainty.

On device d the weights of a quantity a and of a relative b (:mod:`perfmodel.quantities.relatives`) have the ratio
:math:`r_d = \log(w_a/w_b)`. ``relatives.json`` holds the weights of devices of one type that a fit determined
(``scripts/redraw relatives`` writes it). Of n devices with both, the ratio on another device has Student's distribution
with :math:`\nu = \nu_0 + n - 1` degrees of freedom, the mean :math:`\bar r` and the scale

.. math:: s \sqrt{1 + 1/n}, \qquad s^2 = \frac{\nu_0 s_0^2 + \sum_d (r_d - \bar r)^2}{\nu}

where :math:`s_0^2` is the variance of the ratios of all pairs in the group of the two, each pair around its own mean,
which counts as :math:`\nu_0` devices. Where only devices of the other type have both, the variance between the types is
added: the mean square of the differences of a pair's means. Where no device has both, the mean is 0, and the variance
is :math:`s_0^2` plus the mean square of the mean ratios of the group, or of pairs that differ only in the width of
their types. Of the relatives in the nearest group the one with the
narrowest distribution counts.

Source: the predictive distribution of a normal sample with a scaled inverse chi-squared prior of the variance: A.
Gelman et al., *Bayesian Data Analysis*, third edition, 2013, sections 2.6 and 3.2.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import TypeAlias

from perfmodel.documents import read_file, value_of
from perfmodel.features import matches
from perfmodel.fitting.weights_file import FittedWeight
from perfmodel.quantities.relatives import GROUPS, are_related, groups_of, relatives_of
from perfmodel.values import FrozenValue

RELATIVES_FILE = Path(__file__).with_name("relatives.json")
PRIOR = 3.0
"""Devices that the scatter of all pairs counts as."""
LEAST_SCATTER = 0.15
"""Least scale of a logarithm of a ratio: weights are not known better."""
USELESS = frozenset({"undetermined", "barely", "at bound"})
"""Marks of weights that say nothing of a ratio."""

Weights: TypeAlias = Mapping[str, float]
Group: TypeAlias = tuple[str, ...]
Pair: TypeAlias = tuple[str, str]


def known_weights(weights: Mapping[str, FittedWeight]) -> dict[str, float]:
    """Return the weights that a fit determined, by their quantities: without ``w_``, above zero."""
    return {
        name.removeprefix("w_"): weight.value
        for name, weight in weights.items() if weight.unit and weight.value > 0 and not USELESS & {*weight.marks}
    }  # fmt: skip


@cache
def student_deviation(freedom: int, level: float) -> float:
    """Return the t with P(|T| <= t) = level for Student's distribution with whole degrees of freedom.

    With theta = atan(t / sqrt(freedom)) the probability is a finite sum (M. Abramowitz, I. Stegun, *Handbook of
    Mathematical Functions*, 26.7.3 and 26.7.4). SciPy's function would add its import to the start of a command.

    Examples
    --------
    >>> round(student_deviation(3, 0.9), 4), round(student_deviation(4, 0.9), 4)
    (2.3534, 2.1318)
    """
    odd = freedom % 2
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        theta = (low + high) / 2
        cosine = math.cos(theta)
        term, total = (cosine, 0.0) if odd else (1.0, 0.0)
        for k in range(1 + odd, freedom, 2):
            total += term
            term *= cosine**2 * k / (k + 1)
        inside = math.sin(theta) * total
        inside = (theta + inside) * 2 / math.pi if odd else inside
        low, high = (theta, high) if inside < level else (low, theta)
    return math.sqrt(freedom) * math.tan(low)


@dataclass(frozen=True)
class Ratio:
    """A relative, the mean logarithm of the ratio to it, the scale and the degrees of freedom of its distribution.

    `devices` have both quantities.
    """

    relative: str
    mean: float
    scale: float
    freedom: float
    devices: int = 0

    def spread(self, level: float) -> float:
        """Return how far the logarithm of the ratio may be off at a level."""
        return self.scale * student_deviation(round(self.freedom), level)


@dataclass(frozen=True, eq=False)
class Ratios(FrozenValue):
    """Weights of a family that are known of devices, by the type of the device, by its folder, by quantity [s]."""

    weights: Mapping[str, Mapping[str, Weights]]

    def nearest(self, quantity: str, known: Collection[str], kind: str) -> Ratio | None:
        """Return the ratio to the relative of `known` names from which the cost on a device of a type follows best."""
        groups = [(group, mates) for group in groups_of(quantity) if (mates := relatives_of(quantity, group, known))]
        types = [(kind,), tuple(other for other in self.weights if other != kind)]
        for of_types in types:
            for group, mates in groups:
                found = (self._ratio(quantity, mate, group, of_types, of_types != types[0]) for mate in mates)
                if measured := [ratio for ratio in found if ratio.devices]:
                    return min(measured, key=lambda ratio: ratio.spread(0.9))
        never = [(mate, group) for group, mates in groups for mate in mates]
        if not never:
            return None
        mate, group = min(never, key=lambda pair: not _of_other_type(quantity, pair[0]))
        return self._ratio(quantity, mate, group, (), foreign=False)

    def _ratio(self, quantity: str, mate: str, group: Group, types: Iterable[str], foreign: bool) -> Ratio:
        """Return the ratio of two quantities of a group by the devices of some types."""
        logs = [log for kind in types for log in self._every.get(kind, {}).get((quantity, mate), [])]
        within, count = self._within[group], len(logs)
        if not count:
            between = self._by_width if _of_other_type(quantity, mate) else self._between[group]
            return Ratio(mate, 0.0, math.sqrt(between + within), PRIOR)
        mean, freedom = fmean(logs), PRIOR + count - 1
        variance = (PRIOR * within + sum((log - mean) ** 2 for log in logs)) / freedom
        scale = math.sqrt(variance * (1 + 1 / count) + (self._by_type if foreign else 0.0))
        return Ratio(mate, mean, max(scale, LEAST_SCATTER), freedom, count)

    @cached_property
    def _every(self) -> dict[str, dict[Pair, list[float]]]:
        """The logarithms of ratios on each device, by the type of the device and the pair of relatives."""
        every: dict[str, dict[Pair, list[float]]] = {}
        for kind, devices in self.weights.items():
            logs = every.setdefault(kind, {})
            for weights in devices.values():
                for name, other in _pairs(weights):
                    logs.setdefault((name, other), []).append(math.log(weights[name] / weights[other]))
        return every

    @cached_property
    def _within(self) -> Mapping[Group, float]:
        """The variance of a pair's logarithms between devices of a type, by group; of all where a group has none."""
        return self._of_groups(lambda logs: (sum((log - fmean(logs)) ** 2 for log in logs), len(logs) - 1))

    @cached_property
    def _between(self) -> Mapping[Group, float]:
        """The mean square of the pairs' mean logarithms, by group."""
        return self._of_groups(lambda logs: (fmean(logs) ** 2, 1))

    @cached_property
    def _by_width(self) -> float:
        """The mean square of the mean logarithms of pairs that differ only in the width of their types."""
        means = [
            fmean(logs) for pairs in self._every.values() for pair, logs in pairs.items() if _of_other_type(*pair)
        ]
        return fmean(mean**2 for mean in means) if means else 1.0

    def _of_groups(self, squares_of: Callable[[list[float]], tuple[float, int]]) -> dict[Group, float]:
        """Return the squares over their numbers of the pairs in each group."""
        sums = dict.fromkeys((*GROUPS, ()), (0.0, 0))
        for pairs in self._every.values():
            for (name, other), logs in pairs.items():
                squares, number = squares_of(logs)
                for group in sums:
                    if not group or (matches(group, name) and matches(group, other)):
                        sums[group] = sums[group][0] + squares, sums[group][1] + number
        means = {group: max(squares / number, LEAST_SCATTER**2) for group, (squares, number) in sums.items() if number}
        return {group: means.get(group, means.get((), 1.0)) for group in GROUPS}

    @cached_property
    def _by_type(self) -> float:
        """The mean square of the differences between types of a pair's mean logarithm."""
        differences = [
            fmean(pairs[pair]) - fmean(others[pair])
            for pairs, others in combinations(self._every.values(), 2) for pair in {*pairs} & {*others}
        ]  # fmt: skip
        return fmean(difference**2 for difference in differences) if differences else 1.0


def _of_other_type(name: str, other: str) -> bool:
    """Return whether two names differ only in numbers, such as the width of a type.

    Examples
    --------
    >>> _of_other_type("op_float32_pow", "op_float64_pow"), _of_other_type("op_float32_pow", "op_float32_div")
    (True, False)
    """
    return name != other and re.sub(r"\d+", "", name) == re.sub(r"\d+", "", other)


def _pairs(names: Collection[str]) -> Iterator[Pair]:
    """Yield the pairs of names that are relatives, each once in either order."""
    for name in names:
        yield from ((name, other) for other in names if name != other and are_related(name, other))


@cache
def ratios() -> Mapping[str, Ratios]:
    """Return for each family the weights that are known of devices."""
    known = value_of(dict[str, dict[str, dict[str, dict[str, float]]]], read_file(RELATIVES_FILE))
    return {family: Ratios(weights) for family, weights in known.items()}
