"""Fit a device: check its health, measure, fit every model family, and say what the fit is good for."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic

from perfmodel import measure
from perfmodel.cli.progress import Bar
from perfmodel.devices import Device, find
from perfmodel.errors import PerfModelError
from perfmodel.families import families
from perfmodel.fit import write_whole
from perfmodel.kernels import discover
from perfmodel.measure import CHECK, DEFAULT, FULL, QUICK, Campaign
from perfmodel.predict import FittedModel, fit
from perfmodel.report import compare, error_table
from perfmodel.report.verdict import figures, judge
from perfmodel.store import Measurements

ROOT = Path(__file__).resolve().parents[1]


def fit_families(measured: Measurements, folder: Path) -> dict[str, FittedModel]:
    models: dict[str, FittedModel] = {}
    failure: PerfModelError | None = None
    for name in families():
        try:
            models[name] = fit(measured, family=name)
            models[name].save(folder / f"{name}.json")
        except PerfModelError as error:  # one family that needs more must not end the rest
            failure = error
            print(f"{name}: not fitted: {error}")
    if failure and not models:
        raise failure
    return models


def evaluation(models: dict[str, FittedModel], checked: Measurements) -> str:
    parts = []
    for name, model in models.items():
        rows = compare(model, checked)
        verdict = judge(figures(rows))
        reasons = "\n".join(f"- {reason}" for reason in verdict.reasons)
        parts.append(f"{name} on {checked.device}\n\n{error_table(rows)}\n\nverdict: {verdict.text}\n{reasons}\n")
    return "\n\n".join(parts)


def job(device: Device, folder: Path, campaign: Campaign) -> None:
    began = monotonic()
    print(f"device that builds and runs a kernel: {device.name} ({device.platform})", flush=True)
    measured = measure.run(discover(ROOT / "measurement_kernels"), device, folder, Bar(), campaign)
    models = fit_families(measured, folder)
    checked = measure.run(discover(ROOT / "test_kernels"), device, folder / "test.jsonl", Bar(), CHECK)
    text = evaluation(models, checked)
    print(f"\ntest kernels, none of them in the fit:\n\n{text}")
    write_whole(folder / "verdict.txt", text.encode())
    print(f"wrote {folder} in {monotonic() - began:.0f} s")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/fit_device", description=__doc__)
    parser.add_argument("--device", help="name, platform or index of the OpenCL device; PoCL by default")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", dest="campaign", action="store_const", const=QUICK, help="the paper's classes only")
    size.add_argument("--full", dest="campaign", action="store_const", const=FULL, help="every variant, shape and size")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="begin no measurement after this time")
    parser.add_argument("--output", type=Path, default=ROOT / "fitted_weights", help="folder of the devices' folders")
    parser.add_argument("--offline-wheels", metavar="DIR", help="set up from the wheels in DIR, without a network")
    options = parser.parse_args(argv)
    measure.pin_threads()
    try:
        device = find(options.device)
        campaign = replace(options.campaign or DEFAULT, budget_s=options.budget)
        job(device, options.output / device.slug, campaign)
    except PerfModelError as error:
        print(f"fit_device: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
