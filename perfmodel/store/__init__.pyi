from .exchange import csv_text, t4, table
from .files import SAMPLES_FILE, TESTS_FILE, append, append_counts, device_path, pack, paths, prepare, read
from .lines import append_line, read_lines
from .measurement import SCHEMA, Key, Measurement, Status, Visit
from .measurements import Measurements

__all__ = [
    "SAMPLES_FILE", "SCHEMA", "TESTS_FILE", "Key", "Measurement", "Measurements", "Status", "Visit", "append",
    "append_counts", "append_line", "csv_text", "device_path", "pack", "paths", "prepare", "read",
    "read_lines", "t4", "table",
]  # fmt: skip
