"""Fit and draw docs/quickstart.png again from docs/data/quickstart, and the tables of docs/isolation.md."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from perfmodel.errors import PerfModelError
from perfmodel.predict import fit
from perfmodel.report import compare, error_table, picture_predicted_measured, weights_table
from perfmodel.store import read
from scripts.isolation import PAGE, redraw_isolation

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "docs" / "data" / "quickstart"


def redraw(data: Path, picture: Path) -> None:
    measured = read(data / "measurements.jsonl")
    model = fit(measured)
    rows = compare(model, read(data / "test.jsonl"))
    print(f"{weights_table(model.weights, model.units)}\n\n{error_table(rows)}")
    picture_predicted_measured(rows, picture, f"{model.family.name}\n{measured.device}")
    print(f"\nwrote {picture}")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of measurements")
    parser.add_argument("--picture", type=Path, default=ROOT / "docs" / "quickstart.png")
    parser.add_argument("--page", type=Path, default=PAGE, help="page with the tables of isolation")
    options = parser.parse_args(argv)
    try:
        redraw(options.data, options.picture)
        redraw_isolation(page=options.page)
    except PerfModelError as error:
        print(f"redraw: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
