"""``perfmodel export``, ``import`` and ``recount``: measurements for other programs, from them, and from old counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perfmodel.cli.options import Kernels, Sizes, Source, sizes
from perfmodel.cli.output import one_output, print_document, print_text

if TYPE_CHECKING:
    from perfmodel.calibration.recounting import Recount
    from perfmodel.hooks import Imported

SCHEMA = "perfmodel.export/1"

Out = Annotated[
    Path,
    typer.Option(
        "--out", "--output", "-o", metavar="FILE",
        help="A CSV table, one line for each configuration, or where the name ends in .json the auto-tuning "
        "community's T4 JSON; - prints the table.",
    ),
]  # fmt: skip


def export_command(source: Source, out: Out, json: bool = False) -> None:
    """Write the newest record of each configuration for other programs."""
    from perfmodel import store
    from perfmodel.documents import json_text
    from perfmodel.io import is_standard_output, write_whole

    one_output(json, out=out)
    found, form = store.read(source), "t4" if out.suffix == ".json" else "csv"
    text = store.csv_text(found.current) if form == "csv" else json_text(found.to_t4(), indent=1) + "\n"
    write_whole(out, text.encode())
    if json:
        print_document({"schema": SCHEMA, "rows": len(found.current), "files": {form: str(out)}})
    elif not is_standard_output(out):
        print(f"wrote {len(found.current)} configurations to {out}")


IMPORT_SCHEMA = "perfmodel.import/1"
#: Sentences on refused results that are shown without ``--json``.
SHOWN = 5

File = Annotated[Path, typer.Argument(metavar="FILE", help="A cache file of Kernel Tuner, or T4 results.")]
TunedKernel = Annotated[
    Path,
    typer.Option("--kernel", metavar="KERNEL.PY", help="The kernel that was tuned: build(**config), or variants()."),
]
Target = Annotated[Path, typer.Option("--store", metavar="FOLDER", help="Folder or .jsonl file for the records.")]
Named = Annotated[str | None, typer.Option("--device", help="Name of the device; by default what the file says.")]
By = Annotated[str | None, typer.Option("--by", metavar="NAME", help="The parameter that names one of variants().")]


def import_command(
    file: File,
    kernel: TunedKernel,
    target: Target,
    size: Sizes = None,
    device: Named = None,
    by: By = None,
    json: bool = False,
) -> None:
    """Add the results of Kernel Tuner, or of a T4 file, to a store of measurements; each kernel is counted."""
    from perfmodel.hooks import import_results

    found = import_results(file, kernel, target, sizes(size), device=device, by=by)
    if json:
        print_document(_import_document(found, target))
    else:
        for line in _import_lines(found, target):
            print_text(line)


def _import_document(found: Imported, target: Path) -> dict[str, object]:
    return {
        "schema": IMPORT_SCHEMA,
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


def _import_lines(found: Imported, target: Path) -> list[str]:
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


RECOUNT_SCHEMA = "perfmodel.recount/1"
WORDS = {
    "same": "have the same counts",
    "rewritten": "have equal counts of another hash",
    "changed": "have other counts",
    "other code": "are other code than was measured",
    "gone": "have no source any more",
    "failed": "cannot be counted any more",
}

Stores = Annotated[
    list[Path], typer.Argument(metavar="STORE...", help="Folders or .jsonl files with measurements.")
]
Write = Annotated[
    bool, typer.Option("--write", help="Let the records name the new counts; then fit again, with `perfmodel fit`.")
]


def recount_command(stores: Stores, kernels: Kernels = None, write: Write = False, json: bool = False) -> None:
    """Count measured kernels again, and list which counts differ from the stored ones.

    It takes about a minute for a device's folder.
    """
    from perfmodel.calibration import recounting
    from perfmodel.calibration.kernel_choice import TEST_KERNELS, discovered
    from perfmodel.cli.settings import CommandBar

    classes = discovered(kernels) if kernels else (*discovered(None), *discovered(None, TEST_KERNELS))
    found = recounting.recount(stores, classes, CommandBar())
    records = recounting.write(found) if write else 0
    if json:
        rows = [_row(one) for one in found]
        print_document({"schema": RECOUNT_SCHEMA, "kernels": rows, "records_written": records})
        return
    for one in found:
        _print(one)
    _print_summary(found, records if write else None)


def _row(one: Recount) -> dict[str, Any]:
    return {
        "store": one.store, "kernel": one.kernel, "variant": one.variant, "status": one.status,
        "old_hash": one.old_hash, "new_hash": None if one.new is None else one.new.hash,
        "changes": [asdict(change) for change in one.changes], "parts": list(one.parts), "message": one.message,
    }  # fmt: skip


def _print(one: Recount) -> None:
    if one.status == "same":
        return
    hashes = "" if one.new is None else f", {one.old_hash[:12]} -> {one.new.hash[:12]}"
    print_text(f"{one.store}: {one.kernel} {one.variant}: {one.status}{hashes}")
    for change in one.changes:
        print_text(f"    {change.table} {change.row}, {change.value}: {change.old} -> {change.new}")
    if one.parts and not one.changes:
        print_text(f"    no value differs; the hash does in: {', '.join(one.parts)}")
    if one.message:
        print_text(f"    {one.message}")


def _print_summary(found: Sequence[Recount], records: int | None) -> None:
    counted: Counter[str] = Counter(one.status for one in found)
    told = ", ".join(f"{counted[s]} {words}" for s, words in WORDS.items() if counted[s])
    print_text(f"{len(found)} kernels: {told}")
    if records is not None:
        print_text(f"wrote {records} records; now fit again: perfmodel fit --all --from FOLDER --out FOLDER")
    elif any(one.writable for one in found):
        print_text("nothing was written; --write lets the records name the new counts")
