"""The store of measurements: append-only JSON Lines, enough to refit with no device.

``measurements.jsonl`` has one record for each visit to a configuration, ``counts.jsonl`` (packed: ``counts.jsonl.xz``)
each :class:`~perfmodel.counts.KernelCounts` once, by its hash, and ``device.json`` the facts that the device reports.
Records are written whole: a kill at any instant loses at most the record under way, whose written part moves to another
file before the next record. ``docs/store.md`` describes every field.
"""

from perfmodel.store.exchange import csv_text, t4, table
from perfmodel.store.files import (
    SAMPLES_FILE,
    TESTS_FILE,
    append,
    append_counts,
    device_path,
    pack,
    paths,
    prepare,
    read,
)
from perfmodel.store.lines import append_line, read_lines
from perfmodel.store.measurement import SCHEMA, Key, Measurement, Status, Visit, canonical
from perfmodel.store.measurements import Measurements

__all__ = [
    "SAMPLES_FILE", "SCHEMA", "TESTS_FILE", "Key", "Measurement", "Measurements", "Status", "Visit", "append",
    "append_counts", "append_line", "canonical", "csv_text", "device_path", "pack", "paths", "prepare", "read",
    "read_lines", "t4", "table",
]  # fmt: skip
