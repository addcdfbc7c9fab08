"""Draw docs/choice.png and the tables of docs/choosing.md from the committed measurements."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from perfmodel.compare.shares import Shares, shares
from perfmodel.errors import PerfModelError
from perfmodel.fitting import write_whole
from perfmodel.fitting.device_folder import measured_folder, measured_folders
from perfmodel.report.shares import picture_shares, shares_page, shares_text
from perfmodel.store import Key, canonical, read_lines

ROOT = Path(__file__).resolve().parents[1]


def trials(folder: Path) -> dict[Key, float]:
    """What trials took when the sizes were chosen [s], by the keys of the records."""
    path = folder / "measurements.plan.jsonl"
    found: dict[Key, float] = {}
    for _, plan in read_lines(path)[0] if path.is_file() else ():
        (device, platform, driver), members, _ = json.loads(plan["key"])
        for kernel, variant, code in members:
            for sizes, seconds in zip(plan["parameters"], plan["seconds"], strict=True):
                found[device, platform, kernel, canonical(variant), canonical(sizes), driver, code] = seconds
    return found


def of_device(folder: Path, draws: int) -> Shares:
    return shares(*measured_folder(folder, measured_facts=False), trials(folder), draws=draws)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/choice", description=__doc__)
    parser.add_argument("--from", dest="folders", type=Path, action="append", help="a device's folder; repeat for more")
    parser.add_argument("--draws", type=int, default=100, help="random shares of each size")
    parser.add_argument("--picture", type=Path, default=ROOT / "docs" / "choice.png")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "choosing.md")
    options = parser.parse_args(argv)
    try:
        folders = options.folders or measured_folders(ROOT / "fitted_weights")
        devices = [of_device(folder, options.draws) for folder in folders]
        print("\n\n".join(map(shares_text, devices)))
        picture_shares(devices, options.picture)
        write_whole(options.page, shares_page(options.page.read_text(), devices).encode())
        print(f"\nwrote {options.picture} and {options.page}")
    except PerfModelError as error:
        print(f"choice: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
