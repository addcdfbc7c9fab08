"""``perfmodel data``: measurements exchanged with other programs, and the archives of recipes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from perfmodel import display, hooks, store
from perfmodel.cli import numbers, options, output
from perfmodel.documents import json_text
from perfmodel.errors import OptionError
from perfmodel.io import write_whole

if TYPE_CHECKING:
    from perfmodel.recipes import archive

EXPORT_SCHEMA, IMPORT_SCHEMA, RECIPES_SCHEMA = "perfmodel.export/1", "perfmodel.import/1", "perfmodel.recipes/1"
SHOWN = 5  # refused results that are listed without --json
KEY_SHOWN = 8  # characters of a kernel's key in the list

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

Words = Annotated[str, Argument(metavar="[DEVICE]", help="Part of a device's short name; by default all devices.")]
Key = Annotated[str, Argument(metavar="KEY", help="The first characters of the kernel's key in `data recipes`.")]


def export_command(source: Stored, out: Exported) -> None:
    """Write the newest record of each configuration for other programs."""
    output.one_output(out=out)
    measured, form = store.read(source), "t4" if out.suffix == ".json" else "csv"
    text = store.csv_text(measured.current) if form == "csv" else json_text(store.t4(measured.current), indent=1) + "\n"
    write_whole(out, text.encode())
    count = len(measured.current)
    document = {"schema": EXPORT_SCHEMA, "rows": count, "files": {form: str(out)}}
    output.show_written(out, document, f"wrote {count} configurations to {out}")


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


def recipes_command(device: Words = "") -> None:
    """List the archived recipes of each device, with their times."""
    from perfmodel.recipes import archive

    entries = {each.path: each.entries() for each in archive.archives() if device.lower() in each.path.stem}

    def document() -> dict[str, Any]:
        rows = [
            {**vars(entry), "file": str(path), "sizes": dict(entry.sizes), "recipe": entry.recipe.to_json()}
            for path, kept in entries.items() for entry in kept
        ]  # fmt: skip
        return {"schema": RECIPES_SCHEMA, "entries": rows}

    output.show(document, lambda: "\n".join(_recipe_lines(entries)) or "no recipes are archived")


def forget_command(key: Key) -> None:
    """Remove the archived recipes of a kernel, of all devices."""
    from perfmodel.recipes import archive

    count = sum(each.remove(key) for each in archive.archives())
    if not count:
        raise OptionError(f"no archived kernel has a key that begins with '{key}'", "see `perfmodel data recipes`")
    output.show(lambda: {"schema": RECIPES_SCHEMA, "removed": count}, lambda: f"removed {count} entries")


def _recipe_lines(entries: Mapping[Path, Sequence[archive.Entry]]) -> Iterator[str]:
    for path, kept in entries.items():
        yield f"{path}: {len(kept)} entries"
        rows = [
            [entry.key[:KEY_SHOWN], entry.kernel, display.values_text(dict(entry.sizes)), str(entry.recipe),
             display.seconds_text(entry.seconds), "measured" if entry.measured else "predicted", entry.driver,
             entry.date[:10]]
            for entry in sorted(kept, key=lambda entry: (entry.kernel, entry.key, entry.sizes, entry.seconds))
        ]  # fmt: skip
        heading = ["key", "kernel", "sizes", "recipe", "seconds", "time is", "driver", "date"]
        if rows:
            yield display.columns_text([heading, *rows], 4, output.table_width())
