"""What a device's folder holds: measurements of measurement kernels, and of test kernels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from perfmodel.store import TESTS_FILE

if TYPE_CHECKING:
    from perfmodel.store import Measurements


def measured_folder(folder: Path, measured_facts: bool = True) -> tuple[Measurements, Measurements]:
    """Return a folder's measurements of measurement kernels and of test kernels.

    Facts that can be read off the measurements are among theirs, unless `measured_facts` is false.

    Raises
    ------
    StoreMissingError
        If there are no measurements, or none of test kernels.
    ForeignDeviceError
        If the test kernels were measured on another device.
    """
    from perfmodel import store
    from perfmodel.fitting.facts.measured_facts import with_measured_facts

    measured = store.read(folder)
    if measured_facts:
        measured = with_measured_facts(measured)
    return measured, tests_of(folder, measured)


def tests_of(folder: Path, measured: Measurements) -> Measurements:
    """Return the measured test kernels beside measurements, with the same facts of the device.

    Raises
    ------
    StoreMissingError, ForeignDeviceError
        If there are none, or if they were measured on another device.
    """
    from perfmodel import store
    from perfmodel.errors import ForeignDeviceError

    tests = store.read(folder / TESTS_FILE)
    if tests.device != measured.device:
        raise ForeignDeviceError(folder / TESTS_FILE, f"'{tests.device}'", f"'{measured.device}'")
    return tests.with_facts(measured.facts)
