"""Giving the records of a store other counts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from perfmodel.io import write_whole
from perfmodel.store.files import append_counts, paths
from perfmodel.store.measurement import canonical
from perfmodel.store.reading import read_lines
from perfmodel.store.records import read_row

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts

#: Which records: of this kernel class and variant (canonical JSON), with this code and these counts, by their hashes.
Place = tuple[str, str, str, str]


def rename_counts(path: Path | str, new: Mapping[Place, KernelCounts]) -> int:
    """Let records name other counts; return the number of records that were changed.

    The new counts are added first, and the file of records is then replaced whole, so that a kill at any instant
    leaves a store that can be read. The old counts stay. No campaign may write to the store meanwhile.

    Raises
    ------
    StoreFormatError
        No line of the store can be read. Damaged lines stay as they are.
    OutputError
        The store cannot be written.
    """
    rows_path, _ = paths(path)
    rows, _ = read_lines(rows_path, read_row)
    lines = rows_path.read_bytes().split(b"\n")
    changed = 0
    for number, row in rows:
        place = (row.kernel, canonical(row.variant), row.kernel_hash, row.counts_hash)
        if place in new:
            append_counts(path, new[place])
            lines[number - 1] = json.dumps({**json.loads(lines[number - 1]), "counts_hash": new[place].hash}).encode()
            changed += 1
    if changed:
        write_whole(rows_path, b"\n".join(lines))
    return changed
