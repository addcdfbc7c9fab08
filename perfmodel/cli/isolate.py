"""``perfmodel isolate``: whether each measurement kernel's time follows the feature that it isolates."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perfmodel.cli.options import Classes, DeviceName, Json, Kernels
from perfmodel.cli.output import print_document, print_text
from perfmodel.cli.settings import table_width

SCHEMA = "perfmodel.isolations/1"

Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="FOLDER", help="Store that keeps the proofs; fitted_weights/<device> by default."),
]


def command(
    device: DeviceName = None, kernels: Kernels = None, classes: Classes = None, out: Out = None, json: Json = False
) -> None:
    """Double each isolated count on a device, and see by how much the time rises.

    It takes a few minutes. A class that fails stays in the table, as not proved; docs/lab/isolation.md has the details.
    """
    from perfmodel.calibration.kernel_choice import chosen_classes, discovered
    from perfmodel.cli.settings import Bar
    from perfmodel.measuring import pin_threads
    from perfmodel.measuring.isolation import prove_isolation
    from perfmodel.opencl import find
    from perfmodel.report.memory_hierarchy import isolation_table
    from perfmodel.store.isolation import isolation_path

    chosen = chosen_classes(discovered(kernels), classes or ())
    pin_threads()
    target = find(device)
    path = out or Path("fitted_weights") / target.slug
    proofs = prove_isolation(chosen, target, path, Bar())
    if json:
        rows = [{**proof.model_dump(mode="json", by_alias=True), "proved": proof.proved} for proof in proofs]
        print_document({"schema": SCHEMA, "device": target.name, "file": str(isolation_path(path)), "proofs": rows})
    else:
        print_text(f"{isolation_table(proofs, table_width())}\n\nproofs are in {isolation_path(path)}")
