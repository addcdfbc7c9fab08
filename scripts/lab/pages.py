"""Pages and pictures of docs/, drawn from committed data."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from perfmodel import store
from perfmodel.calibration.recommended import CANDIDATES
from perfmodel.compare.contenders import COLUMNS, Contender, Contenders, contenders, records
from perfmodel.display import csv_text, percent
from perfmodel.documents import canonical, json_text
from perfmodel.facts import read_device
from perfmodel.fitting.device_folder import recorded_folder
from perfmodel.fitting.throughput import BANDWIDTH_BOUND, LATENCY_BOUND, ONE_MULTIPLICITY, Throughput, throughput
from perfmodel.fitting.weights_file import read_weights
from perfmodel.io import write_whole
from perfmodel.measuring.size_plan import plan_path, read_plans
from perfmodel.predicting.model import facts_beside
from perfmodel.predicting.relatives import RELATIVES_FILE, known_weights
from perfmodel.report.drawing import draw_grid, empty_figure
from perfmodel.report.pictures import families
from perfmodel.store import Key
from perfmodel.store.files import DEVICE_FILE, PROBES_FILE, no_store, read_probes
from scripts.lab.markdown import below_marker, drawn_between, markdown_table
from scripts.lab.probe_pictures import picture_probes
from scripts.lab.shares import Shares, picture_shares, shares, shares_page, shares_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
    measured, tests, _ = recorded_folder(folder)
    if tests is None:
        raise no_store(folder / store.TESTS_FILE)
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


FAMILIES = "<!-- what follows is drawn by scripts/compare_families -->"
ACROSS = 4  # devices next to each other in the picture
SIMULATED = "A simulator counted these times. They are not pooled with those of devices, and are not in the picture."


def families_page(
    page: str, devices: Iterable[Sequence[Contender]], simulated: Iterable[Sequence[Contender]] = ()
) -> str:
    """Put one table for each device after the marker of `page`, simulated devices at the end."""
    below = [f"## Simulated devices\n\n{SIMULATED}\n", *map(_family_section, simulated)]
    return below_marker(page, FAMILIES, [*map(_family_section, devices), *(below if len(below) > 1 else [])])


def of_folder(folder: Path, names: tuple[str, ...] = ()) -> Contenders:
    """Judge families on a folder's rows. The folder's name replaces the device's, which several folders may share."""
    return Contenders(replace(one, device=folder.name) for one in contenders(folder, names))


def short_csv(judged: Iterable[Contender]) -> str:
    """Return :func:`perfmodel.compare.contenders.records` as CSV, with five digits of each number."""
    rows = ({key: float(f"{cell:.5g}") if isinstance(cell, float) else cell for key, cell in row.items()}
            for row in records(judged))  # fmt: skip
    return csv_text(COLUMNS, rows)


def families_figure(devices: Sequence[Sequence[Contender]]) -> Figure:
    """Return maps of errors by protocol B, one for each device."""
    judged = [[one for one in found if one.evaluations] for found in devices]
    across = min(ACROSS, len(judged))
    down = math.ceil(len(judged) / across)
    figure = empty_figure(1.8 + 4.4 * across, down * (1.4 + 0.3 * max(map(len, judged))))
    grid = figure.subplots(down, across, squeeze=False, sharey=True).flat
    for axes, found in zip_longest(grid, judged):
        if found is None:
            axes.set_axis_off()
            continue
        draw_grid(axes, families(found, "B"))
        axes.set_title(found[0].device, fontsize="small")
    return figure


def _family_section(contenders: Sequence[Contender]) -> str:
    """Return a device's families as a Markdown table, best by protocol B first."""
    judged, header = Contenders(contenders).judged, Contenders(contenders).header
    rows = [header, ("---", *["---:"] * (len(header) - 1)), *map(_family_cells, judged)]
    cases = len(judged[0].by("A").rows)
    return f"### {judged[0].device}\n\n{cases} cases that every family predicts.\n\n{markdown_table(rows)}\n"


def _family_cells(one: Contender) -> tuple[str, ...]:
    name, *figures = one.cells
    return (f"`{name}`", *figures)


SPT, LINEAR = "synchronous_parallel_throughput", "stevens_kloeckner_2016"
MEASURED = f"{SPT} (measured)"
COMMAND = "scripts/redraw spt"


def draw_spt(folders: Sequence[Path], page: Path) -> None:
    """Draw the page's tables again from devices' folders; a fit of each family and group, some seconds a device."""
    text = page.read_text(encoding="utf-8")
    rates = throughput_table((folder.name, throughput(store.read(folder))) for folder in folders)
    errors = errors_table((folder.name, contenders(folder, (SPT, LINEAR))) for folder in folders)
    for name, table in (("rates", rates), ("errors", errors)):
        text = drawn_between(text, name, table, COMMAND)
    write_whole(page, text.encode())


def throughput_table(devices: Iterable[tuple[str, Iterable[Throughput]]]) -> str:
    """Return latencies [ns] and bandwidths [10^9/s] of devices by name."""
    rows: list[Sequence[str]] = [
        ("device", "operation", "latency [ns]", "bandwidth [10^9/s]", "r^2", "rows"), ("---",) * 2 + ("---:",) * 4,
    ]  # fmt: skip
    rows += [(name, *_rate_cells(one)) for name, found in devices for one in found]
    return markdown_table(rows)


def _rate_cells(one: Throughput) -> tuple[str, ...]:
    unknown = ONE_MULTIPLICITY in one.note
    latency = _digits(1e9 * one.latency_s) + " (at most)" * (unknown or BANDWIDTH_BOUND in one.note)
    rate = _digits(1e-9 * one.bandwidth_per_s) + " (at least)" * (unknown or LATENCY_BOUND in one.note)
    return one.operation, latency, "" if one.operation == "launch" else rate, f"{one.r_squared:.2f}", str(one.rows)


def _digits(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def errors_table(devices: Iterable[tuple[str, Contenders]]) -> str:
    """Return errors by protocol A of SPT with measured and with fitted facts, and of the linear family."""
    rows: list[Sequence[str]] = [
        ("device", "cases", "latencies and bandwidths measured", "fitted", "linear model"), ("---", *["---:"] * 4),
    ]  # fmt: skip
    for name, judged in devices:
        by_family = {one.family: one for one in judged}
        errors = (_error_cell(by_family.get(one)) for one in (MEASURED, SPT, LINEAR))
        rows.append((name, _number_of_cases(by_family[SPT]), *errors))
    return markdown_table(rows)


def _number_of_cases(one: Contender) -> str:
    return str(len(one.by("A").rows)) if one.evaluations else "0"


def _error_cell(one: Contender | None) -> str:
    return percent(one.figures("A").error) if one and one.evaluations else "not fitted"


Relatives: TypeAlias = Mapping[str, Mapping[str, Mapping[str, Mapping[str, float]]]]


def relatives_table(devices: Path) -> Relatives:
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
