"""Calibrate a device: probe and measure it, fit every model family, and judge the fits on test kernels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from perfmodel import measuring
from perfmodel.calibration.fitted_device import FittedDevice, fit_device
from perfmodel.calibration.kernel_choice import MEASUREMENT_KERNELS, TEST_KERNELS, discovered
from perfmodel.calibration.recommended import candidates
from perfmodel.errors import NothingMeasuredError
from perfmodel.measuring.campaign import CHECK, DEFAULT, QUICK, QUICK_CHECK, Campaign
from perfmodel.measuring.probes.campaign import measure_probes
from perfmodel.measuring.probes.probe import BRIEF, THOROUGH
from perfmodel.store import TESTS_FILE, read

if TYPE_CHECKING:
    from perfmodel.facts import Fact
    from perfmodel.kernels import KernelClass
    from perfmodel.measuring import Progress
    from perfmodel.opencl import Device

#: What probes, campaign and test kernels take on PoCL with two cores, and after them the fits [s].
EXPECTED_S = {"quick": (110.0, 30.0), "default": (350.0, 115.0), "full": (2510.0, 515.0)}
#: A quick calibration begins no measurement later than this, unless a budget is given [s].
QUICK_S = 130.0
#: Share of a budget after which no measurement kernel is begun; the rest is for test kernels [1].
MEASURED = 0.8


def expected_s(campaign: Campaign) -> float:
    """Return about how long a calibration takes on a processor with two cores [s].

    Examples
    --------
    >>> from dataclasses import replace
    >>> expected_s(replace(DEFAULT, budget_s=100.0))
    215.0
    """
    measuring_s, fits_s = EXPECTED_S[campaign.name]
    return fits_s + (measuring_s if campaign.budget_s is None else min(measuring_s, campaign.budget_s))


def families_of(campaign: Campaign, folder: Path) -> tuple[str, ...]:
    """Return the families to fit to a folder: after a quick campaign those that can be recommended; () for all."""
    return candidates(read(folder).facts) if campaign.name == QUICK.name else ()


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
    """Measure measurement kernels and test kernels of a device; parameters are those of :func:`calibrate`.

    A budget is for both: test kernels get what the others leave, at least a fifth.
    """
    began, budget_s = monotonic(), campaign.budget_s
    measured = discovered(None, MEASUREMENT_KERNELS) if kernels is None else kernels
    own_s = None if budget_s is None else MEASURED * budget_s
    measuring.measure(measured, device, folder, progress, replace(campaign, budget_s=own_s))
    checked = discovered(None, TEST_KERNELS) if tests is None else tests
    check = QUICK_CHECK if campaign.name == QUICK.name else CHECK
    if budget_s is not None:
        check = replace(check, budget_s=max(budget_s - (monotonic() - began), (1 - MEASURED) * budget_s))
    measuring.measure(checked, device, folder / TESTS_FILE, progress, check)


def calibrate(
    device: Device,
    folder: Path,
    campaign: Campaign = DEFAULT,
    progress: Progress | None = None,
    kernels: Iterable[KernelClass] | None = None,
    tests: Iterable[KernelClass] | None = None,
    given: Mapping[str, Fact] | None = None,
) -> FittedDevice:
    """Probe and measure a device, fit model families, and judge the fits on kernels that no fit has seen.

    Stopped at any time and called again, it goes on: what the folder holds is not measured again.

    Parameters
    ----------
    device
        A device that works, as :func:`perfmodel.opencl.find` returns it.
    folder
        Folder of this device: measurements, weights files and the verdict are written into it.
    campaign
        How much is measured and how. After a quick campaign only those families are fitted that can be recommended.
        Its budget is for everything that is measured: probes, measurement kernels and test kernels.
    progress
        Listener to the measurements and fits.
    kernels, tests
        Measurement kernels and test kernels; by default those of perfmodel's own folders.
    given
        Facts of the device for the fits, by key; they replace what is known.

    Raises
    ------
    OutputError
        If the folder cannot be written.
    ForeignDeviceError
        If the folder belongs to another device.
    BrokenDeviceError
        If the device runs nothing, or nothing any more.
    NothingMeasuredError
        If no measurement kernel was measured: the budget is too small, or all of them fail.
    """
    began = monotonic()
    probe_device(device, folder, campaign, progress)
    if campaign.budget_s is not None:
        campaign = replace(campaign, budget_s=max(0.0, campaign.budget_s - (monotonic() - began)))
    measure_device(device, folder, campaign, progress, kernels, tests)
    if not len(read(folder)):
        raise NothingMeasuredError(folder)
    return fit_device(folder, progress=progress, names=families_of(campaign, folder), given=given)
