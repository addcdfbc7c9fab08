"""The work-groups, work-items and sub-groups of a launch, and how many of them a device holds at once."""

from math import prod
from typing import Any

import numpy as np

from perfmodel.quantities.case import Case


def cores(case: Case) -> float:
    """Return the device's lanes. If unknown, return compute units times sub-group size (Kim et al. 2012, 2.5)."""
    return float(case.fact("compute_units")) * float(case.known("lanes_per_unit", case.counts.subgroup_size))


def items_per_group(case: Case) -> float:
    """Return the work-items of one work-group."""
    return float(prod(case.counts.launch.group_shape))


def groups_per_launch(case: Case) -> Any:
    """Return the work-groups of one launch, the mean over all launches."""
    return case.value(case.counts.work_groups()) / np.maximum(case.value(case.counts.launches()), 1)


def launched(case: Case) -> tuple[Any, Any]:
    """Return the work-items and the sub-groups of all launches, each at least 1. A sub-group may be partly filled."""
    shapes = [(float(prod(row.group_shape)), case.value(row.work_groups)) for row in case.counts.launch_table]
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
