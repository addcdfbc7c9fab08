"""``perfmodel devices`` and ``doctor``: which OpenCL devices there are, what is known of one, and what is installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perfmodel import display
from perfmodel.cli import output
from perfmodel.errors import NoDeviceError, OptionError

if TYPE_CHECKING:
    from perfmodel.calibration.installation import Part
    from perfmodel.facts import Fact
    from perfmodel.opencl import Device
    from perfmodel.store import Measurements

SCHEMA = "perfmodel.devices/1"
FACTS_SCHEMA = "perfmodel.facts/1"
DOCTOR_SCHEMA = "perfmodel.doctor/1"
HEADER = ("", "device", "platform", "units", "memory", "local", "max group", "sub-group")
#: On a narrow terminal these are left out, the first one first.
LESS = ("local", "max group", "memory", "sub-group", "platform", "units")

Folder = Annotated[
    Path | None,
    typer.Option("--from", metavar="FOLDER", help="Instead, print all facts of a measured device, with their sources."),
]
Picture = Annotated[
    Path | None,
    typer.Option("--picture", metavar="FILE.png|.svg", help="With --from: draw the curves of its probes."),
]


def devices_command(folder: Folder = None, picture: Picture = None) -> None:
    """List the OpenCL devices, with what they report of themselves and what is assumed of them."""
    from perfmodel.facts import with_assumed_facts
    from perfmodel.opencl import devices

    if folder is not None:
        _show_folder(folder, picture)
        return
    if picture is not None:
        raise OptionError("--picture was given without --from", "name the folder of a probed device with --from")
    known = devices()

    def document() -> dict[str, Any]:
        rows = [{"index": device.index, **with_assumed_facts(device.facts).to_json()} for device in known]
        return {"schema": SCHEMA, "devices": rows}

    output.show(document, lambda: "\n".join(_device_lines(known)))


def _device_lines(known: tuple[Device, ...]) -> Iterator[str]:
    from perfmodel.facts import assumed_facts

    if not known:
        raise NoDeviceError
    rows = [HEADER]
    for device in known:
        facts = device.facts
        width = f"{facts.value('subgroup_size')}{'' if _reports_width(device) else '*'}"
        rows.append((
            str(device.index), device.name, device.platform, str(facts.value("compute_units")),
            _size(facts.value("global_memory_bytes")), _size(facts.value("local_memory_bytes")),
            str(facts.value("max_work_group_size")), width,
        ))  # fmt: skip
    yield display.fitted_text(rows, 3, LESS, output.table_width())
    if not all(map(_reports_width, known)):
        yield "* not reported by the device: its preferred work-group size multiple"
    for device in known:
        for key, fact in assumed_facts(device.facts).items():
            yield f"device {device.index}: {key} = {fact.value}, {fact.source}"


def _reports_width(device: Device) -> bool:
    """Return whether a device itself tells the size of its sub-groups."""
    return device.facts.fact("subgroup_size").source.startswith("CL_")


def _size(octets: int) -> str:
    """Write a number of bytes in binary units.

    >>> _size(2097152), _size(4399457280)
    ('2 MiB', '4.1 GiB')
    """
    value, unit = float(octets), "B"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            break
        value /= 1024
    return f"{value:.1f}".removesuffix(".0") + f" {unit}"


def _show_folder(folder: Path, picture: Path | None) -> None:
    """Print the facts of a measured device, and draw the curves of its probes if that is asked for."""
    from perfmodel.report.probes import picture_probes
    from perfmodel.store import read
    from perfmodel.store.files import read_probes

    measured = read(folder)
    if picture is not None:
        picture_probes(read_probes(folder), measured.facts, picture)
    show_facts(measured)


def show_facts(measured: Measurements) -> None:
    """Print all that is known of the device of measurements, as a table or as one document."""
    facts = measured.facts
    if facts is None:
        raise OptionError("the folder does not describe its device", "give a folder with a device.json")
    rows = [(key, value_text(fact), fact.source) for key, fact in facts.facts]
    title = f"{facts.name} ({facts.platform}, {facts.driver})"
    output.show(
        lambda: {**facts.to_json(), "schema": FACTS_SCHEMA},
        lambda: f"{title}\n\n{display.stacked_text(rows, 3, output.table_width())}",
    )


def value_text(fact: Fact) -> str:
    """Write a fact's value with its unit.

    >>> from perfmodel.facts import Fact
    >>> value_text(Fact(1.3344e-9, "s", "measured")), value_text(Fact("serial", "", "measured"))
    ('1.334e-09 s', 'serial')
    """
    value: Any = fact.value
    number = f"{value:.4g}" if isinstance(value, float) else str(value)
    return f"{number} {fact.unit}".strip()


def doctor_command() -> None:
    """Check Python, the libraries and the OpenCL devices; print the command that repairs what is wrong.

    The exit status is 1 if the main job (count, measure, fit, predict) cannot run.
    """
    from perfmodel.calibration.installation import WRONG, diagnose

    parts, json = [], output.settings().json
    for part in diagnose():
        parts.append(part)
        if not json:
            output.print_text(_part_line(part))
            sys.stdout.flush()
    runs = all(part.status != WRONG for part in parts)
    if json:
        output.print_document({"schema": DOCTOR_SCHEMA, "ok": runs, "parts": [asdict(part) for part in parts]})
    if not runs:
        raise typer.Exit(1)


def _part_line(part: Part) -> str:
    comment = f" ({part.message})" if part.message and part.status == "ok" else ""
    if part.status == "ok":
        return f"{part.name:<13}{part.found + ' ' if part.found else ''}ok{comment}"
    found = f"{part.found}: " if part.found else ""
    return f"{part.name:<13}{part.status}: {found}{part.message}; mend it with: {part.mend}"
