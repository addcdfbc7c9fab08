"""``perfmodel roofline``: how near measured kernels come to what the device can do; needs no device."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perfmodel.cli.options import DeviceFile, Json, given_facts_of
from perfmodel.cli.output import one_output, print_document, print_text, text_stream
from perfmodel.cli.settings import table_width

Source = Annotated[
    Path, typer.Option("--from", metavar="FOLDER", help="Folder with measurements.jsonl and test.jsonl.")
]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="PNG", help="Draw the picture into this file; - is standard output.")
]
Every = Annotated[bool, typer.Option("--all-sizes", help="Not only each kernel's largest size.")]


def command(
    source: Source, out: Out = None, all_sizes: Every = False, facts: DeviceFile = None, json: Json = False
) -> None:
    """Print how near the test kernels of a device come to the best that its measurements reached."""
    from perfmodel.analyses.roofline import largest, roofline_points
    from perfmodel.fitting.device_folder import measured_folder
    from perfmodel.report.roofline import picture_roofline, roofline_document, roofline_table

    one_output(json, out=out)
    _, tests = measured_folder(source, given=given_facts_of(facts))
    known = tests.known_facts
    points = roofline_points(tests)
    shown = points if all_sizes else largest(points)
    if out is not None:
        picture_roofline(shown, known, out, f"{known.slug}: roofs and test kernels")
    if json:
        print_document(roofline_document(shown, known))
    else:
        print_text(roofline_table(shown, known, table_width()), text_stream(out))
