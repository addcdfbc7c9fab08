"""Probes: microbenchmarks in OpenCL C that measure the facts that models need.

:func:`perfmodel.measuring.probes.campaign.measure_probes` runs them and keeps the times in a store's ``probes.jsonl``;
:mod:`perfmodel.facts.probed` makes facts of them.
"""

from __future__ import annotations

from perfmodel.measuring.probes import caches, execution

PROBES = (
    caches.CHASE, caches.LINE, caches.CONFLICTS, caches.PAGE, caches.LAST,
    execution.LANES, execution.NESTS, execution.BARRIERS, execution.OVERLAP,
)  # fmt: skip
"""The probes in the order in which they run; the probe of the line needs the results of the chase."""
