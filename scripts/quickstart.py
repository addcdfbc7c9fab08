"""The main job: measure this machine, fit the weights, predict kernels that were not fitted on, compare.

Everything goes to a folder of its own, which git ignores; `perfmodel calibrate` makes weights to keep.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

from perfmodel import measuring
from perfmodel.calibration.calibrate import measure_device
from perfmodel.calibration.fitted_device import fit_family
from perfmodel.cli.progress import Bar
from perfmodel.compare import compare
from perfmodel.errors import PerfModelError
from perfmodel.models import find_family
from perfmodel.opencl import find
from perfmodel.report import error_table, picture_predicted_measured, weights_table
from perfmodel.store import TESTS_FILE, read


def job(selector: str | None, output: Path) -> None:
    began = monotonic()
    measuring.pin_threads()
    device = find(selector)
    folder = output / device.slug
    print(f"device: {device.name} ({device.platform})", flush=True)
    measure_device(device, folder, measuring.QUICK, Bar())
    model = fit_family(folder, find_family("stevens_kloeckner_2016"))
    weights, picture = folder / f"{model.family.name}.json", folder / "quickstart.png"
    model.save(weights)
    print(f"\nweights from {model.fitted.rows} measurements:\n{weights_table(model.weights, model.units)}")
    print("".join(f"note: {note}\n" for note in model.notes), end="")
    rows = compare(model, read(folder / TESTS_FILE))
    print(f"\ntest kernels, none of them in the fit:\n{error_table(rows)}\n")
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
