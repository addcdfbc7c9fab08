"""The folder of a device: its measurements, test kernels, and the facts that a fit chooses by cross-validation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from perfmodel.errors import ForeignDeviceError, OptionError
from perfmodel.facts import FACTS_FILE, Fact, FactValue, read_facts
from perfmodel.fitting.design import build_design
from perfmodel.fitting.heldout import Refits
from perfmodel.fitting.options import FitOptions
from perfmodel.models.model import Family
from perfmodel.store import TESTS_FILE

if TYPE_CHECKING:
    from perfmodel.store import Measurements


def measured_folder(
    folder: Path, measured_facts: bool = True, given: Mapping[str, Fact] | None = None, tests: str = TESTS_FILE
) -> tuple[Measurements, Measurements]:
    """Return a folder's measurements of measurement kernels and of test kernels, which are in its file `tests`.

    Facts that can be read off the measurements are among theirs, unless `measured_facts` is false; `given` ones
    replace what is known (:func:`with_given_facts`).

    Raises
    ------
    StoreMissingError
        If there are no measurements, or none of test kernels.
    ForeignDeviceError
        If the test kernels were measured on another device.
    """
    from perfmodel import store
    from perfmodel.fitting.throughput import with_measured_facts

    measured = store.read(folder)
    if measured_facts:
        measured = with_measured_facts(measured)
    measured = with_given_facts(measured, given)
    return measured, tests_of(folder, measured, tests)


def with_given_facts(measured: Measurements, given: Mapping[str, Fact] | None) -> Measurements:
    """Return measurements with facts of their device that somebody gives; they replace what is known."""
    return measured.with_facts(measured.known_facts.updated(given)) if given else measured


def tests_of(folder: Path, measured: Measurements, file: str) -> Measurements:
    """Return the test kernels that were measured into a file of the folder, with the same facts of the device.

    The file holds no record where a campaign's budget ended before its first test kernel.

    Raises
    ------
    StoreMissingError, ForeignDeviceError
        If there are none, or if they were measured on another device.
    """
    from perfmodel import store

    tests = store.read(folder / file)
    if tests.rows and tests.device != measured.device:
        raise ForeignDeviceError(folder / file, f"'{tests.device}'", f"'{measured.device}'")
    return tests.with_facts(measured.facts)


def measured_folders(root: Path, wanted: tuple[str, ...] = ()) -> list[Path]:
    """Return the folders below `root` that hold measured test kernels, of the devices wanted.

    Devices that a simulator stands for are left out unless they are wanted by name (:func:`is_simulated`).

    Raises
    ------
    OptionError
        If there is none, or none of a device that is wanted.
    """
    folders = {path.parent.name: path.parent for path in sorted(root.glob(f"*/{TESTS_FILE}"))}
    for name in wanted or ("",):
        if not any(name.lower() in slug for slug in folders):
            known = ", ".join(folders) or "none"
            raise OptionError(
                f"no device measured in '{root}' matches '{name}' (there are: {known})",
                "give a part of such a name, or a folder with --from",
            )
    if not wanted:
        return [path for path in folders.values() if not is_simulated(path)]
    return [path for slug, path in folders.items() if any(name.lower() in slug for name in wanted)]


def simulated_folders(root: Path) -> list[Path]:
    """Return the folders below `root` that hold test kernels' times by a simulator."""
    return [path.parent for path in sorted(root.glob(f"*/{TESTS_FILE}")) if is_simulated(path.parent)]


def is_simulated(folder: Path) -> bool:
    """Return whether a folder's ``facts.yaml`` says that a simulator counted its times.

    Raises
    ------
    FactsFileError
        If that file is not what it should be.
    """
    path = folder / FACTS_FILE
    known = read_facts(path) if path.is_file() else {}
    return "simulated" in known and bool(known["simulated"].value)


def refuse_mixture(folders: Sequence[Path]) -> None:
    """Refuse folders of devices together with those of simulators, whose figures are not to be pooled.

    Raises
    ------
    OptionError
        If there are both.
    """
    simulated = [folder for folder in folders if is_simulated(folder)]
    if 0 < len(simulated) < len(folders):
        raise OptionError(
            f"--from names '{simulated[0]}', whose times are a simulator's, together with devices",
            "evaluate it by itself; its figures are not comparable with those of devices",
        )


SOURCE = "chosen by cross-validation over groups of measured kernels"


def with_chosen_facts(
    measurements: Measurements, family: Family, options: FitOptions | None = None
) -> Measurements:
    r"""Return measurements whose facts include those that the family chooses (:attr:`Family.choices`).

    They are chosen one after the other, in the family's order: each is the candidate with the smallest mean over
    kernels of :math:`|\log(t/p)|`, each row predicted by a fit without its group, with the facts that are chosen
    already and with the first candidate of those that are not. Facts that are known already stay.
    """
    open_ = {key: some for key, some in family.choices.items() if not _knows(measurements, key)}
    groups = [row.group for row in measurements] if open_ else []
    if not groups:
        return measurements
    chosen = {key: some[0] for key, some in open_.items()}
    known: dict[tuple[FactValue, ...], float] = {}

    def loss(values: Mapping[str, FactValue]) -> float:
        found = tuple(values.values())
        if found not in known:
            known[found] = _loss(_with(measurements, values), family, options, groups)
        return known[found]

    if len(set(groups)) > 1:
        for key, some in open_.items():
            chosen[key] = min(some, key=lambda one: loss({**chosen, key: one}))
    return _with(measurements, chosen)


def _loss(measurements: Measurements, family: Family, options: FitOptions | None, groups: list[str]) -> float:
    table = build_design(measurements, family, options)
    found = Refits(table, family, options).left_out(groups)
    by_kernel: dict[str, list[float]] = defaultdict(list)
    for row, seconds, time in zip(measurements, found.seconds, table.times, strict=True):
        if np.isfinite(seconds) and seconds > 0:
            by_kernel[row.kernel].append(abs(float(np.log(time / seconds))))
    return float(np.mean([np.mean(errors) for errors in by_kernel.values()])) if by_kernel else np.inf


def _knows(measurements: Measurements, key: str) -> bool:
    return measurements.facts is not None and key in measurements.facts


def _with(measurements: Measurements, values: Mapping[str, FactValue]) -> Measurements:
    chosen = {key: Fact(value, "", SOURCE) for key, value in values.items()}
    return measurements.with_facts(measurements.known_facts.updated(chosen))
