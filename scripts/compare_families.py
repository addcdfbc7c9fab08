"""Hold every model family against the same measurements: a table, CSV, docs/families.png and docs/families.md's tables.

Works from the committed measurements, without a device.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from perfmodel.compare import Contender
from perfmodel.compare.contenders import contenders
from perfmodel.errors import PerfModelError
from perfmodel.fitting import write_whole
from perfmodel.fitting.device_folder import measured_folders
from perfmodel.report import families_csv, families_table, percent, picture_families
from perfmodel.report.tables import below_marker

ROOT = Path(__file__).resolve().parents[1]


MARK = "<!-- what follows is drawn by scripts/compare_families -->"
HEAD = ("family", "error, A", "error, B", "factor - 1, A", "regret, A", "tau, A", "weights")


def section(contenders: Sequence[Contender]) -> str:
    """Return a device's families as a Markdown table, best by protocol B first."""
    judged = sorted((one for one in contenders if one.evaluations), key=lambda one: one.figures("B").error)
    rows = [HEAD, ("---", *["---:"] * (len(HEAD) - 1)), *map(_cells, judged)]
    cases = len(judged[0].by("A").rows)
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"### {judged[0].device}\n\n{cases} cases that every family predicts.\n\n{table}\n"


def _cells(one: Contender) -> tuple[str, ...]:
    a, b = one.figures("A"), one.figures("B")
    errors = map(percent, (a.error, b.error, a.factor))
    return (f"`{one.family}`", *errors, f"{a.regret:.2f}", f"{a.tau:.2f}", str(one.weights))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/compare_families", description=__doc__)
    parser.add_argument("--device", action="append", default=[], help="part of a device's name; all by default")
    parser.add_argument("--family", action="append", default=[], help="model family; all by default")
    parser.add_argument("--csv", type=Path, default=ROOT / "docs" / "data" / "families.csv")
    parser.add_argument("--picture", type=Path, default=ROOT / "docs" / "families.png")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "families.md")
    options = parser.parse_args(argv)
    try:
        folders = measured_folders(ROOT / "fitted_weights", tuple(options.device))
        found = [contenders(folder, tuple(options.family)) for folder in folders]
        print("\n\n".join(map(families_table, found)))
        write_whole(options.csv, families_csv([one for each in found for one in each]).encode())
        picture_families(found, options.picture)
        text = options.page.read_text() if options.page.is_file() else ""
        write_whole(options.page, below_marker(text, MARK, map(section, found)).encode())
        print(f"\nwrote {options.csv}, {options.picture} and {options.page}")
    except PerfModelError as error:
        print(f"compare_families: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
