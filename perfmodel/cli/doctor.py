"""``perfmodel doctor``: whether everything is installed that the main job needs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from perfmodel.cli.options import Json
from perfmodel.cli.output import print_document, print_text

if TYPE_CHECKING:
    from perfmodel.calibration.installation import Part

SCHEMA = "perfmodel.doctor/1"


def command(json: Json = False) -> None:
    """Check Python, the libraries and the OpenCL devices; print the command that repairs what is wrong.

    The exit status is 1 if the main job (count, measure, fit, predict) cannot run.
    """
    from perfmodel.calibration.installation import WRONG, diagnose

    parts = []
    for part in diagnose():
        parts.append(part)
        if not json:
            print_text(_line(part))
            sys.stdout.flush()
    runs = all(part.status != WRONG for part in parts)
    if json:
        rows = [part.to_json() for part in parts]
        print_document({"schema": SCHEMA, "ok": runs, "parts": rows})
    if not runs:
        raise typer.Exit(1)


def _line(part: Part) -> str:
    comment = f" ({part.message})" if part.message and part.status == "ok" else ""
    if part.status == "ok":
        return f"{part.name:<13}{part.found + ' ' if part.found else ''}ok{comment}"
    found = f"{part.found}: " if part.found else ""
    return f"{part.name:<13}{part.status}: {found}{part.message}; mend it with: {part.mend}"
