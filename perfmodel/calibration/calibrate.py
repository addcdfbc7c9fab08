"""Calibrate a device: probe and measure it, fit every model family, and judge the fits on test kernels."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from perfmodel import measuring
from perfmodel.calibration.fitted_device import FittedDevice, fit_device
from perfmodel.calibration.kernel_choice import MEASUREMENT_KERNELS, TEST_KERNELS, discovered
from perfmodel.measuring.campaign import CHECK, DEFAULT, QUICK, QUICK_CHECK, Campaign
from perfmodel.measuring.probes.campaign import measure_probes
from perfmodel.measuring.probes.probe import BRIEF, THOROUGH
from perfmodel.store import TESTS_FILE

if TYPE_CHECKING:
    from perfmodel.kernels import KernelClass
    from perfmodel.measuring import Progress
    from perfmodel.opencl import Device

#: What each campaign takes on PoCL with two cores, and beside it the probes, the test kernels and the fits [s].
EXPECTED_S = {"quick": (30.0, 37.0), "default": (240.0, 420.0), "full": (2400.0, 625.0)}


def expected_s(campaign: Campaign) -> float:
    """Return about how long a calibration takes on a processor with two cores [s].

    Examples
    --------
    >>> from dataclasses import replace
    >>> expected_s(replace(DEFAULT, budget_s=100.0))
    520.0
    """
    whole, rest = EXPECTED_S[campaign.name]
    return rest + (whole if campaign.budget_s is None else min(whole, campaign.budget_s))


def probe_device(
    device: Device, folder: Path, campaign: Campaign = DEFAULT, progress: Progress | None = None, again: bool = False
) -> None:
    """Probe a device, briefly in a quick campaign: its caches, the order of its lanes, barriers and overlap.

    What the folder holds is not probed again, unless `again` asks for a new series.
    Raises what :func:`perfmodel.measuring.probes.campaign.measure_probes` raises.
    """
    measure_probes(device, folder, progress, BRIEF if campaign.name == QUICK.name else THOROUGH, again)


def measure_device(
    device: Device,
    folder: Path,
    campaign: Campaign = DEFAULT,
    progress: Progress | None = None,
    kernels: Iterable[KernelClass] | None = None,
    tests: Iterable[KernelClass] | None = None,
) -> None:
    """Measure measurement kernels and test kernels of a device; parameters are those of :func:`calibrate`."""
    measured = discovered(None, MEASUREMENT_KERNELS) if kernels is None else kernels
    measuring.measure(measured, device, folder, progress, campaign)
    checked = discovered(None, TEST_KERNELS) if tests is None else tests
    check = QUICK_CHECK if campaign.name == QUICK.name else CHECK
    measuring.measure(checked, device, folder / TESTS_FILE, progress, check)


def calibrate(
    device: Device,
    folder: Path,
    campaign: Campaign = DEFAULT,
    progress: Progress | None = None,
    kernels: Iterable[KernelClass] | None = None,
    tests: Iterable[KernelClass] | None = None,
) -> FittedDevice:
    """Probe and measure a device, fit every model family, and judge the fits on kernels that no fit has seen.

    Stopped at any time and called again, it goes on: what the folder holds is not measured again.

    Parameters
    ----------
    device
        A device that works, as :func:`perfmodel.opencl.find` returns it.
    folder
        Folder of this device: measurements, weights files and the verdict are written into it.
    campaign
        How much is measured and how; after a quick campaign only the test kernels of the 2016 paper are measured.
    progress
        Listener to the measurements and fits.
    kernels, tests
        Measurement kernels and test kernels; by default those of perfmodel's own folders.

    Raises
    ------
    OutputError
        If the folder cannot be written.
    ForeignDeviceError
        If the folder belongs to another device.
    BrokenDeviceError
        If the device runs nothing, or nothing any more.
    """
    probe_device(device, folder, campaign, progress)
    measure_device(device, folder, campaign, progress, kernels, tests)
    return fit_device(folder, progress=progress)
