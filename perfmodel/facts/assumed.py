"""Facts that no device tells and no kernel measures, assumed where nobody has written them.

Without them a family that needs one could not be fitted. Each says in its source that it is assumed, why, and where to
write a better one.
"""

from __future__ import annotations

from perfmodel.facts.device_facts import DeviceFacts
from perfmodel.facts.fact import Fact

ASSUMED = "assumed"
"""The first word of the source of such a fact."""
GROUPS_OF_A_GPU = 16
"""Work-groups that a compute unit of a GPU holds: the least that vendors give for their devices since 2012."""
ITEMS_OVER_GROUP = 2
"""Work-items that a compute unit of a GPU holds, over those of the largest work-group."""


def assumed_facts(facts: DeviceFacts) -> dict[str, Fact]:
    """Return the facts that are assumed of a device, by key: those that it lacks of the following.

    ``max_groups_per_unit``
        A CPU's core runs one work-group at a time. Other devices: :data:`GROUPS_OF_A_GPU`.
    ``max_items_per_unit``
        On a CPU those of the largest work-group, on other devices :data:`ITEMS_OVER_GROUP` times as many. Not assumed
        where the largest work-group is not known.

    Nothing is assumed of a device whose type is not known.

    Examples
    --------
    >>> device = DeviceFacts("H200", "NVIDIA CUDA", "570.1", (("device_type", Fact("gpu", "", "CL_DEVICE_TYPE")),))
    >>> {key: fact.value for key, fact in assumed_facts(device).items()}
    {'max_groups_per_unit': 16}
    """
    known = dict(facts.facts)
    if "device_type" not in known:
        return {}
    cpu = known["device_type"].value == "cpu"
    groups, over = (1, 1) if cpu else (GROUPS_OF_A_GPU, ITEMS_OVER_GROUP)
    why = "a core of a CPU runs one work-group at a time" if cpu else "as most GPUs do"
    advice = f"{ASSUMED}: {why}; no query tells it, so write it into facts.yaml where you know better"
    found = {"max_groups_per_unit": Fact(groups, "", advice)}
    if "max_work_group_size" in known:
        largest = int(known["max_work_group_size"].value)  # type: ignore[arg-type]  # checked where it was read
        items = f"{advice} ({over} x CL_DEVICE_MAX_WORK_GROUP_SIZE)"
        found["max_items_per_unit"] = Fact(over * largest, "work-items", items)
    return {key: fact for key, fact in found.items() if key not in known}


def with_assumed_facts(facts: DeviceFacts) -> DeviceFacts:
    """Return a device with the facts that are assumed of it (:func:`assumed_facts`)."""
    return facts.updated(assumed_facts(facts))
