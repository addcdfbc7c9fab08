"""The files of a store: their places, reading and writing."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from perfmodel.errors import (
    FactsFormatError,
    ForeignDeviceError,
    NewerSchemaError,
    StoreFormatError,
    StoreMissingError,
)
from perfmodel.facts import DeviceFacts
from perfmodel.facts.documents import FACTS_FILE, read_facts
from perfmodel.io import replace_file
from perfmodel.store.hash_index import read_index
from perfmodel.store.lines import failure, opened, read_lines, write_line
from perfmodel.store.measurement import SCHEMA, Measurement
from perfmodel.store.measurements import Measurements

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts

ROWS_FILE = "measurements.jsonl"
COUNTS_FILE = "counts.jsonl"
DEVICE_FILE = "device.json"
TESTS_FILE = "test.jsonl"
"""Measurements of test kernels, beside those of measurement kernels."""



def paths(path: Path | str) -> tuple[Path, Path]:
    """Files of the store at `path` (a folder, or the ``.jsonl`` itself): rows, counts."""
    path = Path(path)
    rows = path if path.suffix == ".jsonl" else path / ROWS_FILE
    return rows, rows.parent / COUNTS_FILE


def device_path(path: Path | str) -> Path:
    """File of the store at `path` that describes its device.

    A store with a name of its own has such a file only if it is of another device than the folder.
    """
    rows, _ = paths(path)
    return rows.with_name(DEVICE_FILE if rows.name == ROWS_FILE else f"{rows.stem}.{DEVICE_FILE}")


def read(path: Path | str) -> Measurements:
    """Read a store.

    Raises
    ------
    StoreMissingError
        There is none at `path`.
    NewerSchemaError
        A newer version of perfmodel wrote it.
    StoreFormatError
        A line other than a torn last one is no record of a schema known here.
    FactsFileError
        The folder's ``facts.yaml`` is not what it should be.
    """
    rows_path, counts_path = paths(path)
    if not rows_path.is_file():
        raise StoreMissingError(path)
    documents, torn = read_lines(rows_path)
    rows = tuple(_row(rows_path, line, document) for line, document in documents)
    counts: dict[str, Mapping[str, Any]] = {}
    if counts_path.is_file():
        documents, torn_counts = read_lines(counts_path)
        torn += torn_counts
        for line, document in documents:
            if not isinstance(document, dict) or not {"hash", "counts"} <= set(document):
                raise StoreFormatError(counts_path, line, "is no record of counts by hash")
            counts[document["hash"]] = document["counts"]
    return Measurements(rows, counts, torn, _facts(rows_path, rows))


def prepare(path: Path | str, facts: DeviceFacts | None = None) -> None:
    """Make the store's folder and its empty file, to learn early whether it can be written.

    With `facts`, the store is that device's from now on: ``device.json`` is written beside the
    records, again only where something changed that stays from run to run.

    Raises
    ------
    OutputError
        It cannot be written.
    ForeignDeviceError
        It belongs to another device.
    StoreFormatError
        A line has no schema that is known here.
    """
    rows_path, _ = paths(path)
    with opened(rows_path) as file:
        if facts is None:
            return
        _check_owner(rows_path, file, facts.name, facts.platform)
        target = device_path(path)
        known = _read_device(target)
        if known is not None:
            _compare(target, (known.name, known.platform), (facts.name, facts.platform))
        known = known or _read_device(rows_path.with_name(DEVICE_FILE))
        if known is None or known.hash != facts.hash:
            _replace(target, json.dumps(facts.to_json(), indent=2) + "\n")


def append(path: Path | str, measurement: Measurement, counts: KernelCounts | None = None) -> None:
    """Add a record; its counts, if given, first and unless they are there.

    Raises
    ------
    OutputError
        The store cannot be written; what it held is unharmed.
    ForeignDeviceError
        The store belongs to another device.
    """
    rows_path, _ = paths(path)
    if counts is not None:
        append_counts(path, counts)
    with opened(rows_path) as file:
        _check_owner(rows_path, file, measurement.device, measurement.platform)
        write_line(rows_path, file, measurement.model_dump(mode="json", by_alias=True))


def append_counts(path: Path | str, counts: KernelCounts) -> None:
    """Add counts under their hash, unless they are there.

    Only what was added to the file since the last call is read.

    Raises
    ------
    OutputError
        The store cannot be written.
    """
    _, counts_path = paths(path)
    with opened(counts_path) as file:
        index = read_index(file)
        if counts.hash not in index.hashes:
            write_line(counts_path, file, {"hash": counts.hash, "counts": counts.to_json()})
            index.add(counts.hash, file)


def _check_owner(path: Path, file: FileIO, device: str, platform: str) -> None:
    """Check that the first record, if there is one, is of this device."""
    file.seek(0)
    line = b""
    while b"\n" not in line and (block := file.read(2**16)):
        line += block
    try:
        document = json.loads(line.split(b"\n", 1)[0])
    except ValueError:  # empty, or torn and soon set aside; `read` reports damage
        return
    first = _row(path, 1, document)
    _compare(path, (first.device, first.platform), (device, platform))


def _compare(path: Path, holds: tuple[str, str], given: tuple[str, str]) -> None:
    if holds != given:
        (device, platform), (other, its_platform) = holds, given
        raise ForeignDeviceError(path, f"'{device}' ({platform})", f"'{other}' ({its_platform})")


def _facts(rows_path: Path, rows: tuple[Measurement, ...]) -> DeviceFacts | None:
    """Return the facts that the device reports, with those of the folder's ``facts.yaml``."""
    owners = {(row.device, row.platform) for row in rows}
    folder = _read_device(rows_path.with_name(DEVICE_FILE))
    facts = _read_device(device_path(rows_path)) or folder
    if facts and owners - {(facts.name, facts.platform)}:
        return None  # the folder's, of another store in it
    written = rows_path.with_name(FACTS_FILE)
    if not written.is_file() or (facts and folder and facts.slug != folder.slug):
        return facts
    if facts is None and len(owners) == 1:  # a store of before device.json
        facts = DeviceFacts(rows[0].device, rows[0].platform, rows[0].driver, ())
    return facts.updated(read_facts(written)) if facts else None


def _read_device(path: Path) -> DeviceFacts | None:
    if not path.is_file():
        return None
    try:
        return DeviceFacts.from_json(json.loads(path.read_bytes()))
    except FactsFormatError as error:
        raise StoreFormatError(path, 1, error.problem) from error
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise StoreFormatError(path, 1, f"is no description of a device ({error})") from error


def _replace(path: Path, text: str) -> None:
    try:
        replace_file(path, text.encode())
    except OSError as error:
        raise failure(path, error) from error


def _row(path: Path, line: int, document: Any) -> Measurement:
    found = document.get("schema") if isinstance(document, dict) else None
    if found != SCHEMA:
        name, _, version = SCHEMA.partition("/")
        newer = re.fullmatch(rf"{re.escape(name)}/(\d+)", str(found))
        if newer and int(newer[1]) > int(version):
            raise NewerSchemaError(path, line, str(found), SCHEMA)
        raise StoreFormatError(path, line, f"has schema {found!r}, known here is '{SCHEMA}'")
    try:
        return Measurement.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise StoreFormatError(path, line, f"field '{where}': {first['msg']}") from error
