"""Whether a computation is balanced: Kim et al. (2012), section 4.2.1, after Baghsorkhi et al.

It is if

1. no hazard stalls the pipelines: none of data (waits for values), none of structure (bank conflicts) and none of
   control (lanes that a branch leaves idle); and
2. the time to compute with an ideal memory system equals the time to move all data to and from memory.

The book has no tolerance; :data:`TOLERANCE` is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perfmodel.display import percent, seconds_text
from perfmodel.facts import Fact
from perfmodel.quantities.case import Case, active_units, launched
from perfmodel.quantities.traffic import TRANSFER_FACTS, global_bytes
from scripts.lab.kim.active_lanes import ActiveLanes
from scripts.lab.kim.work_flow import LINE_BYTES, Latencies, Timeline, WorkFlow

TOLERANCE = 0.1
"""Largest share of a hazard that counts as none, and largest difference of two times that count as equal."""


@dataclass(frozen=True)
class Conditions:
    """What section 4.2.1 asks of a balanced computation.

    Examples
    --------
    >>> Conditions(0.0, 0.0, 0.05, 1e-3, 1.05e-3).balanced
    True
    >>> Conditions(0.0, 0.0, 0.5, 1e-3, 4e-3).hindrances
    ('50.0 % of the lanes are idle', 'computing takes 1 ms, moving the data 4 ms')
    """

    data: float  # share of the time in which all sub-groups of a compute unit wait for values
    structural: float  # share of the time to issue that bank conflicts take
    control: float  # share of the lanes that are idle
    compute_s: float  # time to issue all instructions, each access to memory at once [s]
    memory_s: float  # time to move all data to and from memory [s]

    @property
    def balanced(self) -> bool:
        """Whether both conditions hold."""
        return not self.hindrances

    @property
    def hindrances(self) -> tuple[str, ...]:
        """What is against it, in words."""
        hazards = (
            (self.data, "of the time no sub-group hides the waits"),
            (self.structural, "of the time to issue is for bank conflicts"), (self.control, "of the lanes are idle"),
        )  # fmt: skip
        words = [f"{percent(share)} {words}" for share, words in hazards if share > TOLERANCE]
        if abs(self.compute_s - self.memory_s) > TOLERANCE * max(self.compute_s, self.memory_s):
            words.append(
                f"computing takes {seconds_text(self.compute_s)}, moving the data {seconds_text(self.memory_s)}"
            )
        return tuple(words)


def conditions(
    graph: WorkFlow, time: Timeline, lanes: Sequence[ActiveLanes | None], case: Case, latencies: Latencies
) -> Conditions:
    r"""Return the conditions of a kernel at the sizes of a case.

    Of :math:`h` sub-groups on a compute unit, each of which alone is issued :math:`i` and waits :math:`s` seconds, none
    can issue for a share :math:`1 - \min(1, h i/(i + s))` of the time. Memory moves what
    :func:`~perfmodel.quantities.traffic.global_bytes` counts, in transfers of 64 B where no fact gives their size.
    Raises FactsError if ``compute_units`` or ``memory_bandwidth_bytes_per_s`` is unknown.
    """
    if case.facts is not None and not any(map(case.knows, TRANSFER_FACTS)):
        case = case.with_facts(case.facts.updated({TRANSFER_FACTS[-1]: Fact(LINE_BYTES, "B", "assumed")}))
    units, groups, subgroups = active_units(case)
    issued = sum(time.issued) or 1.0
    conflicts = sum(
        seconds * (1 - 1 / node.serial)
        for node, seconds in zip(graph.nodes, time.issued, strict=True) if node.kind == "local"
    )
    at_once = sum(
        min(seconds, node.executions * node.instructions * latencies.issue_s) if node.kind == "global" else seconds
        for node, seconds in zip(graph.nodes, time.issued, strict=True)
    )
    known = [row for row in lanes if row is not None and row.by_subgroups]
    slots = sum(len(row.shares) * row.by_subgroups for row in known)
    of_one_launch = launched(case)[1] / max(case.value(case.counts.launches()), 1)
    return Conditions(
        1 - min(1.0, float(groups * subgroups) / time.hiding), conflicts / issued,
        sum(row.idle for row in known) / slots if slots else 0.0, float(at_once * of_one_launch / units),
        float(global_bytes(case)) / float(case.fact("memory_bandwidth_bytes_per_s")),
    )
