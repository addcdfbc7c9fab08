"""What a line of a store must be: a record of the known schema, or counts that have their hash."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from perfmodel.documents import Schema, json_document, shortened, value_of
from perfmodel.errors import DocumentError, NewerDocumentError
from perfmodel.store.measurement import SCHEMA, Measurement, canonical

RECORD = Schema(SCHEMA, "measure again: perfmodel measure --store FOLDER")


@dataclass(frozen=True)
class StoredCounts:
    """A line of ``counts.jsonl``: the JSON of a :class:`~perfmodel.counts.KernelCounts`, and its SHA-256."""

    hash: str
    counts: dict[str, Any]


def read_row(line: bytes) -> Measurement:
    """Return the record of a line of ``measurements.jsonl``.

    Raises
    ------
    DocumentError
        If it is none; the message names the kernel, where the line does.
    """
    with _named(line, "kernel"):
        row = value_of(Measurement, line, RECORD)
        runs = len(row.samples_s)
        if row.status == "ok" and runs <= row.dropped:
            raise DocumentError(
                f"has {runs} samples, of which {row.dropped} are dropped; a record that is ok needs more"
            )
        if row.device_samples_s and len(row.device_samples_s) != runs:
            raise DocumentError(f"has {runs} samples_s, and {len(row.device_samples_s)} device_samples_s of these runs")
    return row


def read_counts(line: bytes) -> StoredCounts:
    """Return the counts of a line of ``counts.jsonl``.

    Raises
    ------
    DocumentError
        If it holds none, or they are not those that the hash belongs to; the message names the kernel likewise.
    """
    with _named(line, "counts", "name"):
        found = value_of(StoredCounts, line)
        digest = hashlib.sha256(canonical(found.counts).encode()).hexdigest()
        if digest != found.hash:
            raise DocumentError(f"was changed: its hash is {found.hash:.12}, and that of its counts {digest:.12}")
    return found


@contextmanager
def _named(line: bytes, *keys: str) -> Iterator[None]:
    """Let an error about a line name the kernel that stands under these keys in it."""
    try:
        yield
    except NewerDocumentError:
        raise
    except DocumentError as error:
        try:
            found = json_document(line)
        except DocumentError:
            raise error from None
        for key in keys:
            found = found.get(key) if isinstance(found, dict) else None
        if not isinstance(found, str):
            raise
        raise DocumentError(f"(kernel {shortened(found)}) {error.problem}") from error
