"""The files of a store: their places, reading and appending, and packing of counts."""

from __future__ import annotations

import lzma
import os
import warnings
from dataclasses import asdict
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfmodel.documents import Schema, json_text, require, value_of
from perfmodel.errors import DocumentError, SetAsideWarning, StoreError
from perfmodel.facts import FACTS_FILE, DeviceFacts, read_device, read_facts, with_assumed_facts
from perfmodel.facts.doubts import with_probed_facts
from perfmodel.facts.probed import SCHEMA, ProbeRun
from perfmodel.io import replace_file
from perfmodel.store import lines
from perfmodel.store.lines import append_line, opened, read_counts, read_lines, read_row
from perfmodel.store.measurement import Measurement
from perfmodel.store.measurements import Measurements

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts

ROWS_FILE, COUNTS_FILE, PROBES_FILE = "measurements.jsonl", "counts.jsonl", "probes.jsonl"
DEVICE_FILE = "device.json"
PROBE = Schema(SCHEMA, "probe again: perfmodel calibrate --probes")
TESTS_FILE = "test.jsonl"  #: measurements of test kernels in a device's folder
SAMPLES_FILE = "samples.jsonl"  #: measurements of random samples in a device's folder
PRESET = 6  # preset of xz for packed counts: a fixed one makes the bytes reproducible


def paths(path: Path | str) -> tuple[Path, Path]:
    """Return the files of rows and of counts of the store at `path` (a folder, or the ``.jsonl`` itself)."""
    path = Path(path)
    rows = path if path.suffix == ".jsonl" else path / ROWS_FILE
    return rows, rows.parent / COUNTS_FILE


def device_path(path: Path | str) -> Path:
    """Return the file that describes a store's device. A store of another device has its own file next to this one."""
    rows, _ = paths(path)
    return rows.with_name(DEVICE_FILE if rows.name == ROWS_FILE else f"{rows.stem}.{DEVICE_FILE}")


def packed_path(path: Path | str) -> Path:
    """Return the packed file of counts of the store at `path`."""
    _, plain = paths(path)
    return plain.with_name(plain.name + lines.PACKED)


def pack(path: Path | str) -> None:
    """Pack the counts of a store into ``counts.jsonl.xz``. A campaign appends to a plain file.

    Equal counts give equal bytes. If a line is damaged, nothing is packed. A kill at any instant loses nothing, because
    counts in both files are used once. Raise OutputError, or StoreError for a damaged packed file.
    """
    _, plain = paths(path)
    with opened(plain):
        counts, damaged = _read_counts(path)
        if damaged:
            return
        texts = (json_text({"hash": digest, "counts": document}) for digest, document in counts.items())
        _replace(packed_path(path), lzma.compress("".join(f"{text}\n" for text in texts).encode(), preset=PRESET))
        plain.unlink()


def _read_counts(path: Path | str) -> tuple[dict[str, Any], tuple[str, ...]]:
    files = [file for file in (packed_path(path), paths(path)[1]) if file.is_file()]
    read = [read_lines(file, read_counts, needed=len(files) == 1) for file in files]
    documents = {stored.hash: stored.counts for found, _ in read for _, stored in found}
    return documents, tuple(sentence for _, sentences in read for sentence in sentences)


def read(path: Path | str) -> Measurements:
    """Read a store.

    A line is left out with a SetAsideWarning if it is torn, has an unknown schema, or has counts that do not match
    their hash. ``Measurements.set_aside`` names such lines too. Raise a StoreError if there is no store at `path`, a
    newer version of perfmodel wrote it, or no line of a file can be read. Raise a FactsError if ``facts.yaml`` is not
    valid.
    """
    require(isinstance(path, (str, Path)), "read: path", path, "the path of a store")
    rows_path, _ = paths(path)
    if not rows_path.is_file():
        raise no_store(path)
    rows, damaged = read_lines(rows_path, read_row)
    documents, more = _read_counts(path)
    records = tuple(row for _, row in rows)
    return Measurements(records, documents, damaged + more, _facts(rows_path, records), str(rows_path))


def no_store(path: Path | str) -> StoreError:
    """Return the error for a path without measurements."""
    advice = "give a .jsonl file or a folder with measurements.jsonl, or make one with 'perfmodel measure --store'"
    return StoreError(f"no measurements at '{path}'", advice)


def other_device(path: Path | str, holds: str, given: str) -> StoreError:
    """Return the error for a store that has records of one device and was given another device."""
    problem = f"'{path}' holds records of {holds}, not of {given}"
    advice = "a store belongs to one device: give another folder (--store), or choose that device (--device)"
    return StoreError(problem, advice)


def prepare(path: Path | str, facts: DeviceFacts | None = None) -> None:
    """Make the store's folder and its empty file, so that a store that cannot be written is reported early.

    With `facts`, the store belongs to that device. The function writes ``device.json`` if facts are new or changed.
    Raise OutputError, or StoreError if the store belongs to another device or a newer version of perfmodel wrote it.
    """
    rows_path, _ = paths(path)
    with opened(rows_path):
        if facts is None:
            return
        _check_owner(rows_path, facts.name, facts.platform)
        target = device_path(path)
        known = _read_device(target)
        if known is not None:
            _compare(target, (known.name, known.platform), (facts.name, facts.platform))
        known = known or _read_device(rows_path.with_name(DEVICE_FILE))
        if known is None or known.hash != facts.hash:
            _replace(target, f"{json_text(facts.to_json(), indent=2)}\n".encode())


def append(path: Path | str, measurement: Measurement, counts: KernelCounts | None = None) -> None:
    """Append a record, after its counts if the store lacks them. A record of another device raises StoreError."""
    rows_path, _ = paths(path)
    if counts is not None:
        append_counts(path, counts)
    with opened(rows_path) as file:
        _check_owner(rows_path, measurement.device, measurement.platform)
        lines.write_line(rows_path, file, measurement.model_dump(mode="json", by_alias=True))


_known: dict[Path, tuple[tuple[int, int], set[str]]] = {}
"""For each file of counts: its size and time of change at this process's last use, and the hashes in the store."""


def append_counts(path: Path | str, counts: KernelCounts) -> None:
    """Append counts to the plain file of a store that does not have them, or raise OutputError."""
    plain = paths(path)[1].absolute()
    with opened(plain) as file:
        state, hashes = _known.get(plain, ((-1, -1), set()))
        if state != _state(file):  # another process wrote, or another file is here now
            hashes = _hashes(plain)
        if counts.hash not in hashes:
            lines.write_line(plain, file, {"hash": counts.hash, "counts": counts.to_json()})
            hashes.add(counts.hash)
        _known[plain] = _state(file), hashes


def _state(file: FileIO) -> tuple[int, int]:
    status = os.fstat(file.fileno())
    return status.st_size, status.st_mtime_ns


def _hashes(plain: Path) -> set[str]:
    files = [file for file in (packed_path(plain.parent), plain) if file.is_file()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SetAsideWarning)  # `read` warns
        return {stored.hash for file in files for _, stored in read_lines(file, read_counts, needed=False)[0]}


def _check_owner(path: Path, device: str, platform: str) -> None:
    with path.open("rb") as rows:
        for number, line in enumerate(rows, start=1):
            try:
                first = read_row(line)
            except DocumentError as error:
                if error.newer:
                    raise lines.wrong_line(path, number, error.problem) from error
                continue  # torn or damaged; `read` reports it
            _compare(path, (first.device, first.platform), (device, platform))
            return


def _compare(path: Path, holds: tuple[str, str], given: tuple[str, str]) -> None:
    if holds != given:
        raise other_device(path, *(f"'{device}' ({platform})" for device, platform in (holds, given)))


def _facts(rows_path: Path, rows: tuple[Measurement, ...]) -> DeviceFacts | None:
    """Return the device's facts. Later ones replace earlier ones: assumed, probed, reported, of ``facts.yaml``."""
    owners = {(row.device, row.platform) for row in rows}
    folder, written = _read_device(rows_path.with_name(DEVICE_FILE)), rows_path.with_name(FACTS_FILE)
    facts = _read_device(device_path(rows_path)) or folder
    if facts is None and len(owners) == 1 and written.is_file():  # the device reported nothing
        facts = folder = DeviceFacts(rows[0].device, rows[0].platform, rows[0].driver, ())
    if facts is None or owners - {(facts.name, facts.platform)}:
        return None  # device.json may describe the device of another store in the folder
    facts = with_probed_facts(facts, read_probes(rows_path))
    if written.is_file() and folder and facts.slug == folder.slug:
        facts = facts.updated(read_facts(written))
    return with_assumed_facts(facts)


def _read_device(path: Path) -> DeviceFacts | None:
    return read_device(path) if path.is_file() else None


def _replace(path: Path, content: bytes) -> None:
    try:
        replace_file(path, content)
    except OSError as error:
        raise lines.failure(path, error) from error


def probes_path(path: Path | str) -> Path:
    """Return the file of probes in the folder of a store (a folder, or a ``.jsonl`` file in it)."""
    return paths(path)[0].with_name(PROBES_FILE)


def append_probe(path: Path | str, run: ProbeRun) -> None:
    """Append a visit of a probe to the folder of a store, or raise OutputError."""
    append_line(probes_path(path), asdict(run))


def read_probes(path: Path | str) -> tuple[ProbeRun, ...]:
    """Return the visits of probes in the folder of a store, or none without a file. Raise StoreError for a bad file."""
    file = probes_path(path)
    if not file.is_file():
        return ()
    return tuple(run for _, run in read_lines(file, lambda line: value_of(ProbeRun, line, PROBE), needed=False)[0])
