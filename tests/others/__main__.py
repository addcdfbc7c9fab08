"""``python -m tests.others FOLDER ...`` checks captured kernels, prints a table, and fails where one is bad."""

from __future__ import annotations

import os
import sys
from collections import Counter
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from tests.others.captured import captured
from tests.others.check import STATUSES, Finding, check
from tests.others.suites import SUITES

OLD_NAMES = "PERFMODEL_OLD_NAMES"  # where it is set, units of old packages can be read
BAD = ("slow", "timed out", "disagrees", "crashed")


def main(folders: list[str]) -> int:
    if os.environ.get(OLD_NAMES):
        import_module("tests.others.old_names")
    findings: dict[str, list[Finding]] = {}
    for folder in folders:
        found = findings.setdefault(Path(folder).name, [])
        known = next((suite.known for suite in SUITES if suite.name == Path(folder).name), {})
        for kernel in captured(Path(folder)):
            finding = check(kernel)
            if finding.status == "disagrees" and finding.name in known:
                finding = replace(finding, status="known", detail=f"{known[finding.name]}; {finding.detail}")
            found.append(finding)
            if finding.status != "agrees":
                sys.stdout.write(f"{finding.status:12s} {finding.name} ({finding.source}): {finding.detail}\n")
                sys.stdout.flush()
    sys.stdout.write("".join(rows(findings)))
    none = not all(findings.values())  # a suite that schedules nothing is broken
    return none or any(finding.status in BAD for found in findings.values() for finding in found)


def rows(findings: dict[str, list[Finding]]) -> list[str]:
    """Return the table: for each folder how many kernels have each status."""
    lines = ["| kernels of | captured | " + " | ".join(STATUSES) + " |\n", "|---" * (len(STATUSES) + 2) + "|\n"]
    for name, found in findings.items():
        number = Counter(finding.status for finding in found)
        cells = [name, str(len(found)), *(str(number[status]) for status in STATUSES)]
        lines.append(f"| {' | '.join(cells)} |\n")
    return lines


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
