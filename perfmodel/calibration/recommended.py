"""Chooses fitted weights: the family recommended for a device, and the folders that may hold its weights."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal
from warnings import warn

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from perfmodel import errors, fitting
from perfmodel.compare.comparison import Verdict
from perfmodel.documents import Schema, json_text, read_file, require, value_of
from perfmodel.errors import NoDeviceError, NoWeightsError, OptionError, PerfModelError, UnknownNameError, listed
from perfmodel.facts import DeviceFacts, differences, published_devices, read_device
from perfmodel.io import file_part, shipped, write_whole
from perfmodel.measuring.lock import pin_threads
from perfmodel.models import Family, find_family
from perfmodel.opencl import identify
from perfmodel.predicting.model import FittedModel, fit as fit_model, load as read_model, require_rows
from perfmodel.store import Measurements
from perfmodel.store.files import DEVICE_FILE, ROWS_FILE, no_store

CANDIDATES: tuple[str, ...] = ("bottleneck", "multithreaded", "stevens_kloeckner_2016")
"""Candidates for a device's family: for CPUs, for GPUs, and the linear model."""
RECOMMENDED_FILE, FOLDER = "recommended.json", "fitted_weights"
SHIPPED = "shipped with perfmodel"  # origin of the weights that come with perfmodel
_SCHEMA = Schema("perfmodel.recommended/1", "fit again (perfmodel fit --all --from FOLDER --out FOLDER)")
_WORST_FIRST = (
    Verdict(False, False, ()).text, "",
    *(Verdict(to_time, to_rank, ()).text for to_time, to_rank in ((False, True), (True, False), (True, True))),
)
"""Verdicts, the worst first; weights without a judgement have no verdict."""


class Recommended(BaseModel):
    """The content of ``recommended.json`` in a device's folder."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    schema_: Literal["perfmodel.recommended/1"] = Field(
        default="perfmodel.recommended/1", validation_alias="schema", serialization_alias="schema"
    )
    family: str = Field(pattern=r"^\w*$")  # the recommended family; "" where none could be fitted
    candidates: tuple[str, ...]  # among which it was chosen
    verdict: str = ""  # what its weights may be used for, in words; "" where nothing has judged them

    def save(self, folder: Path) -> None:
        """Write this content into a folder atomically, or raise OutputError."""
        text = json_text(self.model_dump(mode="json", by_alias=True), indent=2)
        write_whole(folder / RECOMMENDED_FILE, f"{text}\n".encode())


def recommended_weights(folder: Path, family: str | None = None) -> Path | None:
    """Return a folder's weights file, of the given family, or else the recommended one, or else the first candidate."""
    names = CANDIDATES if family is None else (family,)
    if family is None and (choice := read_recommended(folder)):
        names = (choice.family,)
    paths = (folder / f"{file_part(name)}.json" for name in names)
    return next((path for path in paths if path.is_file()), None)


def read_recommended(folder: Path) -> Recommended | None:
    """Return the content of a folder's ``recommended.json``, or None without this file."""
    path = folder / RECOMMENDED_FILE
    if not path.is_file():
        return None
    try:
        return value_of(Recommended, read_file(path), _SCHEMA)
    except errors.DocumentError as error:
        advice = "give a file that 'perfmodel fit' wrote"
        raise errors.WeightsError(f"weights file '{path}' {error.problem}", advice) from error


def verdict_of(weights: Path | None) -> str:
    """Return what the weights of a file may be used for, in words, or "" if they were never judged."""
    choice = None if weights is None else read_recommended(weights.parent)
    return choice.verdict if choice and weights and choice.family == weights.stem else ""


def candidates(facts: DeviceFacts | None) -> tuple[str, ...]:
    """Return the families from which a device's family is chosen, without families for another order of lanes."""
    if facts is None or "lane_order" not in facts:  # a quick campaign has too few groups to find it from times
        return CANDIDATES
    other = "bottleneck" if facts.value("lane_order") == "multithreaded" else "multithreaded"
    return tuple(name for name in CANDIDATES if name != other)


def recommended(rivals: Iterable[fitting.FamilyFits]) -> str:
    r"""Return the name of the family with the lowest cross-validation error, or "" if `rivals` is empty.

    `rivals` are fits of families to the same measured rows. The error of a row with the time t is :math:`|\log(t/p)|`,
    where a fit without the row's group predicts p. :func:`perfmodel.fitting.family_fits.error_of_kernels` averages the
    rows that all families predict. Of equal families the first is taken.
    """
    every = tuple(rivals)
    unseen = {fits.family.name: _errors(fits) for fits in every}
    if not unseen:
        return ""
    common = np.all([np.isfinite(rows) for rows in unseen.values()], axis=0)
    if not common.any():
        return next(iter(unseen))
    first = every[0]
    kernels = [row.kernel for row in (*first.measured, *(first.samples or ()))]

    def error(name: str) -> float:
        return fitting.error_of_kernels(np.where(common, unseen[name], np.nan), kernels, len(first.seen))

    return min(unseen, key=error)


def _errors(fits: fitting.FamilyFits) -> np.ndarray:
    judged = np.concatenate([fits.seen, fits.sampled])
    return fitting.log_errors(fits.predict_without_group(judged).of(judged), fits.refits.table.times[judged])


@dataclass(frozen=True)
class FoundWeights:
    """A weights file of the device in use."""

    path: Path
    device: DeviceFacts  # as it was when it was measured
    origin: str  # where the file was found
    passed_over: tuple[str, ...] = ()  # sentences on weights of the device that come first and have a worse verdict

    @property
    def folder(self) -> Path:
        """The device's folder, which holds its measurements too."""
        return self.path.parent

    @property
    def text(self) -> str:
        """Which weights these are, in one line, with their verdict."""
        return "; ".join(filter(None, [self._where, self.verdict, *self.passed_over]))

    @property
    def source(self) -> str:
        """Which weights these are, without their verdict."""
        return "; ".join([self._where, *self.passed_over])

    @property
    def _where(self) -> str:
        recorded = f"; others recorded its times: {self.device.recorded}" if self.device.recorded else ""
        return f"weights of {self.device.name}: {shown(self.path)} ({self.origin}){recorded}"

    @property
    def verdict(self) -> str:
        """What these weights may be used for, in words, or "" if they were never judged."""
        return verdict_of(self.path)

    @property
    def rank(self) -> int:
        """The verdict as a number. A better verdict has a larger number."""
        return _WORST_FIRST.index(self.verdict) if self.verdict in _WORST_FIRST else 0


def data_folder() -> Path:
    """Return the folder of the user's data that holds one folder for each calibrated device."""
    from platformdirs import user_data_path

    return user_data_path("perfmodel")


def search_folders() -> tuple[tuple[str, Path], ...]:
    """Return the folders that hold devices' folders, in the order in which weights are searched, each with a name."""
    return (
        ("your own", data_folder()), ("of the current folder", _current_folder() / FOLDER), (SHIPPED, shipped(FOLDER)),
    )  # fmt: skip


def _current_folder() -> Path:
    with suppress(FileNotFoundError):
        return Path.cwd()
    return Path()


def device_in_use(selector: str | None = None) -> DeviceFacts:
    """Return the facts that distinguish the device in use, as ``--device`` selects it. No kernel is built."""
    pin_threads()
    return identify(selector).facts


def find_weights(device: str | None = None, family: str | Family | None = None) -> FoundWeights:
    """Find the weights of the device in use, in :func:`search_folders`. Parameters are those of :func:`load`.

    Weights belong to a device if their device has the same name, platform, driver, number of compute units and size of
    caches. Of several weights, those with the best verdict are preferred, then those in the earlier folder. If no
    OpenCL device has the name `device`, the weights come from the one folder whose name or device contains its words,
    as ``titan-v``. Otherwise a WeightsError names the device and the available weights.
    """
    name = None if family is None else find_family(family).name
    try:
        used = device_in_use(device)
    except (NoDeviceError, UnknownNameError) as error:
        if device is not None and (named := _weights_named(device, name)):
            return named
        if device in published_devices():
            by_facts = f"predict by its published facts: perfmodel predict --facts {device} (pm.transferred)"
            raise _no_weights(f"there are no weights of '{device}', so {by_facts}") from None
        if isinstance(error, UnknownNameError):
            raise
        raise _no_weights("no OpenCL device was found to take the weights of") from None
    return weights_of(used, name)


def _weights_named(device: str, family: str | None) -> FoundWeights | None:
    """Return the weights whose folder or device has these words, or None. Raise NoWeightsError for several."""
    wanted = f"-{'-'.join(device.lower().split())}-"
    named = [each for each in _all_weights(family) if wanted in f"-{each.folder.name}- -{each.device.slug}-"]
    if len(named) > 1:
        known = (f"{shown(found.folder)} ({_names(found.device)})" for found in named)
        raise _missing(f"{len(named)} devices match '{device}', so give more words of one", known)
    return named[0] if named else None


def _all_weights(family: str | None) -> Iterator[FoundWeights]:
    for origin, folder, facts in fitted_devices():
        if (path := recommended_weights(folder, family)) is not None:
            yield FoundWeights(path, facts, origin)


def weights_of(used: DeviceFacts, family: str | None = None) -> FoundWeights:
    """Return the weights of a device, by the name of their family. Raise WeightsError if there are none."""
    known, alike = [], []
    for origin, folder, facts in fitted_devices():
        differ, path = differences(facts, used), recommended_weights(folder, family)
        if path is not None and not differ:
            alike.append(FoundWeights(path, facts, origin))
        # if a device nearly equals the one in use, only the differences are shown
        pairs = ((facts.name, used.name), (facts.platform, used.platform))
        nearly = differ and all(own == here or not own or not here for own, here in pairs)
        known.append(f"{shown(folder)} ({', '.join(differ) if nearly else _names(facts)})")
    if not alike:
        wanted = f" and the family {family}" if family else ""
        raise _missing(f"no weights were found of the device in use, {_names(used)}{wanted}", known)
    best = max(alike, key=lambda found: found.rank)
    return replace(best, passed_over=tuple(
        f"{shown(found.path)} ({found.origin}) is passed over: {found.verdict or 'nothing has judged it'}"
        for found in alike[: alike.index(best)]
    ))  # fmt: skip


def own_folder(weights: FoundWeights) -> Path:
    """Return the folder for new measurements of a device. For shipped weights it is a copy in the user's data."""
    if weights.origin != SHIPPED:
        return weights.folder
    own = data_folder() / weights.folder.name
    if not own.exists():
        shutil.copytree(weights.folder, own)
    return own


def weights_like(device: str | None, facts: DeviceFacts, family: str | None = None) -> FoundWeights:
    """Find the weights that are to be transferred to a device by its facts (:func:`perfmodel.transferred`).

    The weights come from the folder with the words `device` in its name or in its device's slug, as ``titan-v``. By
    default they come from the device of the same type, CPU or GPU, with the most measured rows. Without weights, a
    WeightsError names the available ones.
    """
    name = None if family is None else find_family(family).name
    if device is not None:
        if named := _weights_named(device, name):
            return named
        raise _no_weights(f"no device matches '{device}'")
    kind = _type_of(facts) or "gpu"
    models = [(found, read_model(found.path, family)) for found in _all_weights(name)]
    alike = [(model.fitted.rows, found) for found, model in models if _type_of(model.facts) == kind]
    if not alike:
        raise _no_weights(f"there are no weights of a {kind}")
    rows, most = max(alike, key=lambda pair: pair[0])
    return replace(most, origin=f"{most.origin}; of all {kind}s with the most measured rows, {rows}")


def _missing(problem: str, known: Iterable[str]) -> NoWeightsError:
    known = tuple(known)
    return NoWeightsError(
        f"{problem}; there are weights of: {listed(known, '; ')}",
        "fit weights to this device with 'perfmodel calibrate --quick' (under 3 minutes), or name a file with "
        "--weights FILE (pm.load(FILE)), which may belong to another device", known=known,
    )  # fmt: skip


def _no_weights(problem: str) -> NoWeightsError:
    return _missing(problem, (f"{shown(folder)} ({_names(facts)})" for _, folder, facts in fitted_devices()))


def _type_of(facts: DeviceFacts | None) -> str:
    return str(facts.known("device_type", "")) if facts else ""


def fitted_devices() -> Iterator[tuple[str, Path, DeviceFacts]]:
    """Yield each folder of a device, words for its place, and the device. Unreadable folders are left out."""
    seen = set()
    for origin, folder in search_folders():
        for path in sorted(folder.glob(f"*/{DEVICE_FILE}")):
            real = os.path.realpath(path.parent)
            if real not in seen:
                seen.add(real)
                with suppress(PerfModelError):
                    yield origin, path.parent, read_device(path)


def _names(facts: DeviceFacts) -> str:
    return f"'{facts.name}' of {facts.platform}, driver {facts.driver}"


def shown(path: Path) -> str:
    """Return a path, relative to the current folder if the path is inside."""
    here = _current_folder()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def load(
    path: str | Path | None = None, family: str | Family | None = None, *, device: str | None = None
) -> FittedModel:
    """Read a fitted model from a weights file. Without a path, read the model of the device in use.

    Parameters
    ----------
    path
        A file that :meth:`perfmodel.FittedModel.save` or ``perfmodel fit`` wrote. By default :func:`find_weights` finds
        a file, and ``path`` of the model names it.
    family
        With a path, a family is needed only if it is a user's own (:func:`perfmodel.predicting.model.load`). Without a
        path, weights of this family are found, by default of the recommended family.
    device
        Index, name or platform of the device in use, if no path is given. By default it is the default device.
    """
    require(path is None or isinstance(path, (str, Path)), "load: path", path, "the path of a weights file")
    require(device is None or isinstance(device, str), "load: device", device, "an index, name or platform as text")
    if path is None:
        path = find_weights(device, family).path
    return read_model(path, family)


def fit(
    measurements: Measurements, family: str | Family | None = None, nonnegative: bool = False,
    options: fitting.FitOptions | None = None, others: Measurements | None = None, samples: Measurements | None = None,
) -> FittedModel:  # fmt: skip
    r"""Fit a model family to measurements, by default the one for their device.

    Weights w [s per unit] minimise the squared relative errors of the times t, :math:`\sum_i (1 - p_i(w)/t_i)^2`. The
    family predicts p. By default the family is the first of the device's :func:`candidates` that can be fitted.
    (``perfmodel fit --all`` chooses the best candidate by kernels that the fit has not seen.) Other parameters are as
    of :func:`perfmodel.predicting.model.fit`.
    """
    require_rows(measurements)
    *first, last = candidates(measurements.facts) if family is None else (family,)
    for name in first:
        with suppress(PerfModelError):
            return fit_model(measurements, name, nonnegative, options, others, samples)
    return fit_model(measurements, last, nonnegative, options, others, samples)


def model_in_use(
    path: Path | None, family: str | None, device: str | None, report: Callable[[str], None], judged: bool = True
) -> FittedModel:
    """Return the model of a file or of the device in use. Report its weights, and with `judged` their verdict."""
    if path is None:
        weights = find_weights(device, family)
        report(weights.text if judged else weights.source)
        return read_model(weights.path, family)
    model = read_model(path, family)
    if differ := foreign(model, device):
        warn(f"the weights are not of the device in use: {'; '.join(differ)}", errors.PerfModelWarning, stacklevel=2)
    return model


def foreign(model: FittedModel, device: str | None = None) -> tuple[str, ...]:
    """Return the differences between the device of a model's weights and the device in use, in words."""
    known = model.facts or DeviceFacts(model.device, "", "", ())
    with suppress(NoDeviceError):
        return differences(known, device_in_use(device))
    return ()


def folder_weights(folder: Path, family: str | None = None) -> Path:
    """Return the weights of a family in a device's folder, by default the recommended one, or the first by name."""
    from perfmodel.fitting.device_folder import weights_files  # here: predictions do not need it

    if not (folder / ROWS_FILE).is_file():
        raise no_store(folder)
    known = {path.stem: path for path in weights_files(folder)}
    if not known:
        raise OptionError(f"'{folder}' holds no weights", f"fit some: perfmodel fit --all --from {folder}")
    if family is None:
        return recommended_weights(folder) or next(iter(known.values()))
    name = find_family(family).name
    if name not in known:
        advice = f"choose one of {', '.join(known)}, or fit it: perfmodel fit --from {folder} --family {family}"
        raise OptionError(f"'{folder}' holds no weights of the family '{name}'", advice)
    return known[name]
