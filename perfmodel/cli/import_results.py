"""``perfmodel import``: results of other tuners become measurements; needs no device."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perfmodel.cli.options import Json, Sizes, sizes
from perfmodel.cli.output import print_document, print_text

if TYPE_CHECKING:
    from perfmodel.hooks import Imported

SCHEMA = "perfmodel.import/1"
#: Sentences on refused results that are shown without ``--json``.
SHOWN = 5

File = Annotated[Path, typer.Argument(metavar="FILE", help="A cache file of Kernel Tuner, or T4 results.")]
TunedKernel = Annotated[
    Path,
    typer.Option("--kernel", metavar="KERNEL.PY", help="The kernel that was tuned: build(**config), or variants()."),
]
Target = Annotated[Path, typer.Option("--store", metavar="FOLDER", help="Folder or .jsonl file for the records.")]
Named = Annotated[str | None, typer.Option("--device", help="Name of the device; by default what the file says.")]
Platform = Annotated[str | None, typer.Option("--platform", help="Its platform; by default that of the store.")]
Driver = Annotated[str | None, typer.Option("--driver", help="Its driver; by default that of the store.")]
By = Annotated[str | None, typer.Option("--by", metavar="NAME", help="The parameter that names one of variants().")]
KernelName = Annotated[str | None, typer.Option("--name", help="Name of the kernel in the records.")]


def command(
    file: File,
    kernel: TunedKernel,
    target: Target,
    size: Sizes = None,
    device: Named = None,
    platform: Platform = None,
    driver: Driver = None,
    by: By = None,
    name: KernelName = None,
    json: Json = False,
) -> None:
    """Add the results of Kernel Tuner, or of a T4 file, to a store of measurements; each kernel is counted."""
    from perfmodel.hooks import import_results

    at = sizes(size)
    found = import_results(
        file, kernel, target, at, device=device, platform=platform, driver=driver, by=by, name=name
    )  # fmt: skip
    if json:
        print_document(_document(found, target))
    else:
        for line in _lines(found, target):
            print_text(line)


def _document(found: Imported, target: Path) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "file": found.path,
        "form": found.form,
        "device": found.device,
        "store": str(target),
        "added": len(found.rows),
        "statuses": found.statuses,
        "known": found.known,
        "refused": list(found.refused),
        "notes": list(found.notes),
    }


def _lines(found: Imported, target: Path) -> list[str]:
    each = ", ".join(f"{count} {status}" for status, count in found.statuses.items())
    lines = [f"{found.path}: {found.form}, {found.device}"]
    lines += [f"added {len(found.rows)} records to {target}" + f" ({each})" * bool(each)]
    if found.known:
        lines.append(f"{found.known} results were in it before")
    lines += found.notes
    if found.refused:
        lines.append(f"{len(found.refused)} results were refused:")
        lines += [f"  {sentence}" for sentence in found.refused[:SHOWN]]
        lines += [f"  and {len(found.refused) - SHOWN} more (--json names all)"] * (len(found.refused) > SHOWN)
    return lines
