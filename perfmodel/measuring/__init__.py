"""Timing of kernels on a device: the paper's protocol and a campaign that resumes.

What is timed (Stevens and Kloeckner, section 4.2): 30 runs, the first 4 dropped, the
minimum of the rest.  A run is the *host's* clock from just before the kernel is enqueued
on an idle in-order queue until it has finished, launch overhead included: that is what a
call costs whoever deploys the kernel, and what the model's constant term stands for.
Arguments are set and buffers filled on the device beforehand.  The device's own profiling
times of the same runs are kept beside them.  ``docs/measuring.md`` tells the whole protocol.
"""

from __future__ import annotations

from perfmodel.measuring.campaign import CHECK, DEFAULT, FULL, QUICK, Campaign
from perfmodel.measuring.pinning import pin_threads
from perfmodel.measuring.progress import Progress, Silent
from perfmodel.measuring.repeatability import Repeatability, repeatability
from perfmodel.measuring.run import run

__all__ = [
    "CHECK",
    "DEFAULT",
    "FULL",
    "QUICK",
    "Campaign",
    "Progress",
    "Repeatability",
    "Silent",
    "pin_threads",
    "repeatability",
    "run",
]
