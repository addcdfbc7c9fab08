"""Variants coded, counted, compiled and checked in several processes before anything is timed.

Making a variant takes ten times as long as a *visit*, which is a series of runs. If a variant fails here, the campaign
makes it again and records the failure.
"""

import os
import pickle
import warnings
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, as_completed
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import cloudpickle

from perfmodel.documents import canonical
from perfmodel.errors import KernelError
from perfmodel.kernels import KernelClass, Variant
from perfmodel.kernels.files import pickled_by_value
from perfmodel.kernels.samples import TAG
from perfmodel.measuring.bench import Bench, Timekeeper
from perfmodel.measuring.campaign import Campaign, teams
from perfmodel.measuring.lock import PINNED
from perfmodel.measuring.subject import FailedError, Subject, one_line
from perfmodel.opencl import Device
from perfmodel.processes.pool import is_death, processes_here
from perfmodel.processes.variants import counts_as_json, counts_from_json
from perfmodel.progress import Progress, Silent, task

FEWEST = 12  # fewest variants for each process, which takes seconds to start
MOST = 8  # most processes, since each opens the device
MAKE_S, MAKE_SAMPLE_S = 0.4, 0.1
"""Time to make a variant, and to make a sample with its stored code and counts, on a common core [s]."""

VariantName: TypeAlias = tuple[str, str]  # of a class and of its variant


@dataclass(frozen=True)
class Made:
    """Pickled code and JSON counts of a variant that another process made."""

    generated: bytes
    counts: bytes

    def give(self, subject: Subject, timekeeper: Timekeeper) -> None:
        """Give the code to a subject and the counts to a timekeeper. The timekeeper then does not check the output."""
        vars(subject)["generated"] = pickle.loads(self.generated)  # the value of the cached property
        timekeeper.counted[subject.key] = counts_from_json(self.counts)
        timekeeper.checked[subject.key] = None


AllMade: TypeAlias = Mapping[VariantName, Made]


def name_of(subject: Subject) -> VariantName:
    """Return the key of a variant among those made."""
    return subject.kernel.name, canonical(subject.variant)


def subjects_of(kernels: Iterable[KernelClass], campaign: Campaign, device: Device) -> list[Subject]:
    """Return the variants that a campaign measures on a device."""
    most = int(device.facts.value("max_work_group_size"))
    return [subject for team in teams(kernels, campaign, most) for subject in team]


def make_kernels(
    parts: Iterable[tuple[Iterable[KernelClass], Campaign]], device: Device, progress: Progress | None = None
) -> AllMade:
    """Make the variants of campaigns, with one process for each core. If one process suffices, return none."""
    todo = [(subject, campaign) for kernels, campaign in parts for subject in subjects_of(kernels, campaign, device)]
    bar, made = progress or Silent(), {}
    with processes_here(len(todo) // FEWEST, MOST) as processes:
        if processes is None:
            return {}
        pickles = {kernel.name: packed(kernel) for kernel in {s.kernel.name: s.kernel for s, _ in todo}.values()}
        expected = {name_of(subject): make_s(subject) / processes.count for subject, _ in todo}
        with task(bar, "making kernels", len(todo), sum(expected.values())):
            names: dict[Future[Made | None], VariantName] = {
                processes.submit(_made, device, campaign, pickles[s.kernel.name], s.variant): name_of(s)
                for s, campaign in todo
            }
            try:
                for future in as_completed(names):
                    name = names[future]
                    if (result := future.result()) is not None:
                        made[name] = result
                    bar.advance(name[0], expected[name])
            except Exception as error:
                if not is_death(error):
                    raise
                processes.end(kill=True)
                bar.report("a process died while it made kernels; the others are made one after the other")
    return made


def packed(kernel: KernelClass) -> bytes:
    """Pickle a kernel class with the definitions of its file, or raise KernelError."""
    try:
        return pickled_by_value(kernel)
    except Exception as error:  # a value's own pickling may raise any error
        raise KernelError(
            f"the kernel class '{kernel.name}' cannot be sent to another process: {one_line(error)}",
            "let its functions make such values when they are called, instead of holding them",
        ) from error


def make_s(subject: Subject) -> float:
    """Return about how long it takes to make a variant [s]."""
    return MAKE_SAMPLE_S if TAG in subject.kernel.tags else MAKE_S


def expected_making_s(parts: Iterable[tuple[Iterable[KernelClass], Campaign]], device: Device) -> float:
    """Return about how long :func:`make_kernels` takes on two cores [s]."""
    return sum(make_s(subject) for part in parts for subject in subjects_of(*part, device)) / 2


def _made(device: Device, campaign: Campaign, pickled: bytes, variant: Variant) -> Made | None:
    subject, timekeeper = Subject(_unpacked(pickled), variant), Timekeeper(_bench(device, campaign), 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the campaign repeats them
        try:
            counts = timekeeper.count(subject)
            timekeeper.check(subject)
        except FailedError:
            return None
    return Made(cloudpickle.dumps(subject.generated), counts_as_json(counts))


_unpacked = lru_cache(maxsize=4)(pickle.loads)


@lru_cache(maxsize=4)
def _bench(device: Device, campaign: Campaign) -> Bench:
    for name in PINNED:  # else all these processes would share one core
        os.environ.pop(name, None)
    return Bench(device, campaign)
