"""A kernel at given sizes on a device, the work-groups that the device holds at once, and a family's quantities."""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from perfmodel import features
from perfmodel.counts import Count, KernelCounts, Ratio
from perfmodel.display import values_text
from perfmodel.errors import FactsError, FamilyError, PerfModelError
from perfmodel.facts import DeviceFacts
from perfmodel.features import PLAIN, Classes, Values
from perfmodel.values import FrozenValue


@dataclass(frozen=True, eq=False)
class Case(FrozenValue):
    """A counted kernel at given sizes on a device."""

    counts: KernelCounts
    parameters: Mapping[str, Any]  # sizes: integers, or integer arrays, which are broadcast to the *sizes' shape*
    facts: DeviceFacts | None = None
    family: str = ""  # the model that needs the quantities, for messages
    _features: dict[Classes, Values] = field(default_factory=dict, init=False, repr=False)

    @property
    def features(self) -> Values:
        """Values of all nonzero features, for the operations that remain after compilation."""
        return self.features_by(PLAIN)

    def features_by(self, classes: Classes) -> Values:
        """Return the features with the classes of accesses that a family asks for."""
        if classes not in self._features:
            self._features[classes] = features.evaluate(self.counts.compiled, self.parameters, classes)
        return self._features[classes]

    def with_facts(self, facts: DeviceFacts | None) -> "Case":
        """Return the case on a device with other facts. The features are kept, because they need no facts."""
        case = replace(self, facts=facts)
        vars(case)["_features"] = self._features
        return case

    def total(self, *patterns: str) -> Any:
        """Return the sum of the features that match a pattern, as of file names: ``case.total("op_float*")``."""
        return features.total(self.features, patterns)

    def sum(self, *counts: Count) -> Any:
        """Return the sum of counts at the sizes."""
        return sum((self.value(count) for count in counts), 0.0)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The shape of the sizes. It is () if all sizes are numbers."""
        return np.broadcast_shapes(*map(np.shape, self.parameters.values()))

    def points(self) -> list[dict[str, Any]]:
        """Return the sizes, as numbers, at each point of the sizes' shape."""
        columns = np.broadcast_arrays(*map(np.asarray, self.parameters.values()))
        points = zip(*(column.ravel().tolist() for column in columns), strict=True)
        return [dict(zip(self.parameters, point, strict=True)) for point in points]

    def value(self, count: Count | Ratio) -> Any:
        """Return a count, or a ratio of two, at the sizes: a float, or a float64 array of the sizes' shape."""
        if self.shape:
            sizes = {name: np.asarray(size) for name, size in self.parameters.items()}
            return np.broadcast_to(count.evaluate(sizes), self.shape)
        return float(count(**self.parameters))

    def fact(self, key: str) -> Any:
        """Return a fact of the device. If the fact is unknown, raise a FactsError that names the file for it."""
        if not self.knows(key):
            raise missing_fact(key, self.family, self.facts)
        return self.known(key)

    def knows(self, *keys: str) -> bool:
        """Return whether all these facts of the device are known."""
        return self.facts is not None and all(key in self.facts for key in keys)

    def known(self, key: str, otherwise: Any = None) -> Any:
        """Return a fact of the device, or `otherwise` if it is unknown."""
        return otherwise if self.facts is None else self.facts.known(key, otherwise)


def missing_fact(key: str, family: str, facts: DeviceFacts | None, weight: str = "") -> FactsError:
    """Return the error for an unknown fact that a family needs. If `weight` is given, a fit may find the weight."""
    needing = f"the family '{family}'" if family else "the model"
    where = "no device's facts were given" if facts is None else f"the device '{facts.name}' has no such fact"
    fitted = f", or have {weight} fitted in its place by FitOptions(fit_facts=True)" if weight else ""
    return FactsError(
        f"{needing} needs the fact '{key}', and {where}",
        f"write it into facts.yaml next to the measurements (facts: {{{key}: {{value: ..., unit: ..., source: ...}}}}; "
        "docs/facts.md lists all keys), or use the facts of a published device there (published: NAME, and facts: {})"
        + fitted,
        key=key, family=family,
    )  # fmt: skip


def computed(quantities: Callable[[Case], object], declared: Collection[str], case: Case) -> Mapping[str, Any]:
    """Return a case's quantities. Raise a FamilyError unless each is finite, zero or more, and of the sizes' shape."""
    try:
        values = quantities(case)
    except (PerfModelError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a user's function may raise anything, SystemExit too
        message = " ".join(str(error).split())
        if message:
            raise _family_error(case, f"raised {type(error).__name__} ({message})") from error
        sizes = values_text({name: size for name, size in case.parameters.items() if np.ndim(size) == 0})
        raise FamilyError(
            f"quantities() of the family '{case.family}' raised {type(error).__name__} without a message, for the "
            f"kernel '{case.counts.name}'{f' at {sizes}' if sizes else ''}",
            "if a time limit stopped it, allow more time: the first evaluation of a kernel takes longest; "
            "else see its traceback",
        ) from error
    if not isinstance(values, Mapping):
        returned = f"returned a value of type {type(values).__name__}, not a mapping of names to numbers"
        raise _family_error(case, returned)
    if all(type(value) is float and 0 <= value < math.inf for value in map(values.get, declared)):
        return values  # the usual case, checked first because predictions have to be fast
    for name in declared:
        if name not in values:
            raise _family_error(case, f"did not return '{name}', which the family declares")
        if problem := _problem(values[name], case.shape):
            raise _family_error(case, f"returned '{name}' {problem}")
    return values


def _family_error(case: Case, problem: str) -> FamilyError:
    problem = f"quantities() of the family '{case.family}' {problem}"
    return FamilyError(problem, "it must return each declared quantity; docs/add-a-family.md describes how")


def _problem(value: Any, shape: tuple[int, ...]) -> str:
    if isinstance(value, int | float | Fraction | np.integer | np.floating):
        return "" if 0 <= value < math.inf else f"as {value!r}, not finite, zero or more"
    if not (isinstance(value, np.ndarray) and value.dtype.kind in "iuf"):
        return f"as a value of type {type(value).__name__}, neither a number nor an array of numbers"
    try:
        fits = np.broadcast_shapes(value.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        return f"of shape {value.shape} where the sizes have {shape}"
    return "" if np.all((value >= 0) & (value < math.inf)) else "with a value that is not finite, zero or more"


def cores(case: Case) -> float:
    """Return the device's lanes. If unknown, return compute units times sub-group size (Kim et al. 2012, 2.5)."""
    return float(case.fact("compute_units")) * float(case.known("lanes_per_unit", case.counts.subgroup_size))


def items_per_group(case: Case) -> float:
    """Return the work-items of one work-group."""
    return float(math.prod(case.counts.launch.group_shape))


def groups_per_launch(case: Case) -> Any:
    """Return the work-groups of one launch, the mean over all launches."""
    return case.value(case.counts.work_groups()) / np.maximum(case.value(case.counts.launches()), 1)


def launched(case: Case) -> tuple[Any, Any]:
    """Return the work-items and the sub-groups of all launches, each at least 1. A sub-group may be partly filled."""
    shapes = [(float(math.prod(row.group_shape)), case.value(row.work_groups)) for row in case.counts.launch_table]
    items = sum((size * groups for size, groups in shapes), 0.0)
    subgroups = sum((-(-size // case.counts.subgroup_size) * groups for size, groups in shapes), 0.0)
    return np.maximum(items, 1), np.maximum(subgroups, 1)


def groups_held(case: Case) -> float:
    r"""Return the most work-groups that a unit holds at once, at least 1. Without a known limit the result is infinite.

    .. math:: \min(B_{max}, \lfloor T_{max}/T_r \rfloor, \lfloor Z/S_B \rfloor, \lfloor R/(R_T T_r) \rfloor)

    Each group has :math:`T_r` work-items, :math:`S_B` bytes of local memory and :math:`R_T T_r` registers. The limits
    are facts of the device. Unknown limits are left out (Ma et al. 2014, Eq. 4).
    """
    launch, items = case.counts.launch, items_per_group(case)
    needs = {
        "max_groups_per_unit": 1.0, "max_items_per_unit": items, "local_memory_bytes": launch.local_bytes,
        "registers_per_unit": items * case.known("registers_per_work_item", 0),
    }  # fmt: skip
    limits = (case.fact(key) // need for key, need in needs.items() if need and case.knows(key))
    return float(max(min(limits, default=np.inf), 1.0))


def active_groups(case: Case) -> float:
    """Return :math:`B_a`, the work-groups that a unit holds at once by known limits (Ma et al. 2014, Eq. 4)."""
    needed = ("max_groups_per_unit", "max_items_per_unit", "local_memory_bytes")
    for key in needed if case.counts.launch.local_bytes else needed[:2]:
        case.fact(key)
    return groups_held(case)


def items_held(case: Case) -> float:
    """Return the work-items that the device holds at once, B_a T_r U for U compute units (Ma et al. 2014, Eq. 6)."""
    return active_groups(case) * items_per_group(case) * float(case.fact("compute_units"))


def scheduling_factor(case: Case) -> Any:
    r"""Return the ratio of places to work-groups, :math:`\lceil B_r/(B_a U) \rceil B_a U / B_r \ge 1`.

    The last of several rounds leaves places empty (Ma et al. 2014, Eq. 3). :math:`B_r` are the work-groups of a launch.
    The numerator and the denominator are each summed over all launches.
    """
    places = active_groups(case) * float(case.fact("compute_units"))
    filled, requested = 0.0, 0.0
    for row in case.counts.launch_table:
        launches, groups = case.value(row.launches), case.value(row.work_groups)
        filled += places_filled(groups / np.maximum(launches, 1), places) * launches
        requested += groups
    return np.where(requested > 0, filled / np.maximum(requested, 1), 1.0)[()]


def places_filled(groups: Any, places: float) -> Any:
    r"""Return the places in all rounds that a launch's work-groups need, :math:`\lceil B_r/B \rceil B` for B places."""
    return np.ceil(groups / places) * places


def active_units(case: Case) -> tuple[Any, Any, float]:
    """Return the compute units in use, the groups that each holds, and a group's sub-groups (Wang and Lou, Eq. 18)."""
    per_launch = groups_per_launch(case)
    units = np.clip(per_launch, 1, float(case.fact("compute_units")))
    subgroups = -(-items_per_group(case) // case.counts.subgroup_size)
    return units, np.clip(np.ceil(per_launch / units), 1, groups_held(case)), subgroups
