"""Hold every model family against the same measurements: a table, docs/data/families.csv and docs/families.png.

Works from the committed measurements, without a device.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from perfmodel.cli.compare import contenders, measured_folders
from perfmodel.errors import PerfModelError
from perfmodel.fit import write_whole
from perfmodel.report import families_csv, families_table, picture_families

ROOT = Path(__file__).resolve().parents[1]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/compare_families", description=__doc__)
    parser.add_argument("--device", action="append", default=[], help="part of a device's name; all by default")
    parser.add_argument("--family", action="append", default=[], help="model family; all by default")
    parser.add_argument("--csv", type=Path, default=ROOT / "docs" / "data" / "families.csv")
    parser.add_argument("--picture", type=Path, default=ROOT / "docs" / "families.png")
    options = parser.parse_args(argv)
    try:
        folders = measured_folders(ROOT / "fitted_weights", tuple(options.device))
        found = [contenders(folder, tuple(options.family)) for folder in folders]
        print("\n\n".join(map(families_table, found)))
        write_whole(options.csv, families_csv([one for each in found for one in each]).encode())
        picture_families(found, options.picture)
        print(f"\nwrote {options.csv} and {options.picture}")
    except PerfModelError as error:
        print(f"compare_families: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
