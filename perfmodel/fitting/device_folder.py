"""The folder of a device: its measurements, test kernels and samples, and whether its times are simulated."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from perfmodel import store
from perfmodel.errors import OptionError
from perfmodel.facts import FACTS_FILE, Fact, read_device, read_facts
from perfmodel.fitting.throughput import with_measured_facts
from perfmodel.store import SAMPLES_FILE, TESTS_FILE, Measurements
from perfmodel.store.files import DEVICE_FILE, no_store, other_device

NO_WEIGHTS = ("device.json", "recommended.json")  # documents of a device's folder other than weights


def measured_folder(folder: Path) -> tuple[Measurements, Measurements]:
    """Return the measurements of measurement kernels in a folder, and of test kernels.

    Both have the facts that follow from the measurements. Raise a StoreError if the folder has no test kernels.
    """
    measured = store.read(folder)
    measured = with_measured_facts(measured, samples=part_of(folder, measured, SAMPLES_FILE))
    tests = part_of(folder, measured, TESTS_FILE)
    if tests is None:
        raise no_store(folder / TESTS_FILE)
    return measured, tests


def recorded_folder(
    folder: Path, given: Mapping[str, Fact] | None = None, tests: str = TESTS_FILE
) -> tuple[Measurements, Measurements | None, Measurements | None]:
    """Return the measurements of measurement kernels in a folder, of test kernels in its file `tests`, and of samples.

    The `given` facts replace known ones. Without its file, a part is None.
    """
    measured = with_given_facts(store.read(folder), given)
    return measured, part_of(folder, measured, tests), part_of(folder, measured, SAMPLES_FILE)


def with_given_facts(measured: Measurements, given: Mapping[str, Fact] | None) -> Measurements:
    """Return measurements with given facts of their device, which replace known ones."""
    return measured.with_facts(measured.known_facts.updated(given)) if given else measured


def part_of(folder: Path, measured: Measurements, file: str) -> Measurements | None:
    """Return the measurements in a file of the folder, with the facts of `measured`, or None without this file."""
    path = folder / file
    if not path.is_file():
        return None
    part = store.read(path)
    if part.rows and part.device != measured.device:
        raise other_device(path, f"'{part.device}'", f"'{measured.device}'")
    return part.with_facts(measured.facts)


def weights_files(folder: str | Path) -> tuple[Path, ...]:
    """Return the files of weights that a folder holds, by name."""
    return tuple(path for path in sorted(Path(folder).glob("*.json")) if path.name not in NO_WEIGHTS)


def measured_folders(root: Path, wanted: tuple[str, ...] = ()) -> list[Path]:
    """Return folders below `root` with measured test kernels. Each text in `wanted` is a part of the name of a device.

    Simulated devices, and devices whose times others recorded, are left out unless `wanted` names them.
    """
    folders = {path.parent.name: path.parent for path in sorted(root.glob(f"*/{TESTS_FILE}"))}
    folders |= {path.name: path for path in (recorded_folders(root) if wanted else [])}
    for name in wanted or ("",):
        if not any(name.lower() in slug for slug in folders):
            known = ", ".join(folders) or "none"
            problem = f"no device measured in '{root}' matches '{name}' (there are: {known})"
            raise OptionError(problem, "give a part of such a name, or a folder with --from")
    if not wanted:
        return [path for path in folders.values() if not is_simulated(path)]
    return [path for slug, path in folders.items() if any(name.lower() in slug for name in wanted)]


def recorded_folders(root: Path) -> list[Path]:
    """Return the folders below `root` of devices whose times others recorded."""
    return [path.parent for path in sorted(root.glob(f"*/{DEVICE_FILE}")) if read_device(path).recorded]


def is_simulated(folder: Path) -> bool:
    """Return whether a folder's ``facts.yaml`` says that its times are simulated."""
    path = folder / FACTS_FILE
    known = read_facts(path) if path.is_file() else {}
    return "simulated" in known and bool(known["simulated"].value)


def refuse_mixture(folders: Sequence[Path]) -> None:
    """Raise an OptionError for folders of both real and simulated devices."""
    simulated = [folder for folder in folders if is_simulated(folder)]
    if 0 < len(simulated) < len(folders):
        problem = f"--from names '{simulated[0]}', whose times are simulated, together with real devices"
        raise OptionError(problem, "evaluate it by itself; its figures are not comparable with those of devices")
