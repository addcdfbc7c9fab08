r"""The cost of a quantity that was never measured on a device: an estimate from a relative, with its uncertainty.

On device d the weights of a quantity a and of a relative b (:data:`GROUPS`) have the ratio
:math:`r_d = \log(w_a/w_b)`. ``relatives.json`` has the weights that fits determined on devices. If n devices have both
quantities, the ratio on another device has Student's distribution with :math:`\nu = \nu_0 + n - 1` degrees of freedom,
the mean :math:`\bar r` and the scale

.. math:: s \sqrt{1 + 1/n}, \qquad s^2 = \frac{\nu_0 s_0^2 + \sum_d (r_d - \bar r)^2}{\nu}

where :math:`s_0^2` counts as :math:`\nu_0` devices. The value :math:`s_0^2` is the variance of the ratios of all pairs
in the group of a and b, each pair around its own mean. If only devices of the other type (CPU or GPU) have both, a
variance between types is added, the mean square of the differences of pairs' means. If no device has both, the mean is
0, and a mean square of mean ratios is added to :math:`s_0^2`. These are the ratios of pairs in the group, or of pairs
that differ only in the width of data types. Of the relatives in the nearest group the one with the narrowest
distribution is used.

Source: A. Gelman et al., *Bayesian Data Analysis*, third edition, 2013, sections 2.6 and 3.2.
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import TypeAlias

from perfmodel.documents import read_file, value_of
from perfmodel.features import matches
from perfmodel.fitting.cautions import FromRelative
from perfmodel.fitting.weights_file import FittedWeight
from perfmodel.values import FrozenValue, grouped

RELATIVES_FILE = Path(__file__).with_name("relatives.json")
PRIOR = 3.0  # number of devices that the scatter of all pairs counts as
LEAST_SCATTER = 0.15  # least scale of a logarithm of a ratio
USELESS = frozenset({"undetermined", "barely", "at bound"})  # marks of weights that are not used in ratios

FUNCTIONS = ("exponential_*", "logarithm_*", "circular_*", "function_*", "inlined_*", "power")
NATIVE = ("divide_*", "root_*", "inverse_root_*")
ACCESSES = ("loads", "stores", "gathers", "scatters", "split", "kept_values")

GROUPS: tuple[tuple[str, ...], ...] = (
    FUNCTIONS, NATIVE, ("int_divide_*", "chain_divide", "divide_*", "root_*"),
    ("chain_add", "chain_multiply", "chain_multiply_add", "chain_minmax"),
    ("chain_divide", "chain_root", "chain_power", "chain_multiply_add"),
    (*FUNCTIONS, *NATIVE, "int_divide_*", "instructions"), (*ACCESSES, "minmax", "iterations", "instructions"),
    ("again_*", "first_*"), ("second_level_*", "memory_*", "page_walks"),
    ("waiting_items", "region_entries", "varied_entries", "groups"), ("chain_loads", "chain_far"),
    ("chain_local", "chain_private", "chain_barriers", "chain_tests", "chain_operations"),
    ("sectors", "near_sectors", "stored_sectors", "wavefronts"), ("memory_bytes", "stored_bytes"),
    ("op_float*_add", "op_float*_mul", "op_float*_minmax"), ("op_float*_div", "op_float*_special"),
    ("op_float*_special", "op_float*_pow"), ("op_*",), ("global_load_*",), ("global_store_*",),
    ("global_minloadstore_*", "global_load_*", "global_store_*"),
    ("local_load_*", "local_store_*", "global_load_*_stride1"), ("barrier_local", "local_load_*", "work_groups"),
)  # fmt: skip
"""Groups of related names as patterns, the nearest groups of a name first."""

NEVER_FREE = (*FUNCTIONS, *NATIVE, "int_divide_*")
"""Operations that take longer than an instruction on every device, even if a fit sets their weight to zero."""

Weights: TypeAlias = Mapping[str, float]
Group: TypeAlias = tuple[str, ...]
Pair: TypeAlias = tuple[str, str]


@lru_cache(maxsize=1 << 16)
def groups_of(name: str) -> tuple[tuple[str, ...], ...]:
    """Return the groups that contain a name. The nearest group comes first."""
    return tuple(group for group in GROUPS if matches(group, name))


def relatives_of(name: str, group: tuple[str, ...], among: Iterable[str]) -> list[str]:
    """Return the names in ``among`` that are relatives of a name in a group, in the order of the group's patterns."""
    others = [other for other in among if other != name]
    return list(dict.fromkeys(other for pattern in group for other in others if matches((pattern,), other)))


def known_weights(weights: Mapping[str, FittedWeight]) -> dict[str, float]:
    """Return the positive weights that a fit determined, by quantity (the name of the weight without ``w_``)."""
    return {
        name.removeprefix("w_"): weight.value
        for name, weight in weights.items() if weight.unit and weight.value > 0 and not USELESS & {*weight.marks}
    }  # fmt: skip


@cache
def student_deviation(freedom: int, level: float) -> float:
    """Return the t with P(|T| <= t) = level for Student's distribution."""
    from scipy.special import stdtrit  # slow to import

    return float(stdtrit(freedom, (1 + level) / 2))


@dataclass(frozen=True)
class Ratio:
    """A relative, and the distribution of the log ratio to this relative: mean, scale, degrees of freedom, devices."""

    relative: str
    mean: float
    scale: float
    freedom: float
    devices: int = 0

    def spread(self, level: float) -> float:
        """Return the half width of the interval of the log ratio at a level."""
        return self.scale * student_deviation(round(self.freedom), level)


@dataclass(frozen=True)
class RelatedWeight:
    """A weight estimated from a relative's weight and a ratio. If `exercised`, its fitted weight is a doubtful 0."""

    quantity: str
    relative: str
    value: float
    ratio: Ratio
    exercised: bool

    def caution(self, level: float) -> FromRelative:
        """Return the caution of a prediction that uses this weight."""
        spread = math.exp(self.ratio.spread(level))
        return FromRelative(
            self.quantity, self.ratio.relative, math.exp(self.ratio.mean), spread, self.ratio.devices, self.exercised
        )


@dataclass(frozen=True, eq=False)
class Ratios(FrozenValue):
    """Known weights of a family by the type of the device, its folder, and the quantity [s]."""

    weights: Mapping[str, Mapping[str, Weights]]

    def nearest(self, quantity: str, known: Collection[str], kind: str) -> Ratio | None:
        """Return the ratio to the `known` relative that determines the cost on a type of device most precisely."""
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
        return {kind: grouped(
            ((name, other), math.log(weights[name] / weights[other]))
            for weights in devices.values() for name, other in _pairs(weights)
        ) for kind, devices in self.weights.items()}  # fmt: skip

    @cached_property
    def _within(self) -> Mapping[Group, float]:
        """The variance between devices of one type of a pair's log ratios, by group. The group "" has all pairs."""
        return self._of_groups(lambda logs: (sum((log - fmean(logs)) ** 2 for log in logs), len(logs) - 1))

    @cached_property
    def _between(self) -> Mapping[Group, float]:
        """The mean square of the pairs' mean log ratios, by group."""
        return self._of_groups(lambda logs: (fmean(logs) ** 2, 1))

    @cached_property
    def _by_width(self) -> float:
        """The mean square of the mean log ratios of pairs that differ only in the width of their types."""
        means = [fmean(logs) for pairs in self._every.values() for pair, logs in pairs.items() if _of_other_type(*pair)]
        return fmean(mean**2 for mean in means) if means else 1.0

    def _of_groups(self, squares_of: Callable[[list[float]], tuple[float, int]]) -> dict[Group, float]:
        """Return each group's mean square: the sums of squares of its pairs, divided by the sum of their counts."""
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
        """The mean square of the difference of a pair's mean log ratio between two types of device."""
        differences = [
            fmean(pairs[pair]) - fmean(others[pair])
            for pairs, others in combinations(self._every.values(), 2) for pair in {*pairs} & {*others}
        ]  # fmt: skip
        return fmean(difference**2 for difference in differences) if differences else 1.0


def _of_other_type(name: str, other: str) -> bool:
    """Return whether two names differ only in numbers, such as the width of a type."""
    return name != other and re.sub(r"\d+", "", name) == re.sub(r"\d+", "", other)


def _pairs(names: Collection[str]) -> Iterator[Pair]:
    """Yield two different names of one group, in both orders."""
    for name in names:
        groups = groups_of(name)
        yield from ((name, other) for other in names if name != other and any(matches(each, other) for each in groups))


@cache
def ratios() -> Mapping[str, Ratios]:
    """Return the known weights of devices for each family."""
    known = value_of(dict[str, dict[str, dict[str, dict[str, float]]]], read_file(RELATIVES_FILE))
    return {family: Ratios(weights) for family, weights in known.items()}
