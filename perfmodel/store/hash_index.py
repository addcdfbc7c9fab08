"""Which counts a file already holds, without reading it again for each record."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from io import FileIO

_SAMPLE = 256


@dataclass
class Known:
    """Hashes of the counts in the first `read_to` bytes of a file, and a sample of those bytes."""

    hashes: set[str] = field(default_factory=set)
    read_to: int = 0
    sample: bytes = b""

    def add(self, digest: str, file: FileIO) -> None:
        """Take note of a record that this process has just appended."""
        self.hashes.add(digest)
        self.remember(file, file.seek(0, os.SEEK_END))

    def remember(self, file: FileIO, read_to: int) -> None:
        """Take note of how far the file was read."""
        self.read_to = read_to
        self.sample = _sample(file, read_to)


#: By device and inode of the file. A new file may get an old one's inode: hence the sample.
_KNOWN: dict[tuple[int, int], Known] = {}


def known_hashes(file: FileIO) -> Known:
    """Hashes of the whole records in a counts file that is open for this process alone.

    Only what was added since this process last looked is read.
    """
    status = os.fstat(file.fileno())
    identity = status.st_dev, status.st_ino
    known = _KNOWN.get(identity)
    if known is None or status.st_size < known.read_to or _sample(file, known.read_to) != known.sample:
        known = _KNOWN[identity] = Known()
    file.seek(known.read_to)
    added = file.readall() or b""
    whole = added.rfind(b"\n") + 1
    for line in added[:whole].splitlines():
        try:
            known.hashes.add(str(json.loads(line)["hash"]))
        except (ValueError, LookupError, TypeError):  # `read` tells of it, with its line
            continue
    if whole:
        known.remember(file, known.read_to + whole)
    return known


def _sample(file: FileIO, read_to: int) -> bytes:
    file.seek(0)
    head = file.read(min(_SAMPLE, read_to)) or b""
    file.seek(max(0, read_to - _SAMPLE))
    return head + (file.read(min(_SAMPLE, read_to)) or b"")
