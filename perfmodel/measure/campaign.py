"""How much is measured and how: the numbers of a campaign."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Campaign:
    """Settings of a campaign.

    Parameters
    ----------
    name : str
        Plans are kept by it.
    runs, dropped : int
        Runs of each configuration, and how many of the first are dropped (paper: 30, 4).
    shapes : int
        Work-group shapes of each variant (paper: 3).
    rungs : int or None
        Rungs of each size ladder; None for as many as its class has.
    points : int or None
        Parameter sets of each rung; None for all.
    least_rungs : int
        So many are measured even if they take longer than `longest_s`.
    over_launch : float
        The lowest rung takes at least this many launch overheads [1].
    groups_per_unit : int
        The lowest rung has at least this many work-groups for each compute unit [1].
    longest_s : float
        No run is planned to take longer [s].
    timeout_s : float
        A configuration whose runs take longer together is given up [s].
    memory_fraction : float
        Share of the device's memory that a configuration may fill [1].
    seed : int
        Seed of the order of configurations and of the arrays' contents.
    """

    name: str
    runs: int = 30
    dropped: int = 4
    shapes: int = 3
    rungs: int | None = None
    points: int | None = None
    least_rungs: int = 1
    over_launch: float = 3.0
    groups_per_unit: int = 2
    longest_s: float = 0.05
    timeout_s: float = 60.0
    memory_fraction: float = 0.25
    seed: int = 20170405


#: Every class and shape at the paper's ladders: under 8 minutes on two cores.
DEFAULT = Campaign("default")

#: Every class in one work-group shape and short runs: under 90 seconds on two cores.
QUICK = Campaign("quick", shapes=1, rungs=4, longest_s=0.02)

#: Four sizes of each test kernel, to check a fitted model against.
CHECK = Campaign("check", shapes=1, rungs=4, least_rungs=4, over_launch=1.5, longest_s=0.1)
