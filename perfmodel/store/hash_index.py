"""An index of the counts in a file by their hash, so that the file is not read again for each record."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from io import FileIO

from perfmodel.errors import DocumentError
from perfmodel.store.records import read_counts

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
