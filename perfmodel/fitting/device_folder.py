"""The folder of a device: its measurements, test kernels and samples, and whether its times are simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from perfmodel import store
from perfmodel.errors import OptionError
from perfmodel.facts import FACTS_FILE, Fact, read_device, read_facts
from perfmodel.fitting.throughput import with_measured_facts
from perfmodel.store import SAMPLES_FILE, TESTS_FILE, Measurements
from perfmodel.store.files import DEVICE_FILE, other_device


def measured_folder(
    folder: Path, measured_facts: bool = True, given: Mapping[str, Fact] | None = None, tests: str = TESTS_FILE
) -> tuple[Measurements, Measurements]:
    """Return the measurements of measurement kernels in a folder, and of test kernels from its file `tests`.

    With `measured_facts`, the function adds facts that follow from the measurements. The `given` facts replace known
    ones.
    """
    measured = _measured(folder, measured_facts, given)
    return measured, tests_of(folder, measured, tests)


def recorded_folder(
    folder: Path, measured_facts: bool = True, given: Mapping[str, Fact] | None = None, tests: str = TESTS_FILE
) -> tuple[Measurements, Measurements | None]:
    """Return the result of :func:`measured_folder`, but None in place of test kernels if the folder has none."""
    if (folder / tests).is_file():
        return measured_folder(folder, measured_facts, given, tests)
    return _measured(folder, measured_facts, given), None


def _measured(folder: Path, measured_facts: bool, given: Mapping[str, Fact] | None) -> Measurements:
    measured = store.read(folder)
    if measured_facts:
        measured = with_measured_facts(measured, samples=samples_of(folder, measured))
    return with_given_facts(measured, given)


def with_given_facts(measured: Measurements, given: Mapping[str, Fact] | None) -> Measurements:
    """Return measurements with given facts of their device, which replace known ones."""
    return measured.with_facts(measured.known_facts.updated(given)) if given else measured


def tests_of(folder: Path, measured: Measurements, file: str) -> Measurements:
    """Return the test kernels in a file of the folder, perhaps none, with the facts of the measurements."""
    tests = store.read(folder / file)
    if tests.rows and tests.device != measured.device:
        raise other_device(folder / file, f"'{tests.device}'", f"'{measured.device}'")
    return tests.with_facts(measured.facts)


def samples_of(folder: Path, measured: Measurements) -> Measurements | None:
    """Return the samples of a folder, with the facts of the measurements. Without samples return None."""
    return tests_of(folder, measured, SAMPLES_FILE) if (folder / SAMPLES_FILE).is_file() else None


def measured_folders(root: Path, wanted: tuple[str, ...] = ()) -> list[Path]:
    """Return folders below `root` with measured test kernels. Each text in `wanted` is a part of the name of a device.

    Simulated devices, and devices whose times others recorded, are left out unless `wanted` names them.
    """
    folders = {path.parent.name: path.parent for path in sorted(root.glob(f"*/{TESTS_FILE}"))}
    recorded = recorded_folders(root) if wanted else []
    folders |= {path.name: path for path in recorded}
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


def recorded_folders(root: Path) -> list[Path]:
    """Return the folders below `root` of devices whose times others recorded."""
    return [path.parent for path in sorted(root.glob(f"*/{DEVICE_FILE}")) if read_device(path).recorded]


def simulated_folders(root: Path) -> list[Path]:
    """Return the folders below `root` that hold simulated times of test kernels."""
    return [path.parent for path in sorted(root.glob(f"*/{TESTS_FILE}")) if is_simulated(path.parent)]


def is_simulated(folder: Path) -> bool:
    """Return whether a folder's ``facts.yaml`` says that its times are simulated."""
    path = folder / FACTS_FILE
    known = read_facts(path) if path.is_file() else {}
    return "simulated" in known and bool(known["simulated"].value)


def refuse_mixture(folders: Sequence[Path]) -> None:
    """Raise an OptionError for folders of both real and simulated devices."""
    simulated = [folder for folder in folders if is_simulated(folder)]
    if 0 < len(simulated) < len(folders):
        raise OptionError(
            f"--from names '{simulated[0]}', whose times are simulated, together with real devices",
            "evaluate it by itself; its figures are not comparable with those of devices",
        )
