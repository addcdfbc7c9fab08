"""Drivers import what only others' environments have, and pystella's plug-ins change Loopy: neither is a test."""

from __future__ import annotations

from pathlib import Path

drivers = [path.name for path in Path(__file__).parent.glob("*_driver.py")]
collect_ignore = [*drivers, "old_names.py", "pystella_fixtures.py", "capture.py"]
