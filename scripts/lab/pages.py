"""Draws pages and pictures of docs/ from committed data."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from perfmodel.facts import read_device
from perfmodel.fitting.device_folder import measured_folder
from perfmodel.io import write_whole
from perfmodel.measuring.size_plan import plan_path, read_plans
from perfmodel.report.probes import picture_probes
from perfmodel.store import Key, canonical
from perfmodel.store.files import DEVICE_FILE, ISOLATION_FILE, PROBES_FILE, read_isolations, read_probes
from perfmodel.store.measurement import Isolation
from scripts.lab.isolation import isolation_summary, isolation_table
from scripts.lab.markdown import below_marker
from scripts.lab.shares import Shares, shares
from scripts.lab.shares_page import picture_shares, shares_page, shares_text

BEGIN = "<!-- what follows is drawn by scripts/redraw isolation -->"


def draw_isolation(devices: Path, page: Path) -> None:
    """Draw a page's tables again from the proofs of every device in a folder."""
    proofs = [read_isolations(path.parent) for path in sorted(devices.glob(f"*/{ISOLATION_FILE}"))]
    write_whole(page, isolation_page(page.read_text(encoding="utf-8"), proofs).encode())


def isolation_page(page: str, devices: Iterable[Sequence[Isolation]]) -> str:
    """Return the page with one table of proofs for each device after its marker."""
    sections = [_isolation_section(proofs) for proofs in devices] or ["No device has been measured yet.\n"]
    return below_marker(page, BEGIN, sections)


def _isolation_section(proofs: Sequence[Isolation]) -> str:
    first = proofs[0]
    heading = f"## {first.device}\n\n{first.platform}, driver {first.driver}. {isolation_summary(proofs)}"
    return f"{heading}\n\n{isolation_table(proofs)}\n"


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
