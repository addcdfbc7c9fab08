"""``perfmodel compare``: model families side by side on measured test kernels; needs no device."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perfmodel.cli.options import DeviceFile, Json, given_facts_of
from perfmodel.cli.output import print_document, print_text
from perfmodel.cli.settings import table_width

if TYPE_CHECKING:
    from collections.abc import Mapping

    from perfmodel.compare import Contender
    from perfmodel.facts import Fact

STORES = Path("fitted_weights")

Names = Annotated[
    list[str] | None, typer.Option("--family", help="A model family; repeat for more. All of them by default.")
]
Devices = Annotated[
    list[str] | None,
    typer.Option(
        "--device", help="Part of a measured device's name; repeat for more. All but simulated ones by default."
    ),
]
Folders = Annotated[
    list[Path] | None,
    typer.Option("--from", metavar="FOLDER", help="Folder with measurements.jsonl and test.jsonl; for --device."),
]
Csv = Annotated[bool, typer.Option("--csv", help="Print the figures as CSV.")]
Given = Annotated[
    bool, typer.Option("--given-facts", help="Leave families out that need a fact nobody gave, rather than fit it.")
]


def command(
    device: Devices = None,
    source: Folders = None,
    family: Names = None,
    given_facts: Given = False,
    facts: DeviceFile = None,
    csv: Csv = False,
    json: Json = False,
) -> None:
    """Fit every model family to the same measurements and print one table of how good each is.

    It takes one to two minutes for each device.
    """
    from perfmodel.fitting.device_folder import measured_folders
    from perfmodel.report import families_csv, families_document, families_table

    folders = source or measured_folders(STORES, tuple(device or ()))
    given = given_facts_of(facts)
    found = [_judged(folder, tuple(family or ()), given_facts, given) for folder in folders]
    every = [one for each in found for one in each]
    if json:
        print_document(families_document(every))
    elif csv:
        print(families_csv(every), end="")
    else:
        print_text("\n\n".join(families_table(one, table_width()) for one in found))


def _judged(
    folder: Path, names: tuple[str, ...], given_facts: bool, given: Mapping[str, Fact]
) -> tuple[Contender, ...]:
    from perfmodel.cli.settings import Bar
    from perfmodel.compare.contenders import contenders

    bar = Bar()
    try:
        return contenders(folder, names, given_facts, bar.start, bar.advance, given=given)
    finally:
        bar.stop()
