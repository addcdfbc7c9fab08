"""Fit a device: check its health, measure, fit every model family, and say what the fit is good for."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic

from perfmodel import measuring
from perfmodel.cli.progress import Bar
from perfmodel.errors import PerfModelError
from perfmodel.fitting.device_folder import TESTS_FILE
from perfmodel.kernels import discover
from perfmodel.measuring import CHECK, DEFAULT, FULL, QUICK, Campaign
from perfmodel.measuring.supervised import follow_supervisor, supervise
from perfmodel.opencl import Device, find
from scripts.refit import refit

ROOT = Path(__file__).resolve().parents[1]


def job(device: Device, folder: Path, campaign: Campaign) -> None:
    began = monotonic()
    print(f"device that builds and runs a kernel: {device.name} ({device.platform})", flush=True)
    measuring.measure(discover(ROOT / "measurement_kernels"), device, folder, Bar(), campaign)
    measuring.measure(discover(ROOT / "test_kernels"), device, folder / TESTS_FILE, Bar(), CHECK)
    print(f"\ntest kernels, none of them in the fit:\n\n{refit(folder)}")
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
    measuring.pin_threads()
    try:
        device = find(options.device)
        campaign = replace(options.campaign or DEFAULT, budget_s=options.budget)
        job(device, options.output / device.slug, campaign)
    except PerfModelError as error:
        print(f"fit_device: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("fit_device: stopped; nothing is lost, give the same command to go on", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    if follow_supervisor():
        sys.exit(main())
    again = [sys.executable, "-m", "scripts.fit_device", *sys.argv[1:]]
    sys.exit(supervise(again, partial(print, file=sys.stderr, flush=True)))
