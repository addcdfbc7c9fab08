"""What chosen and random shares of a device's measurements are worth, with the trials that found the sizes."""

from __future__ import annotations

import json
from pathlib import Path

from perfmodel.compare.shares import Shares, shares
from perfmodel.fitting.device_folder import measured_folder
from perfmodel.measuring.size_plan_file import plan_path
from perfmodel.store import Key, canonical, read_lines


def trial_seconds(folder: Path) -> dict[Key, float]:
    """Return the times of the trials that found the sizes [s], by the keys of the records."""
    path = plan_path(folder)
    found: dict[Key, float] = {}
    for _, plan in read_lines(path)[0] if path.is_file() else ():
        (device, platform, driver), members, _ = json.loads(plan["key"])
        for kernel, variant, code in members:
            for sizes, seconds in zip(plan["parameters"], plan["seconds"], strict=True):
                found[device, platform, kernel, canonical(variant), canonical(sizes), driver, code] = seconds
    return found


def device_shares(folder: Path, draws: int = 100) -> Shares:
    """Return the errors of fits to chosen and to random shares of a device's measurements.

    Parameters
    ----------
    folder
        Folder with ``measurements.jsonl`` and ``test.jsonl``.
    draws
        Number of random shares of each size.

    Raises
    ------
    StoreMissingError, ForeignDeviceError
        As of :func:`perfmodel.fitting.device_folder.measured_folder`.
    """
    measured, tests = measured_folder(folder, measured_facts=False)
    return shares(measured, tests, trial_seconds(folder), draws=draws)
