"""Drivers import what only others' environments have, and pystella's plug-ins change Loopy: neither is a test."""

from __future__ import annotations

collect_ignore = ["feinsum_driver.py", "sumpy_driver.py", "old_names.py", "pystella_fixtures.py", "capture.py"]
