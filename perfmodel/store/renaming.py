"""Giving the records of a store other counts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from perfmodel.io import write_whole
from perfmodel.store.files import append_counts, paths
from perfmodel.store.lines import read_lines
from perfmodel.store.measurement import canonical

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
        A line of the store is no JSON.
    OutputError
        The store cannot be written.
    """
    rows_path, _ = paths(path)
    changed: dict[int, bytes] = {}
    for number, row in read_lines(rows_path)[0]:
        place = (row["kernel"], canonical(row["variant"]), row["kernel_hash"], row["counts_hash"])
        if place in new:
            append_counts(path, new[place])
            changed[number] = json.dumps({**row, "counts_hash": new[place].hash}).encode() + b"\n"
    if changed:
        lines = rows_path.read_bytes().splitlines(keepends=True)
        write_whole(rows_path, b"".join(changed.get(number, line) for number, line in enumerate(lines, start=1)))
    return len(changed)
