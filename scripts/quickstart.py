"""The main job: measure this machine, fit weights, predict kernels that were not fitted on, compare: under 3 minutes.

Everything goes to your data folder, where `perfmodel predict` finds the weights.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic

from perfmodel import measuring
from perfmodel.calibration.calibrate import QUICK_S, calibrate
from perfmodel.calibration.recommended import data_folder
from perfmodel.cli.output import CommandBar
from perfmodel.compare.comparison import error_table
from perfmodel.errors import PerfModelError
from perfmodel.opencl import find
from perfmodel.plot import predicted_vs_measured
from perfmodel.report import drawing
from perfmodel.report.evaluation import weights_table


def job(selector: str | None, output: Path, budget_s: float) -> None:
    began = monotonic()
    measuring.pin_threads()
    device = find(selector)
    folder = output / device.slug
    print(f"device: {device.name} ({device.platform})", flush=True)
    measuring.wait_until_quiet(lambda text: print(text, flush=True))
    found = calibrate(device, folder, replace(measuring.QUICK, budget_s=budget_s), CommandBar(), made_first=True)
    if not found.chosen:
        print(found.text)
        return
    model, picture = found.models[found.chosen], folder / "quickstart.png"
    print(f"\n{found.chosen}, weights from {model.fitted.rows} measurements:")
    print(weights_table(model.weights, model.units))
    print("".join(f"note: {note}\n" for note in model.notes), end="")
    print(f"\ntest kernels, none of them in the fit:\n{error_table(found.comparisons)}\n")
    drawing.write_figure(predicted_vs_measured(found.comparisons, title=f"{found.chosen}\n{device.name}"), picture)
    print(f"verdict: {found.verdict.text}\nwrote {folder} in {monotonic() - began:.0f} s\n")
    print("now predict your own kernel: .venv/bin/perfmodel predict my_kernel.py -p n=1Mi")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", help="name, platform or index of the OpenCL device")
    parser.add_argument("--output", type=Path, default=data_folder(), help="default: your data folder, %(default)s")
    parser.add_argument("--budget", type=float, default=QUICK_S, help="seconds of measuring, default: %(default)s")
    options = parser.parse_args(argv)
    try:
        job(options.device, options.output, options.budget)
    except PerfModelError as error:
        print(f"quickstart: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
