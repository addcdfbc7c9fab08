"""Whether the work-groups of a counted kernel fit on a device."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from perfmodel.errors import LaunchLimitError

if TYPE_CHECKING:
    from perfmodel.counts.kernel import KernelCounts
    from perfmodel.facts import DeviceFacts


def check_launch(counts: KernelCounts, facts: DeviceFacts) -> None:
    """Raise LaunchLimitError where a work-group does not fit on a device, as far as its facts are known."""
    shape = counts.launch
    needs = {
        "max_work_group_size": (math.prod(shape.group_shape), "work-items"),
        "local_memory_bytes": (shape.local_bytes, "bytes of local memory"),
    }
    for key, (needed, what) in needs.items():
        if key in facts and needed > facts.value(key):
            raise LaunchLimitError(counts.name, needed, what, facts.name, facts.value(key))
