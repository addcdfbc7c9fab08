"""Draws pages and pictures of docs/ from committed data."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from perfmodel.facts import read_device
from perfmodel.fitting.device_folder import measured_folder
from perfmodel.io import write_whole
from perfmodel.measuring.size_plan import plan_path, read_plans
from perfmodel.store import Key, canonical
from perfmodel.store.files import DEVICE_FILE, PROBES_FILE, read_probes
from scripts.lab.probe_pictures import picture_probes
from scripts.lab.shares import Shares, shares
from scripts.lab.shares_page import picture_shares, shares_page, shares_text


def draw_probes(devices: Path, out: Path) -> None:
    """Draw ``probes-<device>.png`` for every device in a folder that has been probed."""
    for path in sorted(devices.glob(f"*/{PROBES_FILE}")):
        device = path.with_name(DEVICE_FILE)
        facts = read_device(device) if device.is_file() else None
        picture_probes(read_probes(path), facts, out / f"probes-{path.parent.name}.png")


def draw_choice(folders: Iterable[Path], picture: Path, page: Path, draws: int = 100) -> str:
    """Draw what chosen and random shares of devices' measurements are worth; return the page's tables."""
    devices = [_device_shares(folder, draws) for folder in folders]
    picture_shares(devices, picture)
    write_whole(page, shares_page(page.read_text(encoding="utf-8"), devices).encode())
    return "\n\n".join(map(shares_text, devices))


def _device_shares(folder: Path, draws: int) -> Shares:
    measured, tests = measured_folder(folder, measured_facts=False)
    return shares(measured, tests, trial_seconds(folder), draws=draws)


def trial_seconds(folder: Path) -> dict[Key, float]:
    """Return the times of the trials that found the sizes [s], by the keys of the records."""
    found: dict[Key, float] = {}
    for key, plan in read_plans(plan_path(folder)).items():
        (device, platform, driver), members, _ = json.loads(key)
        for kernel, variant, code in members:
            for sizes, seconds in zip(plan.parameters, plan.seconds, strict=True):
                found[device, platform, kernel, canonical(variant), canonical(sizes), driver, code] = seconds
    return found
