"""``perfmodel recount``: whether the stored counts of measured kernels are still those of today's counters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perfmodel.cli.options import Json, Kernels
from perfmodel.cli.output import print_document, print_text

if TYPE_CHECKING:
    from perfmodel.calibration.recounting import Recount

SCHEMA = "perfmodel.recount/1"
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


def command(stores: Stores, kernels: Kernels = None, write: Write = False, json: Json = False) -> None:
    """Count measured kernels again, and list which counts differ from the stored ones.

    It takes about a minute for a device's folder.
    """
    from perfmodel.calibration import recounting
    from perfmodel.calibration.kernel_choice import TEST_KERNELS, discovered
    from perfmodel.cli.settings import Bar

    classes = discovered(kernels) if kernels else (*discovered(None), *discovered(None, TEST_KERNELS))
    found = recounting.recount(stores, classes, Bar())
    records = recounting.write(found) if write else 0
    if json:
        rows = [_row(one) for one in found]
        print_document({"schema": SCHEMA, "kernels": rows, "records_written": records})
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
