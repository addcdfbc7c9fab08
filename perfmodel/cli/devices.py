"""``perfmodel devices``: which OpenCL devices there are."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from perfmodel.cli.options import Json
from perfmodel.cli.output import print_document

if TYPE_CHECKING:
    from perfmodel.opencl import Device

SCHEMA = "perfmodel.devices/1"


def command(json: Json = False) -> None:
    """List the OpenCL devices, with what they report of themselves."""
    from perfmodel.errors import NoDeviceError
    from perfmodel.opencl import devices

    found = devices()
    if json:
        print_document({"schema": SCHEMA, "devices": [{"index": one.index, **one.facts.to_json()} for one in found]})
        return
    if not found:
        raise NoDeviceError
    _print_table(found)


def _print_table(found: tuple[Device, ...]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("", "device", "platform", box=None, pad_edge=False)
    for heading in ("units", "memory", "local", "max group", "sub-group"):
        table.add_column(heading, justify="right", no_wrap=True)
    for device in found:
        facts = device.facts
        reported = facts.fact("subgroup_size").source.startswith("CL_")
        table.add_row(
            str(device.index),
            device.name,
            device.platform,
            str(facts.value("compute_units")),
            _size(facts.value("global_memory_bytes")),
            _size(facts.value("local_memory_bytes")),
            str(facts.value("max_work_group_size")),
            f"{facts.value('subgroup_size')}{'' if reported else '*'}",
        )
    # A table in a pipe is for a program or a file: no width to fit into.
    Console(width=None if sys.stdout.isatty() else 200).print(table)
    if any(not d.facts.fact("subgroup_size").source.startswith("CL_") for d in found):
        print("* not reported by the device: its preferred work-group size multiple")


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
