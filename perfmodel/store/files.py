"""The files of a store: their places, reading and appending, an index of counts, and new counts for old records.

With the index, the file of counts is not read again for each record.
"""

from __future__ import annotations

import json
import lzma
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfmodel.documents import Schema, json_text, require, value_of
from perfmodel.errors import DocumentError, ForeignDeviceError, StoreFormatError, StoreMissingError
from perfmodel.facts import FACTS_FILE, DeviceFacts, read_device, read_facts, with_assumed_facts
from perfmodel.facts.doubts import with_probed_facts
from perfmodel.facts.probed import SCHEMA, ProbeRun
from perfmodel.io import replace_file, write_whole
from perfmodel.store import lines
from perfmodel.store.lines import failure, opened, read_counts, read_lines, read_row
from perfmodel.store.measurement import ISOLATION_SCHEMA, Isolation, Measurement, canonical
from perfmodel.store.measurements import Measurements

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts


_SAMPLE = 256


@dataclass
class HashIndex:
    """Hashes of the counts in the first `read_to` bytes of a file, and a sample of those bytes."""

    hashes: set[str] = field(default_factory=set)
    read_to: int = 0
    sample: bytes = b""

    def add(self, digest: str, file: FileIO) -> None:
        """Add the hash of a record that this process appended to the end of the file."""
        self.hashes.add(digest)
        self.advance(file, file.seek(0, os.SEEK_END))

    def advance(self, file: FileIO, read_to: int) -> None:
        """Set how far the index covers the file [bytes]."""
        self.read_to = read_to
        self.sample = _sample(file, read_to)

    def covers(self, file: FileIO) -> bool:
        """Whether the start of the file is still what the index was made from."""
        return os.fstat(file.fileno()).st_size >= self.read_to and _sample(file, self.read_to) == self.sample


#: By device and inode of the file. A new file may get the inode of a deleted one: hence the sample.
_INDEXES: dict[tuple[int, int], HashIndex] = {}


def read_index(file: FileIO) -> HashIndex:
    """Index of the whole records in a counts file, which this process holds locked.

    Only what was added since this process last read the file is read.
    """
    status = os.fstat(file.fileno())
    identity = status.st_dev, status.st_ino
    index = _INDEXES.get(identity)
    if index is None or not index.covers(file):
        index = _INDEXES[identity] = HashIndex()
    file.seek(index.read_to)
    added = file.readall() or b""
    whole = added.rfind(b"\n") + 1
    for line in added[:whole].splitlines():
        try:
            index.hashes.add(read_counts(line).hash)
        except DocumentError:  # `store.read` reports it, with its line
            continue
    if whole:
        index.advance(file, index.read_to + whole)
    return index


def _sample(file: FileIO, read_to: int) -> bytes:
    file.seek(0)
    head = file.read(min(_SAMPLE, read_to)) or b""
    file.seek(max(0, read_to - _SAMPLE))
    return head + (file.read(min(_SAMPLE, read_to)) or b"")


ROWS_FILE = "measurements.jsonl"
COUNTS_FILE = "counts.jsonl"
PRESET = 6
"""Preset of xz for packed counts: a fixed one gives the same bytes again."""
DEVICE_FILE = "device.json"
TESTS_FILE = "test.jsonl"
"""Measurements of test kernels, beside those of measurement kernels."""
SAMPLES_FILE = "samples.jsonl"
"""Measurements of random samples beside them."""


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


def packed_counts(path: Path | str) -> tuple[Path, ...]:
    """Return the packed files of counts that the store at `path` has (:data:`perfmodel.store.lines.PACKED`)."""
    _, plain = paths(path)
    files = (plain.with_name(plain.name + end) for end in lines.PACKED)
    return tuple(file for file in files if file.is_file())


def pack(path: Path | str) -> None:
    """Pack the counts of a store into ``counts.jsonl.xz``, each once; a campaign appends to a plain file beside it.

    The same counts give the same bytes. Nothing is packed while a line is damaged. A kill at any instant loses nothing:
    counts that are in both files count once.

    Raises
    ------
    OutputError
        The store cannot be written.
    DamagedPackError
        A packed file cannot be unpacked.
    """
    _, plain = paths(path)
    with opened(plain):
        counts, set_aside = _read_counts(path)
        if set_aside:
            return
        texts = (json_text({"hash": digest, "counts": document}) for digest, document in counts.items())
        packed = plain.with_name(plain.name + ".xz")
        _replace(packed, lzma.compress("".join(f"{text}\n" for text in texts).encode(), preset=PRESET))
        for file in {*packed_counts(path), plain} - {packed}:
            file.unlink()


def _read_counts(path: Path | str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the counts of a store by hash, packed ones first, and a sentence for each file with damaged lines."""
    _, plain = paths(path)
    files = [*packed_counts(path), *([plain] if plain.is_file() else [])]
    found = [read_lines(file, read_counts, needed=len(files) == 1) for file in files]
    documents = {stored.hash: stored.counts for stored_lines, _ in found for _, stored in stored_lines}
    return documents, tuple(sentence for _, told in found for sentence in told)


@lru_cache(maxsize=8)
def _hashes(packed: Path, modified_ns: int) -> frozenset[str]:
    return frozenset(stored.hash for _, stored in read_lines(packed, read_counts, needed=False)[0])


def read(path: Path | str) -> Measurements:
    """Read a store.

    Raises
    ------
    StoreMissingError
        There is none at `path`.
    StoreFormatError
        A newer version of perfmodel wrote it.
    StoreFormatError
        No line of a file can be read, or ``device.json`` is no description of a device.
    DamagedPackError
        A packed file of counts cannot be unpacked.
    FactsError
        The folder's ``facts.yaml`` is not what it should be.

    Warns
    -----
    SetAsideWarning
        A line is torn, is no record of a schema known here, or holds counts that do not have their hash. It is left
        out, and named in ``Measurements.set_aside`` too.
    """
    require(isinstance(path, (str, Path)), "read: path", path, "the path of a store")
    rows_path, _ = paths(path)
    if not rows_path.is_file():
        raise StoreMissingError(path)
    rows, set_aside = read_lines(rows_path, read_row)
    documents, more = _read_counts(path)
    records = tuple(row for _, row in rows)
    return Measurements(records, documents, set_aside + more, _facts(rows_path, records), str(rows_path))


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
            _replace(target, f"{json_text(facts.to_json(), indent=2)}\n".encode())


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
        lines.write_line(rows_path, file, measurement.model_dump(mode="json", by_alias=True))


def append_counts(path: Path | str, counts: KernelCounts) -> None:
    """Add counts under their hash to the plain file, unless they are there or packed.

    Only what was added to the file since the last call is read.

    Raises
    ------
    OutputError
        The store cannot be written.
    """
    _, counts_path = paths(path)
    if any(counts.hash in _hashes(packed, packed.stat().st_mtime_ns) for packed in packed_counts(path)):
        return
    with opened(counts_path) as file:
        index = read_index(file)
        if counts.hash not in index.hashes:
            lines.write_line(counts_path, file, {"hash": counts.hash, "counts": counts.to_json()})
            index.add(counts.hash, file)


def _check_owner(path: Path, file: FileIO, device: str, platform: str) -> None:
    """Check that the first record that can be read, if there is one, is of this device."""
    for number, line in enumerate(_lines(file), start=1):
        try:
            first = read_row(line)
        except DocumentError as error:
            if error.newer:
                raise StoreFormatError(path, number, error.problem) from error
            continue  # torn and soon set aside, or damaged; `read` reports it
        _compare(path, (first.device, first.platform), (device, platform))
        return


def _lines(file: FileIO) -> Iterator[bytes]:
    rest = b""
    file.seek(0)
    while block := file.read(2**16):
        *whole, rest = (rest + block).split(b"\n")
        yield from whole
    yield rest


def _compare(path: Path, holds: tuple[str, str], given: tuple[str, str]) -> None:
    if holds != given:
        (device, platform), (other, its_platform) = holds, given
        raise ForeignDeviceError(path, f"'{device}' ({platform})", f"'{other}' ({its_platform})")


def _facts(rows_path: Path, rows: tuple[Measurement, ...]) -> DeviceFacts | None:
    """Return the facts of the device: assumed, measured by probes, reported, and of the folder's ``facts.yaml``.

    Of two facts under one key the later in this list counts.
    """
    owners = {(row.device, row.platform) for row in rows}
    folder = _read_device(rows_path.with_name(DEVICE_FILE))
    facts = _read_device(device_path(rows_path)) or folder
    if facts and owners - {(facts.name, facts.platform)}:
        return None  # the folder's, of another store in it
    written = rows_path.with_name(FACTS_FILE)
    foreign = bool(facts and folder and facts.slug != folder.slug)
    if facts is None and len(owners) == 1 and written.is_file():  # a store of before device.json
        facts = DeviceFacts(rows[0].device, rows[0].platform, rows[0].driver, ())
    if facts is None:
        return None
    facts = with_probed_facts(facts, read_probes(rows_path))
    if written.is_file() and not foreign:
        facts = facts.updated(read_facts(written))
    return with_assumed_facts(facts)


def _read_device(path: Path) -> DeviceFacts | None:
    return read_device(path) if path.is_file() else None


def _replace(path: Path, content: bytes) -> None:
    try:
        replace_file(path, content)
    except OSError as error:
        raise failure(path, error) from error


#: Which records: of this kernel class and variant (canonical JSON), with this code and these counts, by their hashes.
Place = tuple[str, str, str, str]


def rename_counts(path: Path | str, new: Mapping[Place, KernelCounts]) -> int:
    """Let records name other counts; return the number of records that were changed.

    The new counts are added first, and the file of records is then replaced whole, so that a kill at any instant leaves
    a store that can be read. The old counts stay, and so do damaged lines. Meanwhile the file is locked: a campaign
    that appends to it waits, and appends to the new one.
    """
    rows_path, _ = paths(path)
    with opened(rows_path):
        rows, _ = read_lines(rows_path, read_row)
        texts = rows_path.read_bytes().split(b"\n")
        meant = {number: place for number, row in rows if (place := _place(row)) in new}
        for place in dict.fromkeys(meant.values()):
            append_counts(path, new[place])
        for number, place in meant.items():
            texts[number - 1] = json.dumps({**json.loads(texts[number - 1]), "counts_hash": new[place].hash}).encode()
        if meant:
            write_whole(rows_path, b"\n".join(texts))
    return len(meant)


def _place(row: Measurement) -> Place:
    return row.kernel, canonical(row.variant), row.kernel_hash, row.counts_hash


PROBES_FILE = "probes.jsonl"
PROBE = Schema(SCHEMA, "probe again: perfmodel calibrate --probes")


def probes_path(path: Path | str) -> Path:
    """Return the file of probes in the folder of a store (a folder, or a ``.jsonl`` file in it)."""
    path = Path(path)
    return (path.parent if path.suffix == ".jsonl" else path) / PROBES_FILE


def append_probe(path: Path | str, run: ProbeRun) -> None:
    """Add a visit of a probe to the file beside a store, or raise OutputError; what it held is unharmed."""
    lines.append_line(probes_path(path), asdict(run))


def read_probes(path: Path | str) -> tuple[ProbeRun, ...]:
    """Read the visits of probes beside a store, in their order; none where there is no file.

    A damaged line is left out with a SetAsideWarning. StoreFormatError says that a newer version of perfmodel wrote a
    line, StoreFormatError that the file cannot be read.
    """
    file = probes_path(path)
    if not file.is_file():
        return ()
    return tuple(run for _, run in read_lines(file, lambda line: value_of(ProbeRun, line, PROBE), needed=False)[0])


ISOLATION_FILE = "isolation.jsonl"
PROOF = Schema(ISOLATION_SCHEMA, "prove it again: python -m scripts.lab.isolation --out FOLDER")


def isolation_path(path: Path | str) -> Path:
    """File of proofs in the store at `path` (a folder, or the ``.jsonl`` of records itself)."""
    rows, _ = paths(path)
    return rows.with_name(ISOLATION_FILE if Path(path).suffix != ".jsonl" else f"{rows.stem}.{ISOLATION_FILE}")


def read_isolations(path: Path | str) -> tuple[Isolation, ...]:
    """Newest proof of each variant in the store at `path`, by name, or StoreMissingError or StoreFormatError.

    A line that is no such record is left out with a SetAsideWarning.
    """
    file = isolation_path(path)
    if not file.is_file():
        raise StoreMissingError(file)
    proofs, _ = read_lines(file, lambda line: value_of(Isolation, line, PROOF))
    newest = {proof.place: proof for _, proof in proofs}
    return tuple(newest[place] for place in sorted(newest))
