"""Fit every model family to what a device's folder holds, and judge them; measures nothing and needs no device."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from perfmodel.compare.contenders import contenders
from perfmodel.compare.verdict import figures, judge
from perfmodel.errors import PerfModelError
from perfmodel.fitting import FitOptions, write_whole
from perfmodel.fitting.device_folder import measured_folder, measured_folders
from perfmodel.models import families
from perfmodel.predict import FittedModel, fit
from perfmodel.report import compare, error_table, families_table
from perfmodel.store import Measurements

ROOT = Path(__file__).resolve().parents[1]
CORE = "stevens_kloeckner_2016"
#: What a device does not tell of itself is fitted, like any other weight.
OPTIONS = FitOptions(fit_facts=True)


def refit(folder: Path) -> str:
    """Write the weights of every family and ``verdict.txt`` into a device's folder; the verdict."""
    measured, checked = measured_folder(folder, measured_facts=False)
    core = fit(measured, CORE, others=checked)
    core.save(folder / f"{CORE}.json")
    for name in set(families()) - {CORE}:
        try:
            fit(measured, name, options=OPTIONS, others=checked).save(folder / f"{name}.json")
        except PerfModelError as error:  # one family that needs more must not end the rest
            print(f"{name}: not fitted: {error}", file=sys.stderr)
    text = f"{_judged(core, checked)}\n\nall families on the same cases\n\n{families_table(contenders(folder))}\n"
    write_whole(folder / "verdict.txt", text.encode())
    return text


def _judged(model: FittedModel, checked: Measurements) -> str:
    rows = compare(model, checked)
    verdict = judge(figures(rows))
    reasons = "\n".join(f"- {reason}" for reason in verdict.reasons)
    return f"{model.family.name} on {checked.device}\n\n{error_table(rows)}\n\nverdict: {verdict.text}\n{reasons}\n"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/refit", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, help="folders of devices; all of fitted_weights by default")
    options = parser.parse_args(argv)
    try:
        for folder in options.folders or measured_folders(ROOT / "fitted_weights"):
            print(f"{refit(folder)}\nwrote {folder}", flush=True)
    except PerfModelError as error:
        print(f"refit: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
