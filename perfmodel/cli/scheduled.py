"""``perfmodel calibrate --scheduler``: devices of a Dask scheduler's workers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from perfmodel import calibration, measuring
from perfmodel.cli import output
from perfmodel.errors import OptionError

if TYPE_CHECKING:
    from perfmodel.kernels import KernelClass


def calibrate_on_workers(
    address: str, device: str | None, out: Path | None, campaign: measuring.Campaign,
    kernels: tuple[tuple[KernelClass, ...] | None, ...], probes: bool,
) -> None:  # fmt: skip
    """Measure the devices of workers, fit each and print the results."""
    from perfmodel.cluster import connected

    for option, given in (("--probes", probes), ("--json", output.settings().json)):
        if given:
            raise OptionError(f"{option} was given with --scheduler", f"leave {option} out")
    folders = out or calibration.recommended.data_folder()
    with connected(address) as client:
        selectors = () if device is None else (device,)
        measured = calibration.scheduled.measured_devices(
            client, selectors, folders, campaign, output.CommandBar(), *kernels
        )
        for folder in measured:
            fitted = calibration.calibrate.fit_measured(folder)
            output.print_text(f"\n{fitted.core}")
            print(f"wrote {folder}")
