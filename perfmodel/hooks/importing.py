"""Measurements out of the results of other tuners: each configuration is made into a kernel, counted, and stored.

A result says how long a configuration took, and a record also what it executes. So the kernel file is needed that
the tuner's configurations belong to: ``build(**configuration)``, a ``KERNEL`` (a kernel class), or ``variants()``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from perfmodel import store
from perfmodel.counts import KernelCounts, count
from perfmodel.display import in_words
from perfmodel.errors import (
    ConfigurationError,
    DocumentError,
    ForeignDeviceError,
    HookError,
    ImportedDeviceError,
    PerfModelError,
    StoreMissingError,
    UnmappedResultsError,
)
from perfmodel.facts import DeviceFacts
from perfmodel.hooks.kernel_source import KernelSource, Mapped, Source, kernel_source
from perfmodel.hooks.predicted_times import BLOCK_SIZES, in_order, three_axes
from perfmodel.measuring.subject import GeneratedCode
from perfmodel.store import Measurement, Measurements
from perfmodel.store.tuner_files import TunerResult, TunerResults, read_results

#: The tag of imported records.
TAG = "imported"
#: Of a device of which nothing is known: a prediction's default too.
SUBGROUP_SIZE = 32


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
) -> Imported:
    """Add the results in another tuner's file to a store of measurements.

    Of a result that is ok the kernel is built and counted, so that `fit`, `evaluate` and `tune` can use it; one that
    failed is a record with its status. Times are in seconds; they are the tuner's own: Kernel Tuner's are those of
    the device's clock, without the launch. A result that the store holds already is not added again.

    Parameters
    ----------
    path
        A cache file of Kernel Tuner, or a T4 file (:mod:`perfmodel.store.tuner_files`).
    kernel
        A Python file with ``build(**configuration)``, ``KERNEL`` or ``variants()``; or a kernel class, or a function
        ``build``.
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
    KernelFileMissingError, KernelFileContentError, ...
        If the kernel file is not what it should be.
    """
    results = read_results(path)
    before = _before(target)
    facts = _device(results, target, before, device, platform, driver)
    source = kernel_source(kernel, results, by, name)
    known = {_identity(row) for row in before.rows} if before else set()
    refused = list(results.refused)
    made: dict[str, tuple[KernelCounts, str]] = {}
    found: dict[int, tuple[Measurement, KernelCounts | None]] = {}
    for place, result in sorted(enumerate(results.results), key=lambda pair: pair[1].status != "ok"):
        try:
            found[place] = _record(result, results, source, sizes or {}, facts, made)
        except (DocumentError, ConfigurationError) as error:
            refused.append(_refusal(result, error))
    added, again = [], 0
    for _, (row, counts) in sorted(found.items()):
        if _identity(row) in known:
            again += 1
            continue
        known.add(_identity(row))
        store.append(target, row, counts)
        added.append(row)
    if not added and not again:
        first = refused[0] if refused else "there is none"
        raise UnmappedResultsError(path, len(results.results) + len(results.refused), first.rstrip("."))
    return Imported(str(path), results.form, facts.name, tuple(added), again, tuple(refused), results.notes)


def _record(
    result: TunerResult,
    results: TunerResults,
    source: KernelSource,
    sizes: Mapping[str, int],
    facts: DeviceFacts,
    made: dict[str, tuple[KernelCounts, str]],
) -> tuple[Measurement, KernelCounts | None]:
    """Return a result's record, and its counts where it was run; kernels are made once for each variant.

    One that failed has no kernel: its sizes are compared with those of the kernels that are made already.
    """
    mapped = source.mapped(result.configuration, sizes)
    counts, code = None, ""
    if result.status == "ok":
        key = in_order(mapped.variant)
        if key not in made:
            made[key] = _made(mapped, facts)
        counts, code = made[key]
        _check_blocks(result.configuration, counts)
        _check_sizes(counts, mapped.sizes)
    elif made and not any({*mapped.sizes} == {*one.parameters} for one, _ in made.values()):
        raise _wrong_sizes(mapped.sizes, next(iter(made.values()))[0])
    row = Measurement(
        kernel=source.name,
        group=source.group,
        tags=(*source.tags, TAG),
        variant=mapped.variant,
        parameters=mapped.sizes,
        device=facts.name,
        platform=facts.platform,
        driver=facts.driver,
        versions={"perfmodel": version("perfmodel"), "results": results.form},
        kernel_hash=code,
        counts_hash=counts.hash if counts else "",
        samples_s=result.samples_s,
        dropped=0,
        taken_at=result.taken_at,
        status=result.status,
        message=result.message,
    )
    return row, counts


def _made(mapped: Mapped, facts: DeviceFacts) -> tuple[KernelCounts, str]:
    unit = mapped.make()
    size = int(facts.value("subgroup_size")) if "subgroup_size" in facts else SUBGROUP_SIZE
    try:
        return count(unit, subgroup_size=size, check=True), GeneratedCode(unit).hash
    except PerfModelError as error:
        raise ConfigurationError(in_words(mapped.variant), f"cannot be counted: {error}") from error


def _check_blocks(configuration: Mapping[str, Any], counts: KernelCounts) -> None:
    """Refuse a result that was launched in other work-groups than the kernel's."""
    shape = three_axes(counts.launch.group_shape)
    for axis, width in zip(BLOCK_SIZES, shape, strict=True):
        if axis in configuration and configuration[axis] != width:
            raise DocumentError(f"was launched with {axis}={configuration[axis]}, and the kernel has {width}")


def _check_sizes(counts: KernelCounts, sizes: Mapping[str, int]) -> None:
    """Refuse sizes that are not all of the kernel's, or that it does not have or assume."""
    if {*sizes} != {*counts.parameters}:
        raise _wrong_sizes(sizes, counts)
    try:
        counts.work_groups()(**sizes)
    except PerfModelError as error:
        raise DocumentError(f"cannot be evaluated at these sizes: {error}") from error


def _wrong_sizes(sizes: Mapping[str, int], counts: KernelCounts) -> DocumentError:
    found, wanted = ", ".join(sizes) or "none", ", ".join(counts.parameters) or "none"
    return DocumentError(f"has the sizes {found}, and the kernel's are {wanted}")


def _refusal(result: TunerResult, error: DocumentError | ConfigurationError) -> str:
    if isinstance(error, ConfigurationError):
        return f"the kernel ({error.configuration}) {error.problem}"
    return f"the configuration ({in_words(result.configuration)}) {error.problem}"


def _before(target: str | Path) -> Measurements | None:
    try:
        return store.read(target)
    except StoreMissingError:
        return None


def _identity(row: Measurement) -> tuple[object, ...]:
    return (*row.place, row.status, row.samples_s, row.taken_at)


def _device(
    results: TunerResults,
    target: str | Path,
    before: Measurements | None,
    device: str | None,
    platform: str | None,
    driver: str | None,
) -> DeviceFacts:
    """Return the device of the results, with what the store knows of it."""
    if device and results.device and device != results.device:
        raise HookError(
            f"the results are of '{results.device}', and '{device}' was given",
            "leave the device out, or give the file of that device",
        )
    known = before.known_facts if before and (before.rows or before.facts) else None
    name = device or results.device or (known.name if known else None)
    if not name:
        raise ImportedDeviceError(results.path)
    if known and known.name != name:
        raise ForeignDeviceError(target, f"'{known.name}' ({known.platform})", f"'{name}' ({platform or '?'})")
    known = known or DeviceFacts(name, "", "", ())
    return DeviceFacts(
        name,
        known.platform if platform is None else platform,
        known.driver if driver is None else driver,
        known.facts,
    )
