"""Studies on a device: what they measure, where it is kept, and the data that they look at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from perfmodel import measuring
from perfmodel.calibration.kernel_choice import TEST_KERNELS
from perfmodel.calibration.recommended import FOLDER, find_weights, recommended_weights
from perfmodel.errors import WeightsError
from perfmodel.fitting.throughput import with_measured_facts
from perfmodel.io import shipped
from perfmodel.kernels import KernelClass, discover
from perfmodel.measuring import Campaign
from perfmodel.store import read
from scripts.lab.studies import Study, StudyData

if TYPE_CHECKING:
    from perfmodel.facts import DeviceFacts
    from perfmodel.opencl import Device
    from perfmodel.progress import Progress

#: Below the folder of test kernels: the kernels of the papers' experiments, which are in no score.
PAPERS = "papers"

#: Every variant of a paper's experiment at the sizes of its ladder, in two visits.
STUDY = Campaign(
    "study", shapes=1, groups_per_unit=0, longest_s=1.0, memory_fraction=0.5, visits=2, most_visits=4, apart_s=2.0,
    enough_s=0.25,
)  # fmt: skip

#: The same with two sizes of each variant, and shorter runs.
QUICK_STUDY = replace(STUDY, name="quick study", rungs=2, longest_s=0.1, most_visits=3, apart_s=1.0, enough_s=0.1)


def kernels_of(study: Study) -> tuple[KernelClass, ...]:
    """Return a study's kernel classes, in its order."""
    if not study.kernels:
        return ()
    known = {kernel.name: kernel for kernel in discover(shipped(TEST_KERNELS) / PAPERS)}
    return tuple(known[name] for name in study.kernels)


def weights_folder(slug: str, device: str | None = None) -> Path:
    """Return the folder with a device's weights: the project's own of that name, or else the user's.

    Raises WeightsError if there is none.
    """
    own = Path(__file__).parents[2] / FOLDER / slug
    return own if recommended_weights(own) else find_weights(device).folder


def measure_study(
    study: Study,
    device: Device,
    folder: Path,
    campaign: Campaign,
    progress: Progress | None = None,
    kernels: Iterable[KernelClass] | None = None,
) -> None:
    """Measure a study's kernels into ``<name>.jsonl`` in a folder; what the file holds is not measured again.

    Every configuration's output is compared with NumPy's before it is timed. One that the device cannot run is
    recorded with the reason. `kernels` are measured in place of the study's own.
    Raises what :func:`perfmodel.measuring.measure` raises.
    """
    wanted = kernels_of(study) if kernels is None else tuple(kernels)
    if wanted:
        measuring.measure(wanted, device, store_of(study, folder), progress, campaign)


def store_of(study: Study, folder: Path) -> Path:
    """Return the file that holds a study's measurements."""
    return folder / f"{study.name}.jsonl"


def facts_of(weights: Path) -> DeviceFacts:
    """Return the facts of the device of a folder, with those that its measurements give; it takes seconds."""
    return with_measured_facts(read(weights)).known_facts


def study_data(study: Study, folder: Path, weights: Path, facts: DeviceFacts | None = None) -> StudyData:
    """Return the data of a study: its measurements in a folder, and the models of a device's folder.

    `facts` are of the device, by default from :func:`facts_of`.

    Raises
    ------
    StoreError
        If the study was not measured, or the device.
    WeightsError
        If the device's folder has no weights.
    """
    found = recommended_weights(weights)
    if found is None:
        raise WeightsError(f"'{weights}' holds no weights of a device", "fit weights to it (perfmodel calibrate)")
    facts = facts or facts_of(weights)
    measured = read(store_of(study, folder)).with_facts(facts) if study.kernels else None
    failed = () if measured is None else tuple(row for row in measured.current if row.status != "ok")
    return StudyData(facts, measured, failed, weights, found.stem)
