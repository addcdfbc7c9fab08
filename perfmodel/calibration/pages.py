"""Pages and pictures of the documentation that committed data give."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from perfmodel.calibration.trials import device_shares
from perfmodel.io import write_whole
from perfmodel.report.isolation import isolation_page
from perfmodel.report.shares import picture_shares, shares_page, shares_text
from perfmodel.store.isolation import FILE, read_isolations


def draw_isolation(devices: Path, page: Path) -> None:
    """Draw a page's tables again from the proofs of every device in a folder."""
    proofs = [read_isolations(path.parent) for path in sorted(devices.glob(f"*/{FILE}"))]
    write_whole(page, isolation_page(page.read_text(), proofs).encode())


def draw_choice(folders: Iterable[Path], picture: Path, page: Path, draws: int = 100) -> str:
    """Draw what chosen and random shares of devices' measurements are worth; return the page's tables."""
    devices = [device_shares(folder, draws) for folder in folders]
    picture_shares(devices, picture)
    write_whole(page, shares_page(page.read_text(), devices).encode())
    return "\n\n".join(map(shares_text, devices))
