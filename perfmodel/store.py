"""The store of measurements: append-only JSON Lines, enough to refit with no device.

``measurements.jsonl`` holds one validated record for each configuration and, beside it,
``counts.jsonl`` each :class:`~perfmodel.counts.KernelCounts` once, by its hash.  Each
record is written whole, so a kill at any instant loses at most the one under way; what is
left of that one is set aside when the store is next written.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from perfmodel.errors import MixedDevicesError, OutputError, StoreFormatError, StoreMissingError

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts

SCHEMA: Final = "perfmodel.measurement/1"
ROWS_FILE = "measurements.jsonl"
COUNTS_FILE = "counts.jsonl"

Status = Literal["ok", "compile", "runtime", "timeout", "correctness", "constraint"]
Key = tuple[str, ...]


def canonical(value: Any) -> str:
    """Write a value as JSON with sorted keys: equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


class Measurement(BaseModel):
    """One configuration (kernel, variant, parameters) on one device, with its raw times.

    ``samples_s`` are the host-clock times of all runs in order [s], the `dropped` first
    ones too; ``device_samples_s`` the device's own times of the same runs [s], empty where
    it has no profiling.  ``place_in_order`` is the place in the shuffled order of the
    campaign, ``remeasured`` how often the configuration was taken again because its spread
    was too wide (these are the samples of the best try), ``flags`` words on what stayed
    suspicious.  Those three are optional: records written before them stay valid.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    schema_: Literal["perfmodel.measurement/1"] = Field(default=SCHEMA, alias="schema")
    kernel: str
    group: str
    tags: tuple[str, ...] = ()
    isolates: str | None = None
    variant: dict[str, Any]
    parameters: dict[str, int]
    device: str
    platform: str
    driver: str
    versions: dict[str, str]
    kernel_hash: str
    counts_hash: str
    samples_s: tuple[float, ...]
    device_samples_s: tuple[float, ...] = ()
    dropped: int
    launch_overhead_s: float | None = None
    seed: int | None = None
    taken_at: str = ""
    status: Status
    message: str = ""
    place_in_order: int | None = Field(default=None, ge=0)
    remeasured: int = Field(default=0, ge=0)
    flags: tuple[str, ...] = ()

    @field_validator("variant")
    @classmethod
    def _as_read_back(cls, value: dict[str, Any]) -> dict[str, Any]:
        return dict(json.loads(json.dumps(value)))

    @property
    def kept_s(self) -> tuple[float, ...]:
        """Samples after the drop [s]."""
        return self.samples_s[self.dropped :]

    @property
    def seconds(self) -> float:
        """The minimum after the drop [s] (paper, section 4.2)."""
        return min(self.kept_s)

    @property
    def median(self) -> float:
        """The median after the drop [s]."""
        return median(self.kept_s)

    @property
    def spread(self) -> float:
        """Median over minimum, less one [1]."""
        return self.median / self.seconds - 1

    @property
    def place(self) -> Key:
        """What was measured, whatever its code and driver were then."""
        return (
            self.device,
            self.platform,
            self.kernel,
            canonical(self.variant),
            canonical(self.parameters),
        )

    @property
    def key(self) -> Key:
        """What makes two records the same configuration: a new driver or code does not."""
        return (*self.place, self.driver, self.kernel_hash)


@dataclass(frozen=True)
class Measurements:
    """Records in the order of the store, and the counts that they name.

    Iteration gives the records to fit: of each configuration the newest, if it is ok.

    Parameters
    ----------
    rows : tuple of Measurement
        Every record, failed and outdated ones too.
    counts_documents : mapping
        JSON of each KernelCounts by hash.
    set_aside : tuple of str
        What was found torn at the end of a file and left out, one sentence each.
    """

    rows: tuple[Measurement, ...]
    counts_documents: Mapping[str, Mapping[str, Any]]
    set_aside: tuple[str, ...] = ()

    @cached_property
    def counts(self) -> Mapping[str, KernelCounts]:
        """The counts by hash."""
        from perfmodel.counts import KernelCounts

        documents = self.counts_documents.items()
        return {digest: KernelCounts.from_json(dict(document)) for digest, document in documents}

    @cached_property
    def current(self) -> tuple[Measurement, ...]:
        """The newest record of each configuration, failed ones too."""
        newest = {row.place: row for row in self.rows}
        return tuple(newest.values())

    def __iter__(self) -> Iterator[Measurement]:
        return (row for row in self.current if row.status == "ok")

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def device(self) -> str:
        """Name of the device that was measured.

        Raises
        ------
        MixedDevicesError
            There are records of several.
        """
        names = tuple(sorted({row.device for row in self.rows}))
        if len(names) > 1:
            raise MixedDevicesError(names)
        return names[0] if names else ""

    def of_device(self, name: str) -> Measurements:
        """Only the records of one device."""
        rows = tuple(row for row in self.rows if row.device == name)
        return Measurements(rows, self.counts_documents, self.set_aside)

    def of_kernels(self, *names: str) -> Measurements:
        """Only the records of these kernel classes."""
        rows = tuple(row for row in self.rows if row.kernel in names)
        return Measurements(rows, self.counts_documents, self.set_aside)


def paths(path: Path | str) -> tuple[Path, Path]:
    """Files of the store at `path` (a folder, or the ``.jsonl`` itself): rows, counts."""
    path = Path(path)
    rows = path if path.suffix == ".jsonl" else path / ROWS_FILE
    return rows, rows.parent / COUNTS_FILE


def read(path: Path | str) -> Measurements:
    """Read a store.

    Raises
    ------
    StoreMissingError
        There is none at `path`.
    StoreFormatError
        A line other than a torn last one is no record of a schema known here.
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
    return Measurements(rows, counts, torn)


def prepare(path: Path | str) -> None:
    """Make the store's folder and its empty file, to learn early whether it can be written.

    Raises
    ------
    OutputError
        It cannot.
    """
    rows_path, _ = paths(path)
    try:
        rows_path.parent.mkdir(parents=True, exist_ok=True)
        rows_path.open("ab").close()
    except OSError as error:
        raise OutputError(str(rows_path), error.strerror or str(error)) from error


def append(path: Path | str, measurement: Measurement, counts: KernelCounts | None = None) -> None:
    """Add a record; its counts, if given, first and unless they are there.

    Raises
    ------
    OutputError
        The store cannot be written.
    """
    rows_path, _ = paths(path)
    if counts is not None:
        append_counts(path, counts)
    append_line(rows_path, measurement.model_dump(mode="json", by_alias=True))


def append_counts(path: Path | str, counts: KernelCounts) -> None:
    """Add counts under their hash, unless they are there.

    Raises
    ------
    OutputError
        The store cannot be written.
    """
    _, counts_path = paths(path)
    known = read_lines(counts_path)[0] if counts_path.is_file() else ()
    if all(document.get("hash") != counts.hash for _, document in known):
        append_line(counts_path, {"hash": counts.hash, "counts": counts.to_json()})


def read_lines(path: Path) -> tuple[tuple[tuple[int, Any], ...], tuple[str, ...]]:
    """Documents of a JSON Lines file with their line numbers, and what was set aside.

    Raises
    ------
    StoreFormatError
        A line other than the last is not JSON.
    """
    lines = path.read_bytes().splitlines()
    documents = []
    for number, line in enumerate(lines, start=1):
        try:
            documents.append((number, json.loads(line)))
        except ValueError as error:
            if number == len(lines):
                return tuple(documents), (f"'{path}' line {number} is torn and was left out.",)
            raise StoreFormatError(path, number, f"is not JSON ({error})") from error
    return tuple(documents), ()


def append_line(path: Path, document: Any) -> None:
    """Write one line whole; a torn line before it goes to a file ``*.torn`` first.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    line = (json.dumps(document) + "\n").encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab+") as file:
            _mend(path, file)
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise OutputError(str(path), error.strerror or str(error)) from error


def _mend(path: Path, file: Any) -> None:
    """Make the file end with a whole line."""
    size = file.seek(0, os.SEEK_END)
    if size == 0:
        return
    file.seek(0)
    start = file.read().rstrip(b"\n").rfind(b"\n") + 1
    file.seek(start)
    last = file.read()
    try:
        json.loads(last)
    except ValueError:
        with path.with_name(path.name + ".torn").open("ab") as aside:
            aside.write(last.rstrip(b"\n") + b"\n")
        file.truncate(start)
        return
    if not last.endswith(b"\n"):
        file.write(b"\n")


def _row(path: Path, line: int, document: Any) -> Measurement:
    found = document.get("schema") if isinstance(document, dict) else None
    if found != SCHEMA:
        raise StoreFormatError(path, line, f"has schema {found!r}, known here is '{SCHEMA}'")
    try:
        return Measurement.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise StoreFormatError(path, line, f"field '{where}': {first['msg']}") from error
