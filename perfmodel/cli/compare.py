"""``perfmodel compare``: model families side by side on measured test kernels; needs no device."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perfmodel.cli.options import Json
from perfmodel.errors import OptionError

if TYPE_CHECKING:
    from perfmodel.compare import Contender
    from perfmodel.models import Family
    from perfmodel.store import Measurements

STORES = Path("fitted_weights")

Names = Annotated[
    list[str] | None, typer.Option("--family", help="A model family; repeat for more. All of them by default.")
]
Devices = Annotated[
    list[str] | None,
    typer.Option("--device", help="Part of a measured device's name; repeat for more. All of them by default."),
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
    csv: Csv = False,
    json: Json = False,
) -> None:
    """Fit every model family to the same measurements and print one table of how good each is."""
    from perfmodel.report import families_csv, families_document, families_table

    folders = source or measured_folders(STORES, tuple(device or ()))
    found = [contenders(folder, tuple(family or ()), given_facts) for folder in folders]
    every = [one for each in found for one in each]
    if json:
        from json import dumps

        print(dumps(families_document(every), indent=1))
    elif csv:
        print(families_csv(every), end="")
    else:
        print("\n\n".join(map(families_table, found)))


def contenders(folder: Path, names: tuple[str, ...] = (), given_facts: bool = False) -> tuple[Contender, ...]:
    """Fit families, all by default, to a folder's measurements, and judge them on the same cases.

    A family that can take numbers which are read off the measurements (roofs, latencies) contends
    twice: with them fitted like other weights, and, under ``<name> (measured)``, with them fixed.
    """
    from perfmodel.cli.progress import Bar
    from perfmodel.compare import on_common_cases, side_by_side
    from perfmodel.fitting import FitOptions
    from perfmodel.fitting.device_folder import measured_folder
    from perfmodel.fitting.facts.measured_facts import with_measured_facts
    from perfmodel.models import families, find_family

    chosen = [find_family(name) for name in names or families()]
    plain = measured_folder(folder, measured_facts=False)
    told = with_measured_facts(plain[0])
    measured = told, plain[1].with_facts(told.facts)
    twice = [replace(one, name=f"{one.name} (measured)") for one in chosen if _takes(one, plain[0], measured[0])]
    options, progress, found = FitOptions(fit_facts=not given_facts), Bar(), []
    progress.start(f"families on {measured[0].device}", len(chosen) + len(twice))
    try:
        for one in chain(side_by_side(*plain, chosen, options), side_by_side(*measured, twice, options)):
            progress.advance(f"{one.family}: {one.problem}" if one.problem else one.family)
            found.append(one)
    finally:
        progress.stop()
    return on_common_cases(sorted(found, key=lambda one: one.family))


def _takes(family: Family, plain: Measurements, measured: Measurements) -> bool:
    """Return whether a family takes a fact that only the measurements tell."""
    told = set(measured.facts or ()) - set(plain.facts or ())
    return any(weight.fact in told for weight in family.weights)


def measured_folders(root: Path, wanted: tuple[str, ...] = ()) -> list[Path]:
    """Return the folders below `root` that hold measured test kernels, of the devices wanted.

    Raises
    ------
    OptionError
        If there is none, or none of a device that is wanted.
    """
    from perfmodel.store import TESTS_FILE

    folders = {path.parent.name: path.parent for path in sorted(root.glob(f"*/{TESTS_FILE}"))}
    for name in wanted or ("",):
        if not any(name.lower() in slug for slug in folders):
            known = ", ".join(folders) or "none"
            raise OptionError(
                f"no device measured in '{root}' matches '{name}' (there are: {known})",
                "give a part of such a name, or a folder with --from",
            )
    return [path for slug, path in folders.items() if not wanted or any(name.lower() in slug for name in wanted)]
