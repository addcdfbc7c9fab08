"""Probes: microbenchmarks in OpenCL C whose times :mod:`perfmodel.facts.probed` turns into facts that models need."""

from perfmodel.measuring.probes import caches, execution

PROBES = (
    caches.CHASE, caches.LINE, caches.CONFLICTS, caches.PAGE, caches.LAST,
    execution.LANES, execution.NESTS, execution.BARRIERS, execution.OVERLAP,
)  # fmt: skip
"""The probes in the order in which they run; the probe of the line needs the results of the chase."""
