"""``perfmodel devices`` and ``doctor``: the OpenCL devices, and whether perfmodel works here."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from perfmodel import analyses, calibration, display, opencl, store
from perfmodel.cli import output
from perfmodel.errors import OptionError
from perfmodel.facts import assumed_facts, with_assumed_facts

SCHEMA, FACTS_SCHEMA, DOCTOR_SCHEMA = "perfmodel.devices/1", "perfmodel.facts/1", "perfmodel.doctor/1"
HEADER = ("", "device", "platform", "units", "memory", "local", "max group", "sub-group")

Folder = Annotated[Path | None, Option(
    "--from", metavar="FOLDER", help="Print all facts of a measured device instead, with their sources.",
)]  # fmt: skip

def devices_command(folder: Folder = None) -> None:
    """List the OpenCL devices with the facts that they report and the facts that are assumed."""
    if folder is not None:
        show_facts(store.read(folder), folder)
        return
    known = opencl.devices()

    def document() -> dict[str, Any]:
        rows = [{"index": device.index, **with_assumed_facts(device.facts).to_json()} for device in known]
        return {"schema": SCHEMA, "devices": rows}

    output.show(document, lambda: "\n".join(_device_lines(known)))


def _device_lines(known: tuple[opencl.Device, ...]) -> Iterator[str]:
    if not known:
        raise opencl.no_device()
    rows = [HEADER]
    for device in known:
        facts = device.facts
        width = f"{facts.value('subgroup_size')}{'' if _reports_width(device) else '*'}"
        rows.append((
            str(device.index), device.name, device.platform, str(facts.value("compute_units")),
            display.bytes_text(facts.value("global_memory_bytes")),
            display.bytes_text(facts.value("local_memory_bytes")), str(facts.value("max_work_group_size")), width,
        ))  # fmt: skip
    yield display.columns_text(rows, 3, output.table_width())
    if not all(map(_reports_width, known)):
        yield "* not reported by the device: its preferred work-group size multiple"
    for device in known:
        assumed = assumed_facts(device.facts)
        if assumed:
            values = " and ".join(f"{key} = {fact.value}" for key, fact in assumed.items())
            yield f"device {device.index}: {values}, {next(iter(assumed.values())).source}"
    for _, folder, facts in calibration.recommended.fitted_devices():
        if facts.recorded:
            yield f"not here: {facts.name} (--device {folder.name}); others recorded its times: {facts.recorded}"


def _reports_width(device: opencl.Device) -> bool:
    return device.facts.fact("subgroup_size").source.startswith("CL_")


def show_facts(measured: store.Measurements, folder: Path) -> None:
    """Print the facts of a folder's device, and doubts about them."""
    facts = measured.facts
    if facts is None:
        raise OptionError("the folder does not describe its device", "give a folder with a device.json")
    rows = [(fact.key, fact.value, fact.source) for fact in analyses.descriptions.fact_lines(facts)]
    title = f"{facts.name} ({facts.platform}, {facts.driver})"
    notes = calibration.calibrate.doubts_of(facts, folder)
    output.show(
        lambda: {**facts.to_json(), "schema": FACTS_SCHEMA, "notes": list(notes)},
        lambda: "\n".join([f"{title}\n\n{display.columns_text(rows, 3, output.table_width())}",
                           *(f"note: {note}" for note in notes)]),
    )  # fmt: skip


def doctor_command() -> None:
    """Check Python, the libraries and the OpenCL devices, and print commands that repair them.

    The status is 1 if kernels cannot be counted, measured, fitted or predicted.
    """
    parts, json = [], output.settings().json
    for part in calibration.installation.diagnose():
        parts.append(part)
        if not json:
            output.print_text(_part_line(part))
            sys.stdout.flush()
    runs = all(part.status != calibration.installation.WRONG for part in parts)
    if json:
        output.print_document({"schema": DOCTOR_SCHEMA, "ok": runs, "parts": [asdict(part) for part in parts]})
    if not runs:
        raise typer.Exit(1)


def _part_line(part: calibration.installation.Part) -> str:
    comment = f" ({part.message})" if part.message and part.status == "ok" else ""
    if part.status == "ok":
        return f"{part.name:<17} {part.found + ' ' if part.found else ''}ok{comment}"
    found = f"{part.found}: " if part.found else ""
    return f"{part.name:<17} {part.status}: {found}{part.message}; repair it with: {part.repair}"
