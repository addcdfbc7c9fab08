"""What goes wrong with files that perfmodel writes, and with stores of measurements."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import ClassVar

from perfmodel.errors.base import PerfModelWarning
from perfmodel.errors.described import DescribedError


class OutputError(DescribedError, OSError):
    """A file or folder cannot be written."""

    path: str | Path
    problem: str  # the system's message
    advice: ClassVar[str] = "give a place that you may write to"  # type: ignore[misc]
    message = "cannot write '{path}': {problem}; {advice}."


class OutputFolderError(OutputError):
    """A folder was given where a file is to be written."""

    advice = "name a file in it"  # type: ignore[misc]


class OutputFullError(OutputError):
    """No space is left for a file; what the file held before is unchanged."""

    advice = "what it held before is unchanged: make room, or give a place on another disk"  # type: ignore[misc]


class OutOfMemoryError(DescribedError, RuntimeError):
    """Memory ended."""

    doing: str = "this command"
    message = """memory ended during {doing}; give less at once, or run it where more is free: every file that was
    written is whole."""


class StoreReadOnlyError(OutputError):
    """A store may be read but not written."""

    advice = (  # type: ignore[misc]
        "the store is read-only and nothing in it was changed: "
        "copy its folder to a place that you may write to, and give that"
    )


class CacheError(OutputError):
    """The folder of Loopy's caches cannot be written, and no temporary one takes its place."""

    advice = "make room there, or let XDG_CACHE_HOME name a folder that you may write to"  # type: ignore[misc]


class DiskFullError(OutputError):
    """No space is left for a record; the records before it are complete."""

    advice = "every record before is kept: make room and run the same command again, it goes on from there"  # type: ignore[misc]


class PictureFormatError(DescribedError, ValueError):
    """A picture cannot be written in the format that its file name asks for."""

    path: str | Path
    allowed: tuple[str, ...]  # suffixes
    message = "{path} is no picture that can be written; let its name end in {allowed: or }."


class StoreMissingError(DescribedError, FileNotFoundError):
    """There are no measurements at a path."""

    path: str | Path
    message = """no measurements at '{path}'; give a .jsonl file or a folder with measurements.jsonl, or make one with
    'perfmodel measure --store'."""


class StoreFormatError(DescribedError, ValueError):
    """A stored record is of a form that this version of perfmodel cannot read."""

    path: str | Path
    line: int
    problem: str
    message = """'{path}' line {line}: {problem}; mend or remove that line, or read the file with the version of
    perfmodel that wrote it."""


class DamagedPackError(DescribedError, ValueError):
    """A packed file of a store is damaged, and so its lines cannot be read."""

    path: str | Path
    problem: str
    message = """'{path}' is damaged and cannot be unpacked ({problem}); fetch it again ('git checkout {path}' where it
    is committed), or remove it and measure again what it held."""


class NewerSchemaError(StoreFormatError):
    """A newer version of perfmodel wrote a record."""

    problem: str = field(init=False, default="has schema '{found}', newer than '{known}'")
    found: str  # the record's schema
    known: str  # the newest schema that this version reads
    message = """'{path}' line {line} has schema '{found}', and the newest known here is '{known}'; update perfmodel to
    read it. Nothing was changed."""


class ForeignDeviceError(DescribedError, ValueError):
    """A store holds the records of one device and was given those of another."""

    path: str | Path
    holds: str  # devices, each with its platform
    given: str
    message = """'{path}' holds records of {holds}, not of {given}; a store belongs to one device: give another folder
    (--store), or choose that device (--device)."""


class MixedDevicesError(DescribedError, ValueError):
    """Measurements come from several devices, where one device is needed."""

    devices: tuple[str, ...]
    message = """the measurements come from {devices!n} devices ({devices}); weights belong to one: choose one with
    Measurements.of_device(name)."""


class MissingCountsError(DescribedError, LookupError):
    """A measurement names counts that its store does not hold."""

    label: str  # of what was measured
    counts_hash: str
    message = """the counts of '{label}' (hash {counts_hash:.12}) are not in the store; keep counts.jsonl beside
    measurements.jsonl, or measure again."""


class DocumentError(DescribedError, ValueError):
    """A document cannot be read, or is not what it should be; the reader of a file says which file it is."""

    problem: str
    message = "the document {problem}; mend it, or give one that perfmodel wrote."


class NewerDocumentError(DocumentError):
    """A newer version of perfmodel wrote a document."""

    problem: str = field(init=False, default="has schema '{found}', newer than '{known}': update perfmodel to read it")
    found: str
    known: str


class NotFiniteError(DescribedError, ValueError):
    """A document would hold NaN or infinity, which JSON does not know."""

    place: str  # of the number in the document, as "points[0].seconds"
    found: str
    message = """'{place}' of the result is {found}, and JSON holds finite numbers only: the weights, facts, sizes or
    times that it is computed from are too large or too small for doubles; give others. Nothing was written."""


class SetAsideWarning(PerfModelWarning):
    """Lines of a store are damaged, or times in it cannot be, and were left out; what else it holds is used."""


class MixedDriversWarning(PerfModelWarning):
    """Weights are fitted to measurements of several versions of the driver."""
