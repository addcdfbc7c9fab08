"""The main job: measure this machine, fit the weights, predict kernels that were not fitted on, compare.

Everything goes to a folder of its own, which git ignores; `scripts/fit_device` makes weights to keep.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

from perfmodel import measuring
from perfmodel.cli.progress import Bar
from perfmodel.errors import PerfModelError
from perfmodel.kernels import discover
from perfmodel.opencl import find
from perfmodel.predict import fit
from perfmodel.report import compare, error_table, picture_predicted_measured, weights_table

ROOT = Path(__file__).resolve().parents[1]
# Each test kernel in one shape at four sizes.
TEST = measuring.QUICK_CHECK


def job(selector: str | None, output: Path) -> None:
    began = monotonic()
    measuring.pin_threads()
    device = find(selector)
    folder = output / device.slug
    print(f"device: {device.name} ({device.platform})", flush=True)
    kernels = discover(ROOT / "measurement_kernels")
    measured = measuring.measure(kernels, device, folder, Bar(), measuring.QUICK)
    model = fit(measured)
    weights = folder / f"{model.family.name}.json"
    model.save(weights)
    print(f"\nweights from {len(measured)} measurements:")
    print(weights_table(model.weights, model.units), flush=True)
    for note in model.notes:
        print(f"note: {note}", flush=True)
    tests = discover(ROOT / "test_kernels")
    rows = compare(model, measuring.measure(tests, device, folder / "test.jsonl", Bar(), TEST))
    print(f"\ntest kernels, none of them in the fit:\n{error_table(rows)}\n")
    picture = folder / "quickstart.png"
    picture_predicted_measured(rows, picture, f"{model.family.name}\n{device.name}")
    print(f"wrote {weights} and {picture} in {monotonic() - began:.0f} s")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", help="name, platform or index of the OpenCL device")
    parser.add_argument("--output", type=Path, default=Path("quickstart"), help="default: %(default)s")
    options = parser.parse_args(argv)
    try:
        job(options.device, options.output)
    except PerfModelError as error:
        print(f"quickstart: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
