"""Weights of the device in use, found without a path: the user's own, then those of folders ``fitted_weights``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from perfmodel.calibration.recommended import recommended_weights
from perfmodel.documents import require
from perfmodel.errors import NoDeviceError, NoWeightsError, PerfModelError
from perfmodel.facts import DeviceFacts, differences
from perfmodel.facts.documents import read_device
from perfmodel.io import file_part
from perfmodel.measuring.pinning import pin_threads
from perfmodel.models import Family, find_family
from perfmodel.opencl import identify
from perfmodel.predicting.model import load as read_model

if TYPE_CHECKING:
    from perfmodel.predicting.model import FittedModel

FOLDER = "fitted_weights"
DEVICE_FILE = "device.json"


@dataclass(frozen=True)
class FoundWeights:
    """A weights file of the device in use.

    Parameters
    ----------
    path
        The file.
    device
        The device as it was when it was measured.
    origin
        Where the file was found, in words.
    """

    path: Path
    device: DeviceFacts
    origin: str

    @property
    def folder(self) -> Path:
        """The device's folder, which holds its measurements too."""
        return self.path.parent

    @property
    def text(self) -> str:
        """Which weights these are, in one line."""
        return f"weights of {self.device.name}: {shown(self.path)} ({self.origin})"


def data_folder() -> Path:
    """Return the folder of the user's data that holds one folder for each calibrated device."""
    from platformdirs import user_data_path

    return user_data_path("perfmodel")


def places() -> tuple[tuple[str, Path], ...]:
    """Return the folders of devices' folders in which weights are looked for, in this order, each with words for it.

    They are the user's own, ``fitted_weights`` of the current folder, and that of the clone that perfmodel runs from.
    """
    return (
        ("your own", data_folder()),
        ("of the current folder", _current_folder() / FOLDER),
        ("of the project", Path(__file__).parents[2] / FOLDER),
    )


def _current_folder() -> Path:
    """Return the current folder; without its path where it was removed."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path()


def device_in_use(selector: str | None = None) -> DeviceFacts:
    """Return what tells the device in use from others: the default one, or the one asked for as ``--device`` does.

    Devices are listed in this process, with their threads pinned as in a campaign
    (:func:`perfmodel.measuring.pin_threads`); no kernel is built.

    Raises
    ------
    NoDeviceError, UnknownDeviceError
        If there is none.
    """
    pin_threads()
    return identify(selector).facts


def find_weights(device: str | None = None, family: str | Family | None = None) -> FoundWeights:
    """Find the weights of the device in use, in :func:`places`.

    They belong to it if their device has its name, platform and driver, and as many compute units and as large
    caches. Without `family` they are those of the family that calibration recommends for the device
    (:func:`perfmodel.calibration.recommended.recommended_weights`).

    Parameters
    ----------
    device
        Index, name or platform of the device in use; by default the default device.
    family
        A family, its name, or its Python file.

    Raises
    ------
    NoWeightsError
        If there are none. It names the device, the weights that there are, and what to do.
    UnknownDeviceError
        If no device matches what was asked for.
    UnknownFamilyError, FamilyFileError, ExpressionError
        If the family does not exist, or cannot be used.
    """
    name = None if family is None else find_family(family).name
    try:
        used = device_in_use(device)
    except NoDeviceError:
        known = tuple(_described(folder, facts) for _, folder, facts in _devices())
        raise NoWeightsError("no OpenCL device was found to take the weights of", known) from None
    return _weights_of(used, name)


def _weights_of(used: DeviceFacts, family: str | None) -> FoundWeights:
    """Return the weights of a device; raise NoWeightsError where there are none."""
    known = []
    for origin, folder, facts in _devices():
        differ = differences(facts, used)
        path = recommended_weights(folder) if family is None else folder / f"{file_part(family)}.json"
        if not differ and path is not None and path.is_file():
            return FoundWeights(path, facts, origin)
        known.append(_described(folder, facts, differ, used))
    wanted = f" and the family {family}" * bool(family)
    problem = f"no weights were found of the device in use, {_names(used)}{wanted}"
    raise NoWeightsError(problem, tuple(known))


def _devices() -> Iterator[tuple[str, Path, DeviceFacts]]:
    """Yield each folder of a device, the words for its place, and its device; what cannot be read is passed over."""
    seen = set()
    for origin, place in places():
        for path in sorted(place.glob(f"*/{DEVICE_FILE}")):
            folder = path.parent
            if (real := os.path.realpath(folder)) in seen:
                continue
            seen.add(real)
            try:
                facts = read_device(path)
            except PerfModelError:
                continue
            yield origin, folder, facts


def _described(
    folder: Path, facts: DeviceFacts, differ: tuple[str, ...] = (), used: DeviceFacts | None = None
) -> str:
    """Return a folder with its device; of a device that is nearly the one in use only what differs."""
    pairs = ((facts.name, used.name), (facts.platform, used.platform)) if used else ()
    same = bool(differ) and all(known == here or not known or not here for known, here in pairs)
    return f"{shown(folder)} ({', '.join(differ) if same else _names(facts)})"


def _names(facts: DeviceFacts) -> str:
    return f"'{facts.name}' of {facts.platform}, driver {facts.driver}"


def shown(path: Path) -> str:
    """Return a path as short as it can be given: below the current folder without that."""
    try:
        return str(path.relative_to(_current_folder()))
    except ValueError:
        return str(path)


def load(
    path: str | Path | None = None, family: str | Family | None = None, *, device: str | None = None
) -> FittedModel:
    """Read a fitted model: of a weights file, or without a path of the device in use.

    Parameters
    ----------
    path
        A file that :meth:`perfmodel.FittedModel.save` or ``perfmodel fit`` wrote. Left out, it is found
        (:func:`find_weights`); the model's ``path`` says which file that is.
    family
        With a path it is needed only for a user's own family (:func:`perfmodel.predicting.model.load`). Without a path
        it is the family that is wanted; by default the one that calibration recommends.
    device
        Index, name or platform of the device in use, where there is no path; by default the default device.

    Raises
    ------
    NoWeightsError, UnknownDeviceError
        As of :func:`find_weights`.
    WeightsFileError, FamilyDiffersError, UnknownFamilyError, ...
        As of :func:`perfmodel.predicting.model.load`.
    """
    require(path is None or isinstance(path, (str, Path)), "load: path", path, "the path of a weights file")
    require(device is None or isinstance(device, str), "load: device", device, "an index, name or platform as text")
    if path is None:
        path = find_weights(device, family).path
    return read_model(path, family)


def foreign(model: FittedModel, device: str | None = None) -> tuple[str, ...]:
    """Return what tells the device of a model's weights from the one in use, in words; empty without any device.

    Raises
    ------
    UnknownDeviceError
        If no device matches what was asked for.
    """
    known = model.facts or DeviceFacts(model.device, "", "", ())
    try:
        return differences(known, device_in_use(device))
    except NoDeviceError:
        return ()
