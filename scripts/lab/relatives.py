"""The weights of all devices, from which ratios between related quantities follow: ``relatives.json``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from perfmodel.calibration.recommended import CANDIDATES
from perfmodel.documents import json_text
from perfmodel.fitting.weights_file import read_weights
from perfmodel.io import write_whole
from perfmodel.predicting.model import facts_beside
from perfmodel.predicting.relatives import RELATIVES_FILE, known_weights

Table: TypeAlias = Mapping[str, Mapping[str, Mapping[str, Mapping[str, float]]]]


def relatives_table(devices: Path) -> Table:
    """Return by family, type of device and folder the weights [s] that a fit determined, to four digits."""
    table: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    for family in CANDIDATES:
        for path in sorted(devices.glob(f"*/{family}.json")):
            if (facts := facts_beside(path)) is None:
                continue
            weights = known_weights(read_weights(path).weights)
            of_kind = table.setdefault(family, {}).setdefault(str(facts.value("device_type")), {})
            of_kind[path.parent.name] = {name: float(f"{value:.4g}") for name, value in sorted(weights.items())}
    return table


def write_relatives(devices: Path, path: Path = RELATIVES_FILE) -> None:
    """Write the table of the devices' folders."""
    write_whole(path, (json_text(relatives_table(devices)) + "\n").encode())
