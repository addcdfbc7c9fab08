"""Hold every model family against the same measurements: a table, CSV, and docs/lab/families.md with its picture.

Works from the committed measurements, without a device.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from perfmodel.compare.contenders import families_table
from perfmodel.errors import PerfModelError
from perfmodel.fitting.device_folder import is_simulated, measured_folders
from perfmodel.io import write_whole
from perfmodel.report import drawing
from perfmodel.store import TESTS_FILE
from scripts.lab.pages import families_figure, families_page, of_folder, short_csv

ROOT = Path(__file__).resolve().parents[1]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/compare_families", description=__doc__)
    parser.add_argument("--device", action="append", default=[], help="part of a device's name; all by default")
    parser.add_argument("--family", action="append", default=[], help="model family; all by default")
    parser.add_argument("--csv", type=Path, default=ROOT / "docs" / "data" / "families.csv")
    parser.add_argument("--picture", type=Path, default=ROOT / "docs" / "lab" / "families.png")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "lab" / "families.md")
    options = parser.parse_args(argv)
    try:
        folders = measured_folders(ROOT / "fitted_weights", tuple(options.device))
        tested = [] if options.device else sorted((ROOT / "fitted_weights").glob(f"*/{TESTS_FILE}"))
        simulated_found = [path.parent for path in tested if is_simulated(path.parent)]
        every = [of_folder(folder, tuple(options.family)) for folder in (*folders, *simulated_found)]
        found, simulated = every[: len(folders)], every[len(folders) :]
        print("\n\n".join(map(families_table, [*found, *simulated])))
        write_whole(options.csv, short_csv([one for each in found for one in each]).encode())
        drawing.write_figure(families_figure(found), options.picture)
        text = options.page.read_text() if options.page.is_file() else ""
        write_whole(options.page, families_page(text, found, simulated).encode())
        print(f"\nwrote {options.csv}, {options.picture} and {options.page}")
    except PerfModelError as error:
        print(f"compare_families: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
