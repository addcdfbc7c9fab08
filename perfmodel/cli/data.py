"""``perfmodel data import`` and ``export``: measurements exchanged with other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from perfmodel import hooks
from perfmodel.cli import numbers, options, output
from perfmodel.documents import json_text
from perfmodel.io import is_standard_output, write_whole

EXPORT_SCHEMA, IMPORT_SCHEMA = "perfmodel.export/1", "perfmodel.import/1"
SHOWN = 5  # refused results that are listed without --json

Exported = Annotated[Path, Option(
    "--out", "--output", "-o", metavar="FILE",
    help="A CSV table with a line for each configuration or, if the name ends in .json, the auto-tuning "
    "community's T4 format; - prints the table.",
)]  # fmt: skip
Stored = Annotated[Path, Argument(metavar="STORE", help="Folder or .jsonl file with measurements.")]
File = Annotated[Path, Argument(metavar="FILE", help="A cache file of Kernel Tuner, T4 results, or a CSV table.")]
TunedKernel = Annotated[Path, Option(
    "--kernel", metavar="KERNEL.PY", help="The kernel that was tuned: kernel() and space(), or build().",
)]  # fmt: skip
Target = Annotated[Path, Option("--store", metavar="FOLDER", help="Folder or .jsonl file for the records.")]
Named = Annotated[str | None, Option("--device", help="Name of the device; by default the name in the file.")]


def export_command(source: Stored, out: Exported) -> None:
    """Write the newest record of each configuration for other programs."""
    from perfmodel import store

    output.one_output(out=out)
    measured, form = store.read(source), "t4" if out.suffix == ".json" else "csv"
    text = store.csv_text(measured.current) if form == "csv" else json_text(store.t4(measured.current), indent=1) + "\n"
    write_whole(out, text.encode())
    count = len(measured.current)
    if output.settings().json:
        output.print_document({"schema": EXPORT_SCHEMA, "rows": count, "files": {form: str(out)}})
    elif not is_standard_output(out):
        output.print_text(f"wrote {count} configurations to {out}")


def import_command(
    file: File, kernel: TunedKernel, target: Target, size: options.Sizes = None, device: Named = None,
) -> None:  # fmt: skip
    """Add the results of Kernel Tuner, T4 or CSV to a store; each kernel is counted.

    If it is interrupted, run it again: it continues.
    """
    bar = output.CommandBar()
    imported = hooks.import_results(file, kernel, target, numbers.sizes(size), device=device, progress=bar)

    def document() -> dict[str, Any]:
        return {
            "schema": IMPORT_SCHEMA, "file": imported.path, "form": imported.form, "device": imported.device,
            "store": str(target), "added": len(imported.rows), "statuses": imported.statuses, "known": imported.known,
            "refused": list(imported.refused), "notes": list(imported.notes),
        }  # fmt: skip

    output.show(document, lambda: "\n".join(_import_lines(imported, target)))


def _import_lines(imported: hooks.Imported, target: Path) -> list[str]:
    each = ", ".join(f"{count} {status}" for status, count in imported.statuses.items())
    lines = [f"{imported.path}: {imported.form}, {imported.device}"]
    lines += [f"added {len(imported.rows)} records to {target}" + (f" ({each})" if each else "")]
    if imported.known:
        lines.append(f"{imported.known} results were in it before")
    lines += imported.notes
    if refused := imported.refused:
        lines.append(f"{len(refused)} results were refused:")
        lines += [f"  {sentence}" for sentence in refused[:SHOWN]]
        lines += [f"  and {len(refused) - SHOWN} more (--json lists all)"] * (len(refused) > SHOWN)
    return lines
