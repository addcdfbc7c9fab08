"""The tests read what is committed, and nothing that a user has measured."""

from __future__ import annotations

import re
from pathlib import Path

from tests.recorded import DEVICES

TESTS = Path(__file__).parent
#: Looking into the folder, instead of asking for a device by its name.
SEARCH = re.compile(r"glob\([^)]*fitted_weights|fitted_weights[^\n]*\.(glob|rglob|iterdir)\(|import .*\bFOLDER\b")


def test_each_committed_device_is_there():
    assert [] == [path.name for path in DEVICES if not (path / "measurements.jsonl").is_file()]


def test_no_test_takes_whatever_lies_in_the_folder():
    files = [path for path in sorted(TESTS.rglob("*.py")) if path.name != "test_recorded.py"]
    assert [] == [path.name for path in files if SEARCH.search(path.read_text(encoding="utf-8"))]
