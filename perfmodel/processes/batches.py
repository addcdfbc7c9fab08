"""What a worker does: it makes the variants of a batch one after the other, and reports what came of each."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import cloudpickle

from perfmodel.errors import PerfModelError, TrialError
from perfmodel.processes.variants import Parcel, Variant, made, said, unpacked

if TYPE_CHECKING:
    from loopy import TranslationUnit

    from perfmodel.counts import KernelCounts

#: What is done with a variant, once it is built.
Task = Callable[["TranslationUnit | KernelCounts"], Any]
STATUS = Path("/proc/self/status")

_alone = Lock()  # isl and Loopy's caches are for one thread; Dask's workers may have several
_first: list[int] = []


@dataclass(frozen=True)
class Outcome:
    """What came of a variant.

    Parameters
    ----------
    place
        Its place among all variants.
    value
        What the task returned, or the error that it raised.
    warnings
        Category and text of each warning.
    """

    place: int
    value: Any
    warnings: tuple[tuple[type[Warning], str], ...] = ()


@dataclass(frozen=True)
class Report:
    """What came of a batch.

    Parameters
    ----------
    outcomes
        One of each variant.
    grown_bytes
        By how much this process's memory has grown since its first batch [B]; 0 where the system does not tell.
    """

    outcomes: tuple[Outcome, ...]
    grown_bytes: int


def attempt(task: Task, name: str, variant: Variant) -> Any:
    """Return what a task makes of a variant, or the error that it, or the variant's own function, raises."""
    stage = "compile"
    try:
        kernel = made(name, variant)
        stage = "constraint"
        return task(kernel)
    except PerfModelError as error:
        return error
    except (Exception, SystemExit) as error:  # of the user's function, or of a library: it must not end the others
        return TrialError(name, stage, said(error))


def work(task: bytes, batch: tuple[tuple[int, Parcel], ...]) -> Report:
    """Do a pickled task with each variant of a batch."""
    with _alone:
        function = _loaded(task)
        outcomes = tuple(_outcome(function, place, parcel) for place, parcel in batch)
        now = resident_bytes()
        if not _first:
            _first.append(now)
        return Report(outcomes, now - _first[0])


def resident_bytes() -> int:
    """Return how much memory this process holds [B]; 0 where the system does not tell."""
    try:
        lines = STATUS.read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:")), 0)


def _outcome(task: Task, place: int, parcel: Parcel) -> Outcome:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            variant = unpacked(parcel)
        except PerfModelError as error:
            return Outcome(place, error)
        except Exception as error:  # a module that this machine does not have, for example
            return Outcome(place, TrialError(parcel.name, "compile", f"{said(error)}, in another process"))
        value = attempt(task, parcel.name, variant)
    distinct = dict.fromkeys((one.category, str(one.message)) for one in told if issubclass(one.category, UserWarning))
    return Outcome(place, value, tuple(distinct))


@lru_cache(maxsize=4)
def _loaded(task: bytes) -> Task:
    function: Task = cloudpickle.loads(task)
    return function
