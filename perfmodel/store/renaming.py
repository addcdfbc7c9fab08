"""Giving the records of a store other counts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from perfmodel.io import write_whole
from perfmodel.store.files import append_counts, paths
from perfmodel.store.lines import opened
from perfmodel.store.measurement import Measurement, canonical
from perfmodel.store.reading import read_lines
from perfmodel.store.records import read_row

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts

#: Which records: of this kernel class and variant (canonical JSON), with this code and these counts, by their hashes.
Place = tuple[str, str, str, str]


def rename_counts(path: Path | str, new: Mapping[Place, KernelCounts]) -> int:
    """Let records name other counts; return the number of records that were changed.

    The new counts are added first, and the file of records is then replaced whole, so that a kill at any instant
    leaves a store that can be read. The old counts stay. Meanwhile the file is locked: a campaign that appends to it
    waits, and appends to the new one.

    Raises
    ------
    StoreFormatError
        No line of the store can be read. Damaged lines stay as they are.
    OutputError
        The store cannot be written.
    """
    rows_path, _ = paths(path)
    with opened(rows_path):
        rows, _ = read_lines(rows_path, read_row)
        lines = rows_path.read_bytes().split(b"\n")
        meant = {number: place for number, row in rows if (place := _place(row)) in new}
        for place in dict.fromkeys(meant.values()):
            append_counts(path, new[place])
        for number, place in meant.items():
            lines[number - 1] = json.dumps({**json.loads(lines[number - 1]), "counts_hash": new[place].hash}).encode()
        if meant:
            write_whole(rows_path, b"\n".join(lines))
    return len(meant)


def _place(row: Measurement) -> Place:
    return row.kernel, canonical(row.variant), row.kernel_hash, row.counts_hash
