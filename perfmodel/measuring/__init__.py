"""Timing of kernels on a device: the paper's protocol, in a campaign that can be resumed.

The time of a kernel (Stevens and Kloeckner, section 4.2) is the minimum of 30 runs. A shared machine may be slow for
longer than 30 runs in a row, so they are spread over three visits far apart, and what disagrees then is visited again.
The first two runs of each visit are dropped. A run is timed by the *host's* clock, from just before the kernel is
enqueued on an idle in-order queue until it has finished. This includes the launch overhead, as a call in a program
does, and as the constant term of the models does. Arguments are set and buffers are filled before. The device's own
profiling times of the same runs are kept too. ``docs/measuring.md`` describes the whole protocol.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.lazy import loader

if TYPE_CHECKING:
    from perfmodel.measuring import isolation, remote, subject, supervised
    from perfmodel.measuring.campaign import CHECK, DEFAULT, FULL, QUICK, QUICK_CHECK, QUICK_STUDY, STUDY, Campaign
    from perfmodel.measuring.load import wait_until_quiet
    from perfmodel.measuring.lock import pin_threads
    from perfmodel.measuring.run import measure
    from perfmodel.progress import Progress, Silent

_HOMES = {
    **dict.fromkeys(
        ("CHECK", "DEFAULT", "FULL", "QUICK", "QUICK_CHECK", "QUICK_STUDY", "STUDY", "Campaign"), "campaign"
    ),
    **dict.fromkeys(("Progress", "Silent"), ".progress"),
    "measure": "run",
    "pin_threads": "lock",
    "wait_until_quiet": "load",
}

__all__ = [
    "CHECK", "DEFAULT", "FULL", "QUICK", "QUICK_CHECK", "QUICK_STUDY", "STUDY", "Campaign", "Progress", "Silent",
    "measure", "pin_threads", "wait_until_quiet",
]  # fmt: skip

__getattr__ = loader(__name__, _HOMES)
