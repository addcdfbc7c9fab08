"""What goes wrong with files that perfmodel writes, and with stores of measurements."""

from __future__ import annotations

from pathlib import Path

from perfmodel.errors.base import PerfModelWarning
from perfmodel.errors.described import DescribedError


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


class SetAsideWarning(PerfModelWarning):
    """Lines of a store are damaged, or times in it cannot be, and were left out; what else it holds is used."""


class MixedDriversWarning(PerfModelWarning):
    """Weights are fitted to measurements of several versions of the driver."""
