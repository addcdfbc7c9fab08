"""Measurements out of the results of other tuners: each configuration is made into a kernel, counted, and stored.

A result says how long a configuration took, and a record also what it executes. So the kernel file is needed that
the tuner's configurations belong to: ``kernel(**configuration)`` with ``space()``, ``build(**configuration)``, a
``KERNEL`` (a kernel class), or ``variants()``.

Records are added as their kernels are counted. An import that was stopped goes on where it was, once it is run again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from perfmodel import errors, store
from perfmodel.counts import KernelCounts
from perfmodel.display import in_words
from perfmodel.errors import ConfigurationError, DocumentError, PerfModelError, ResultsError
from perfmodel.facts import DeviceFacts
from perfmodel.hooks.kernel_sources import KernelSource, MappedConfiguration, Source, kernel_source
from perfmodel.hooks.predicted_times import BLOCK_SIZES, three_axes
from perfmodel.processes.counting import Counting
from perfmodel.processes.pool import Pool
from perfmodel.processes.variants import counts_from_json
from perfmodel.progress import Progress
from perfmodel.store import Measurement, Measurements, canonical
from perfmodel.store.exchange import TunerResult, TunerResults, read_results

#: The tag of imported records.
TAG = "imported"
#: Of a device of which nothing is known: a prediction's default too.
SUBGROUP_SIZE = 32
#: From so many kernels on they are counted by one process for each core, unless a number of jobs is given, and packed.
MANY = 64


@dataclass(frozen=True)
class Imported:
    """What came of an import.

    Parameters
    ----------
    path, form
        The file, and what it is.
    device
        The device of the records.
    rows
        Those that were added.
    known
        How many results were in the store before.
    refused
        A sentence for each result that could not be used.
    notes
        What else there is to say of the file.
    """

    path: str
    form: str
    device: str
    rows: tuple[Measurement, ...]
    known: int
    refused: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def statuses(self) -> dict[str, int]:
        """How many of the added records have each status."""
        return dict(Counter(row.status for row in self.rows))


def import_results(
    path: str | Path,
    kernel: Source,
    target: str | Path,
    sizes: Mapping[str, int] | None = None,
    *,
    device: str | None = None,
    platform: str | None = None,
    driver: str | None = None,
    by: str | None = None,
    name: str | None = None,
    jobs: int | None = None,
    progress: Progress | bool | None = None,
) -> Imported:
    """Add the results in another tuner's file to a store of measurements.

    The kernel of a result that is ok is built and counted, so that `fit`, `evaluate` and `tune` can use it; a result
    that failed becomes a record with its status. Times are in seconds; they are the tuner's own: Kernel Tuner's are
    those of the device's clock, without the launch. A result that the store holds already is not added again, and its
    kernel is not counted.

    Parameters
    ----------
    path
        A cache file of Kernel Tuner, a T4 file, or a table of times (:mod:`perfmodel.store.exchange`).
    kernel
        A Python file with ``kernel(**configuration)`` and ``space()``, with ``build(**configuration)``, ``KERNEL`` or
        ``variants()``; or a kernel class, or a function ``build``. With a space, a result is refused that has a name or
        a value that the space does not have.
    target
        The store.
    sizes
        The kernel's size parameters. Those that a configuration holds itself need not be given.
    device, platform, driver
        Of the results. By default the device is what the file says, the others are those of the store, or empty.
    by
        With ``variants()``: the parameter that names the variant; by default the only one that there is.
    name
        Name of the kernel in the records; by default that of the file, or of the class.
    jobs
        Processes that count; by default one, and one for each core from 64 kernels on.
    progress
        True shows a bar on standard error; or what is told of each kernel that is counted.

    Returns
    -------
    Imported

    Raises
    ------
    ResultsFileError
        If the file cannot be read.
    ImportedDeviceError
        If neither the file, nor the store, nor `device` names a device.
    UnmappedResultsError
        If no result can be used.
    ForeignDeviceError, OutputError, ...
        As of :func:`perfmodel.store.append`.
    KernelFileError
        If the kernel file is not what it should be.
    """
    results = read_results(path)
    try:
        before = store.read(target)
    except errors.StoreMissingError:
        before = None
    facts = _device(results, target, before, device, platform, driver)
    source = kernel_source(kernel, results, by, name)
    known = {_identity(row) for row in before.rows} if before else set()
    plan = _planned(results, source, sizes or {}, facts, known)
    refused, again, added = list(plan.refused), plan.known, []
    for planned, outcome in _outcomes(plan, _subgroup_size(facts), jobs, progress):
        if isinstance(outcome, PerfModelError):
            refused.append(_said_of(planned, outcome))
        elif _identity(planned.row) in known:
            again += 1
        else:
            known.add(_identity(planned.row))
            added.append(_added(target, facts, planned.row, outcome))
    if len(plan.variants) >= MANY and added:
        store.pack(target)
    if not added and not again:
        first = refused[0] if refused else "there is none"
        raise errors.UnmappedResultsError(path, len(results.results) + len(results.refused), first.rstrip("."))
    return Imported(str(path), results.form, facts.name, tuple(added), again, tuple(refused), results.notes)


@dataclass(frozen=True, eq=False)
class _PlannedRecord:
    """A result, its place among the kernels, and its record, which names no counts yet."""

    configuration: Mapping[str, Any]
    mapped: MappedConfiguration
    row: Measurement


@dataclass(frozen=True, eq=False)
class _Plan:
    """What is to be added: by variant what was run, and what failed; how many are known, and what is refused."""

    variants: Mapping[str, list[_PlannedRecord]]
    failed: list[_PlannedRecord]
    known: int
    refused: tuple[str, ...]


def _planned(
    results: TunerResults, source: KernelSource, sizes: Mapping[str, int], facts: DeviceFacts,
    known: set[tuple[object, ...]],
) -> _Plan:  # fmt: skip
    variants: dict[str, list[_PlannedRecord]] = {}
    failed: list[_PlannedRecord] = []
    refused, again = list(results.refused), 0
    for result in results.results:
        try:
            mapped = source.mapped(result.configuration, sizes)
        except DocumentError as error:
            refused.append(f"the configuration ({in_words(result.configuration)}) {error.problem}")
            continue
        planned = _PlannedRecord(result.configuration, mapped, _record(result, results.form, source, mapped, facts))
        if _identity(planned.row) in known:
            again += 1
            continue
        (variants.setdefault(canonical(mapped.variant), []) if result.status == "ok" else failed).append(planned)
    return _Plan(variants, failed, again, tuple(refused))


def _outcomes(
    plan: _Plan, subgroup_size: int, jobs: int | None, progress: Progress | bool | None
) -> Iterator[tuple[_PlannedRecord, KernelCounts | PerfModelError | None]]:
    """Yield each planned record with its kernel's counts, or the error that refuses it; None for one that failed.

    One that failed has no kernel: its sizes are compared with those of the kernels that were counted.
    """
    pool = Pool(jobs or (-1 if len(plan.variants) >= MANY else 1), progress)
    makers = {key: same[0].mapped.make for key, same in plan.variants.items()}
    sizes: set[frozenset[str]] = set()
    counting = Counting({"subgroup_size": subgroup_size}, pool.alone)
    for key, outcome in pool.stream(counting, makers, "counting") if makers else ():
        counts = counts_from_json(outcome) if isinstance(outcome, bytes) else outcome
        if isinstance(counts, KernelCounts):
            sizes.add(frozenset(counts.parameters))
        yield from ((planned, _fitting(planned, counts)) for planned in plan.variants[key])
    for planned in plan.failed:
        fits = not sizes or frozenset(planned.mapped.sizes) in sizes
        yield planned, None if fits else _wrong_sizes(planned.mapped.sizes, next(iter(sizes)))


def _fitting(planned: _PlannedRecord, outcome: KernelCounts | PerfModelError) -> KernelCounts | PerfModelError:
    """Return counts if the result fits to them: its work-group, and its sizes; else the error that refuses it."""
    if isinstance(outcome, PerfModelError):
        return outcome
    try:
        _check_blocks(planned.configuration, outcome)
        _check_sizes(planned.mapped.sizes, outcome)
    except DocumentError as error:
        return error
    return outcome


def _record(
    result: TunerResult, form: str, source: KernelSource, mapped: MappedConfiguration, facts: DeviceFacts
) -> Measurement:
    return Measurement(
        kernel=source.name,
        group=source.group,
        tags=(*source.tags, TAG),
        variant=mapped.variant,
        parameters=mapped.sizes,
        device=facts.name,
        platform=facts.platform,
        driver=facts.driver,
        versions={"perfmodel": version("perfmodel"), "results": form},
        kernel_hash="",
        counts_hash="",
        samples_s=result.samples_s,
        dropped=0,
        taken_at=result.taken_at,
        status=result.status,
        message=result.message,
    )


def _added(target: str | Path, facts: DeviceFacts, row: Measurement, counts: KernelCounts | None = None) -> Measurement:
    """Add a record to the store, and return it; the code that ran is not Loopy's, so that its counts stand for it."""
    if not store.device_path(target).is_file():
        store.prepare(target, DeviceFacts(facts.name, facts.platform, facts.driver, ()))
    if counts is not None:
        row = row.model_copy(update={"kernel_hash": counts.hash, "counts_hash": counts.hash})
    store.append(target, row, counts)
    return row


def _said_of(planned: _PlannedRecord, error: PerfModelError) -> str:
    """Return a sentence that says why a result is refused."""
    if isinstance(error, DocumentError):
        return f"the configuration ({in_words(planned.configuration)}) {error.problem}"
    if isinstance(error, ConfigurationError):
        return f"the kernel ({error.configuration}) {error.problem}"
    return f"the kernel ({in_words(planned.mapped.variant)}) cannot be counted: {error}"


def _subgroup_size(facts: DeviceFacts) -> int:
    return int(facts.known("subgroup_size", SUBGROUP_SIZE))


def _check_blocks(configuration: Mapping[str, Any], counts: KernelCounts) -> None:
    """Refuse a result that was launched in other work-groups than the kernel's."""
    shape = three_axes(counts.launch.group_shape)
    for axis, width in zip(BLOCK_SIZES, shape, strict=True):
        if axis in configuration and configuration[axis] != width:
            raise DocumentError(f"was launched with {axis}={configuration[axis]}, and the kernel has {width}")


def _check_sizes(sizes: Mapping[str, int], counts: KernelCounts) -> None:
    """Refuse sizes that are not all of the kernel's, or that it does not have or assume."""
    if {*sizes} != {*counts.parameters}:
        raise _wrong_sizes(sizes, counts.parameters)
    try:
        counts.work_groups()(**sizes)
    except PerfModelError as error:
        raise DocumentError(f"cannot be evaluated at these sizes: {error}") from error


def _wrong_sizes(sizes: Collection[str], wanted: Collection[str]) -> DocumentError:
    strange, lacking = [name for name in sizes if name not in wanted], sorted({*wanted} - {*sizes})
    said = [f"has {', '.join(strange)}, and the kernel has no such parameter or size"] if strange else []
    said += [f"lacks the size {', '.join(lacking)} (-p NAME=SIZE)"] if lacking else []
    return DocumentError(" and ".join(said))


def _identity(row: Measurement) -> tuple[object, ...]:
    return (*row.place, row.status, row.samples_s, row.taken_at)


def _device(
    results: TunerResults, target: str | Path, before: Measurements | None, device: str | None, platform: str | None,
    driver: str | None,
) -> DeviceFacts:  # fmt: skip
    """Return the device of the results, with what the store knows of it."""
    if device and results.device and device != results.device:
        raise ResultsError(
            f"the results are of '{results.device}', and '{device}' was given",
            "leave the device out, or give the file of that device",
        )
    known = before.known_facts if before and (before.rows or before.facts) else None
    name = device or results.device or (known.name if known else None)
    if not name:
        raise errors.ImportedDeviceError(results.path)
    if known and known.name != name:
        raise errors.ForeignDeviceError(target, f"'{known.name}' ({known.platform})", f"'{name}' ({platform or '?'})")
    known = known or DeviceFacts(name, "", "", ())
    platform, driver = known.platform if platform is None else platform, known.driver if driver is None else driver
    return DeviceFacts(name, platform, driver, known.facts)
