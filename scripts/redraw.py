"""Fit and draw docs/quickstart.png again from the raw measurements in docs/data/quickstart."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from perfmodel.errors import PerfModelError
from perfmodel.predict import fit
from perfmodel.report import compare, error_table, picture_predicted_measured, weights_table
from perfmodel.store import read

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
    options = parser.parse_args(argv)
    try:
        redraw(options.data, options.picture)
    except PerfModelError as error:
        print(f"redraw: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
