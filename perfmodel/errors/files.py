"""What goes wrong with files that perfmodel writes, and with stores of measurements."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import ClassVar

from perfmodel.errors.base import PerfModelError


class OutputError(PerfModelError, OSError):
    """A file or folder cannot be written."""

    path: str | Path
    problem: str  # the system's message
    advice: ClassVar[str] = "give a place that you may write to"

    def __str__(self) -> str:
        return f"cannot write '{self.path}': {self.problem}; {self.advice}."


class StoreReadOnlyError(OutputError):
    """A store may be read but not written."""

    advice = (
        "the store is read-only and nothing in it was changed: "
        "copy its folder to a place that you may write to, and give that"
    )


class DiskFullError(OutputError):
    """No space is left for a record; the records before it are complete."""

    advice = "every record before is kept: make room and run the same command again, it goes on from there"


class PictureFormatError(PerfModelError, ValueError):
    """A picture cannot be written in the format that its file name asks for."""

    path: str | Path
    allowed: tuple[str, ...]  # suffixes

    def __str__(self) -> str:
        return f"{self.path} is no picture that can be written; let its name end in {' or '.join(self.allowed)}."


class StoreMissingError(PerfModelError, FileNotFoundError):
    """There are no measurements at a path."""

    path: str | Path

    def __str__(self) -> str:
        return (
            f"no measurements at '{self.path}'; give a .jsonl file or a folder with "
            "measurements.jsonl, or make one with 'perfmodel measure --store'."
        )


class StoreFormatError(PerfModelError, ValueError):
    """A stored record is of a form that this version of perfmodel cannot read."""

    path: str | Path
    line: int
    problem: str

    def __str__(self) -> str:
        return (
            f"'{self.path}' line {self.line}: {self.problem}; mend or remove that line, or read the "
            "file with the version of perfmodel that wrote it."
        )


class NewerSchemaError(StoreFormatError):
    """A newer version of perfmodel wrote a record."""

    problem: str = field(init=False)
    found: str  # the record's schema
    known: str  # the newest schema that this version reads

    def __post_init__(self) -> None:
        super().__post_init__()
        vars(self).update(problem=f"has schema '{self.found}', newer than '{self.known}'")

    def __str__(self) -> str:
        return (
            f"'{self.path}' line {self.line} has schema '{self.found}', and the newest known here is "
            f"'{self.known}'; update perfmodel to read it. Nothing was changed."
        )


class ForeignDeviceError(PerfModelError, ValueError):
    """A store holds the records of one device and was given those of another."""

    path: str | Path
    holds: str  # devices, each with its platform
    given: str

    def __str__(self) -> str:
        return (
            f"'{self.path}' holds records of {self.holds}, not of {self.given}; a store belongs to one "
            "device: give another folder (--store), or choose that device (--device)."
        )


class MixedDevicesError(PerfModelError, ValueError):
    """Measurements come from several devices, where one device is needed."""

    devices: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"the measurements come from {len(self.devices)} devices ({', '.join(self.devices)}); weights "
            "belong to one: choose one with Measurements.of_device(name)."
        )


class MissingCountsError(PerfModelError, LookupError):
    """A measurement names counts that its store does not hold."""

    label: str  # of what was measured
    counts_hash: str

    def __str__(self) -> str:
        return (
            f"the counts of '{self.label}' (hash {self.counts_hash[:12]}) are not in the store; "
            "keep counts.jsonl beside measurements.jsonl, or measure again."
        )
