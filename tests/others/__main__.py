"""``python -m tests.others FOLDER ...`` checks captured kernels, prints a table, and fails where one is bad."""

import os
import sys
from collections import Counter
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from statistics import geometric_mean

import loopy as lp
import numpy as np

from perfmodel.counts.reading.schedule import schedule
from scripts.lab.capturing.captured import captured
from scripts.lab.capturing.suites import SUITES, TABLE
from tests.others.check import STATUSES, Finding, check, counted, seconds_of_maps

OLD_NAMES = "PERFMODEL_OLD_NAMES"  # where it is set, units of old packages can be read
BAD = ("over 10 s", "disagrees", "crashed")
RATIO = "Loopy's CPU time over ours (least)"


def main(folders: list[str]) -> int:
    if os.environ.get(OLD_NAMES):
        import_module("scripts.lab.capturing.old_names")
    pay_one_time_costs()
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
        (Path(folder) / TABLE).write_text("".join(rows({Path(folder).name: found})), encoding="utf-8")
    sys.stdout.write("".join(rows(findings)))
    none = not all(findings.values())  # a suite that schedules nothing is broken
    return none or any(finding.status in BAD for found in findings.values() for finding in found)


def rows(findings: dict[str, list[Finding]]) -> list[str]:
    """Return the table: for each folder how many kernels have each status, and how long Loopy's maps take.

    The ratio is a geometric mean over the kernels that Loopy's maps can read. Reasons of refusals follow the table.
    """
    lines = [f"| kernels of | captured | {' | '.join(STATUSES)} | {RATIO} |\n", "|---" * (len(STATUSES) + 3) + "|\n"]
    for name, found in findings.items():
        number = Counter(finding.status for finding in found)
        ratios = [finding.ratio for finding in found if finding.ratio]
        text = f"{geometric_mean(ratios):.2f} ({min(ratios):.2f}), {len(ratios)} kernels" if ratios else "none"
        cells = [name, str(len(found)), *(str(number[status]) for status in STATUSES), text]
        lines.append(f"| {' | '.join(cells)} |\n")
    every = [(name, finding) for name, found in findings.items() for finding in found]
    reasons = Counter((name, one.detail.split(":")[0]) for name, one in every if one.status == "refused")
    return [*lines, *(f"refused: {number} of {name}: {reason}\n" for (name, reason), number in reasons.items())]


def pay_one_time_costs() -> None:
    """Count a kernel on both sides: what is imported or made once is then no part of any kernel's time."""
    unit = lp.make_kernel("{ [i]: 0 <= i < n }", "out[i] = 2*a[i]", lang_version=(2018, 2))
    unit = schedule(lp.add_dtypes(unit, {"a": np.float32}))
    counted(unit)
    seconds_of_maps(unit)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
