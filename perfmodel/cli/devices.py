"""``perfmodel devices`` and ``doctor``: which OpenCL devices there are, what is known of one, and what is installed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perfmodel.cli.output import print_document, print_text
from perfmodel.cli.settings import table_width
from perfmodel.errors import NoDeviceError, OptionError

if TYPE_CHECKING:
    from perfmodel.calibration.installation import Part
    from perfmodel.facts import DeviceFacts, Fact
    from perfmodel.opencl import Device
    from perfmodel.store import Measurements

SCHEMA = "perfmodel.devices/1"
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


def devices_command(folder: Folder = None, picture: Picture = None, json: bool = False) -> None:
    """List the OpenCL devices, with what they report of themselves and what is assumed of them."""
    from perfmodel.facts import with_assumed_facts
    from perfmodel.opencl import devices

    if folder is not None:
        _show_folder(folder, picture, json)
        return
    if picture is not None:
        raise OptionError("--picture was given without --from", "name the folder of a probed device with --from")
    found = devices()
    if json:
        rows = [{"index": one.index, **with_assumed_facts(one.facts).to_json()} for one in found]
        print_document({"schema": SCHEMA, "devices": rows})
        return
    if not found:
        raise NoDeviceError
    _print_table(found)


def _show_folder(folder: Path, picture: Path | None, json: bool) -> None:
    """Print the facts of a measured device, and draw the curves of its probes if that is asked for."""
    from perfmodel.report.probes import picture_probes
    from perfmodel.store import read
    from perfmodel.store.files import read_probes

    measured = read(folder)
    if picture is not None:
        picture_probes(read_probes(folder), measured.facts, picture)
    show_facts(measured, json)


def _print_table(found: tuple[Device, ...]) -> None:
    from perfmodel.display import fitted_text
    from perfmodel.facts import assumed_facts

    rows = [HEADER, *map(_cells, found)]
    print_text(fitted_text(rows, 3, LESS, table_width()))
    if any(not d.facts.fact("subgroup_size").source.startswith("CL_") for d in found):
        print_text("* not reported by the device: its preferred work-group size multiple")
    for device in found:
        for key, fact in assumed_facts(device.facts).items():
            print_text(f"device {device.index}: {key} = {fact.value}, {fact.source}")


def _cells(device: Device) -> tuple[str, ...]:
    facts = device.facts
    reported = facts.fact("subgroup_size").source.startswith("CL_")
    return (
        str(device.index),
        device.name,
        device.platform,
        str(facts.value("compute_units")),
        _size(facts.value("global_memory_bytes")),
        _size(facts.value("local_memory_bytes")),
        str(facts.value("max_work_group_size")),
        f"{facts.value('subgroup_size')}{'' if reported else '*'}",
    )


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


DOCTOR_SCHEMA = "perfmodel.doctor/1"


def doctor_command(json: bool = False) -> None:
    """Check Python, the libraries and the OpenCL devices; print the command that repairs what is wrong.

    The exit status is 1 if the main job (count, measure, fit, predict) cannot run.
    """
    from perfmodel.calibration.installation import WRONG, diagnose

    parts = []
    for part in diagnose():
        parts.append(part)
        if not json:
            print_text(_part_line(part))
            sys.stdout.flush()
    runs = all(part.status != WRONG for part in parts)
    if json:
        rows = [part.to_json() for part in parts]
        print_document({"schema": DOCTOR_SCHEMA, "ok": runs, "parts": rows})
    if not runs:
        raise typer.Exit(1)


def _part_line(part: Part) -> str:
    comment = f" ({part.message})" if part.message and part.status == "ok" else ""
    if part.status == "ok":
        return f"{part.name:<13}{part.found + ' ' if part.found else ''}ok{comment}"
    found = f"{part.found}: " if part.found else ""
    return f"{part.name:<13}{part.status}: {found}{part.message}; mend it with: {part.mend}"


FACTS_SCHEMA = "perfmodel.facts/1"


def show_facts(measured: Measurements, json: bool) -> None:
    """Print all that is known of the device of measurements, as a table or as one document.

    Raises
    ------
    OptionError
        If the measurements do not say of which device they are.
    """
    facts = measured.facts
    if facts is None:
        raise OptionError("the folder does not describe its device", "give a folder with a device.json")
    if json:
        print_document({**facts.to_json(), "schema": FACTS_SCHEMA})
        return
    print_text(f"{facts.name} ({facts.platform}, {facts.driver})\n\n{facts_table(facts)}")


def facts_table(facts: DeviceFacts) -> str:
    """Return a row for each fact: key, value, unit and source."""
    from perfmodel.display import stacked_text

    return stacked_text([(key, value_text(fact), fact.source) for key, fact in facts.facts], 3, table_width())


def value_text(fact: Fact) -> str:
    """Write a fact's value with its unit.

    >>> from perfmodel.facts import Fact
    >>> value_text(Fact(1.3344e-9, "s", "measured")), value_text(Fact("serial", "", "measured"))
    ('1.334e-09 s', 'serial')
    """
    value: Any = fact.value
    number = f"{value:.4g}" if isinstance(value, float) else str(value)
    return f"{number} {fact.unit}".strip()
