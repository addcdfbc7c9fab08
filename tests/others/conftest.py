"""Plug-ins that change Loopy, or that are for other programs, are not tests."""

collect_ignore = ["old_names.py", "pystella_fixtures.py", "capture.py"]
