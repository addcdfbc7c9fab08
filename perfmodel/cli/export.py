"""``perfmodel export``: measurements for other programs; needs no device."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perfmodel.cli.options import Json, Source
from perfmodel.cli.output import one_output, print_document

SCHEMA = "perfmodel.export/1"

T4File = Annotated[
    Path | None,
    typer.Option("--t4", metavar="FILE", help="Write the auto-tuning community's T4 JSON; - prints it."),
]
CsvFile = Annotated[
    Path | None, typer.Option("--csv", metavar="FILE", help="Write a table, one line each; - prints it.")
]


def command(source: Source, t4: T4File = None, csv: CsvFile = None, json: Json = False) -> None:
    """Write the newest record of each configuration for other programs."""
    from perfmodel import store
    from perfmodel.documents import json_text
    from perfmodel.errors import NothingAskedError
    from perfmodel.io import is_standard_output, write_whole

    if t4 is None and csv is None:
        raise NothingAskedError(("--t4 FILE", "--csv FILE"))
    one_output(json, t4=t4, csv=csv)
    found = store.read(source)
    texts = {}
    if t4 is not None:
        texts["t4"] = t4, json_text(found.to_t4(), indent=1) + "\n"
    if csv is not None:
        texts["csv"] = csv, store.csv_text(found.current)
    for path, text in texts.values():
        write_whole(path, text.encode())
    files = {name: str(path) for name, (path, _) in texts.items() if not is_standard_output(path)}
    if json:
        print_document({"schema": SCHEMA, "rows": len(found.current), "files": files})
    elif files:
        print(f"wrote {len(found.current)} configurations to {' and '.join(files.values())}")
