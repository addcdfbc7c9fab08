"""The store of measurements: append-only JSON Lines, enough to refit with no device (``docs/store.md``)."""

from perfmodel.documents import canonical
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
from perfmodel.store.measurement import SCHEMA, Key, Measurement, Status, Visit
from perfmodel.store.measurements import Measurements

__all__ = [
    "SAMPLES_FILE", "SCHEMA", "TESTS_FILE", "Key", "Measurement", "Measurements", "Status", "Visit", "append",
    "append_counts", "append_line", "canonical", "csv_text", "device_path", "pack", "paths", "prepare", "read",
    "read_lines", "t4", "table",
]  # fmt: skip
