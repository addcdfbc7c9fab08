"""Measurements from the results of other tuners: each configuration is built into a kernel, counted, and stored.

The kernel file defines the kernels of the tuner's configurations: ``kernel(**configuration)`` with ``space()``,
``build(**configuration)``, a ``KERNEL`` (a kernel class), or ``variants()``. Records are added as their kernels are
counted, so that an import that was stopped can continue.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from perfmodel import store
from perfmodel.counts import KernelCounts
from perfmodel.display import in_words
from perfmodel.documents import EXACT
from perfmodel.errors import DocumentError, KernelFileError, PerfModelError, ResultsError, SpaceError
from perfmodel.facts import DeviceFacts
from perfmodel.hooks.kernel_tuner import BLOCK_SIZES, Build, build_kernel, parameters_of, three_axes
from perfmodel.kernels import KernelClass, load_file
from perfmodel.kernels.files import execute, load_kernel_file, surroundings
from perfmodel.processes.counting import Counting
from perfmodel.processes.pool import Pool
from perfmodel.processes.variants import counts_from_json
from perfmodel.progress import Progress
from perfmodel.store import Measurement, Measurements, canonical
from perfmodel.store.exchange import TunerResult, TunerResults, read_results
from perfmodel.store.files import other_device

if TYPE_CHECKING:
    from loopy import TranslationUnit

TAG = "imported"
"""Tag of imported records."""
SUBGROUP_SIZE = 32
"""Sub-group size of an unknown device."""
MANY = 64
"""From this number of kernels, each core has a process that counts, and the store is packed."""
VARIANT = "variant"
"""Key of a variant that has only a name."""

Source: TypeAlias = "str | Path | KernelClass | Build"


# {{{ the kernels of configurations


@dataclass(frozen=True)
class MappedConfiguration:
    """The variant and sizes of a configuration, and a function that builds its kernel."""

    variant: dict[str, Any]
    sizes: dict[str, int]
    build: Callable[[], TranslationUnit]


@dataclass(frozen=True, eq=False)
class KernelSource:
    """Kernels that are built from configurations, with the name, group and tags of their records."""

    name: str
    group: str
    build: Build  # build(**variant)
    takes: tuple[str, ...] | None  # the parameters of build; None for any
    needs: frozenset[str]  # the required ones
    tags: tuple[str, ...] = ()

    def mapped(self, configuration: Mapping[str, Any], sizes: Mapping[str, int]) -> MappedConfiguration:
        """Return a configuration's variant and sizes; raise DocumentError if they do not fit the kernel.

        A value that ``build`` does not take is a size if it is an integer, but for the shape of the work-group, which
        Kernel Tuner adds, and the name of the kernel class, which perfmodel's own T4 files have.
        """
        given = dict(configuration)
        takes = tuple(given) if self.takes is None else self.takes
        if "kernel" not in takes and given.pop("kernel", self.name) != self.name:
            raise DocumentError(f"is for the kernel '{configuration['kernel']}', not '{self.name}'")
        if missing := sorted(self.needs - set(given)):
            raise DocumentError(f"has no value for {', '.join(missing)}, which the kernel file needs")
        variant = {name: given.pop(name) for name in takes if name in given}
        parameters = dict(sizes)
        for name, value in given.items():
            plain = name.removeprefix("parameters.")
            if name in BLOCK_SIZES:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= EXACT:
                raise DocumentError(f"has {name}={value!r}, which is neither a parameter of the kernel file nor a size")
            if parameters.get(plain, value) != value:
                raise DocumentError(f"has {plain}={value}, where {plain}={parameters[plain]} was given")
            parameters[plain] = value
        return MappedConfiguration(variant, parameters, partial(build_kernel, self.build, variant))


@dataclass(frozen=True, eq=False)
class NamedKernels(KernelSource):
    """Kernels with names; one parameter of a configuration gives the name."""

    by: str = VARIANT
    names: tuple[str, ...] = ()

    def mapped(self, configuration: Mapping[str, Any], sizes: Mapping[str, int]) -> MappedConfiguration:
        """Return a configuration's variant and sizes; the variant's name must exist."""
        if self.by not in configuration:
            raise DocumentError(f"has no value for {self.by}, which names the variant")
        name = str(configuration[self.by])
        if name not in self.names:
            raise DocumentError(f"is the variant '{name}', and the kernel file has {', '.join(self.names)}")
        others = {key: value for key, value in configuration.items() if key != self.by}
        return super().mapped({VARIANT: name, **others}, sizes)


@dataclass(frozen=True, eq=False)
class SpaceKernels(KernelSource):
    """Kernels of a space with its names and values."""

    values: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def mapped(self, configuration: Mapping[str, Any], sizes: Mapping[str, int]) -> MappedConfiguration:
        """Return a configuration's variant and sizes; its names and values must be in the space."""
        for name, value in configuration.items():
            if name in self.values and value not in self.values[name]:
                allowed = ", ".join(map(str, self.values[name]))
                raise DocumentError(f"has {name}={value!r}, and the values in the space are {allowed}")
            if name not in (*(self.takes or (name,)), *sizes, *BLOCK_SIZES, "kernel"):
                raise DocumentError(f"has {name}={value!r}, which is neither a parameter of the kernel nor a size")
        return super().mapped(configuration, sizes)


def kernel_source(
    kernel: Source, results: TunerResults, by: str | None = None, name: str | None = None
) -> KernelSource:
    """Return the kernels of a file, of a class, or of a function ``build``."""
    if isinstance(kernel, KernelClass):
        return _of_class(kernel, name)
    if not isinstance(kernel, (str, Path)):
        name = name or results.kernel or str(getattr(kernel, "__name__", "kernel"))
        return _of_build(name, kernel, kernel)
    path = Path(kernel)
    defined = execute(path)
    if isinstance(defined.get("KERNEL"), KernelClass):
        return _of_class(defined["KERNEL"], name)
    name = name or path.stem
    if callable(defined.get("space")) and (space := load_kernel_file(path).space) is not None:
        takes, _ = parameters_of(defined["kernel"]) or (None, frozenset())
        return SpaceKernels(name, name, space.build, takes, frozenset(space.values), (), space.values)
    if callable(build := defined.get("build")):
        return _of_build(name, build, partial(_in_file, path, build))
    if callable(defined.get("variants")):
        units = load_file(path)
        key, needs = by or _naming(results), frozenset({VARIANT})
        return NamedKernels(name, name, lambda variant: units[variant], (VARIANT,), needs, (), key, tuple(units))
    problem = f"'{path}' defines no kernel() with space(), build(), variants() or KERNEL"
    raise KernelFileError(problem, "define one of them")


def _of_class(kernel: KernelClass, name: str | None) -> KernelSource:
    takes, needs = parameters_of(kernel.build) or (None, frozenset())
    return KernelSource(name or kernel.name, kernel.group, kernel.build, takes, needs, kernel.tags)


def _of_build(name: str, signed: Callable[..., Any], build: Build) -> KernelSource:
    takes, needs = parameters_of(signed) or (None, frozenset())
    return KernelSource(name, name, build, takes, needs)


def _in_file(path: Path, build: Build, **variant: Any) -> TranslationUnit:
    with surroundings(path):
        return build(**variant)


def _naming(results: TunerResults) -> str:
    """Return the parameter that names variants: ``variant``, or the only one."""
    names = {name for result in results.results for name in result.configuration if name not in BLOCK_SIZES}
    if VARIANT in names:
        return VARIANT
    if len(names) == 1:
        return next(iter(names))
    raise ResultsError(
        f"the kernel file has variants(), and the configurations have {', '.join(sorted(names)) or 'no parameter'}",
        "name the parameter with the variant's name (--by NAME), or let the file have build(**configuration)",
    )


# }}}


# {{{ importing


@dataclass(frozen=True)
class Imported:
    """The result of an import."""

    path: str
    form: str  # the format of the file
    device: str
    rows: tuple[Measurement, ...]  # the added records
    known: int  # results that the store had before
    refused: tuple[str, ...]  # a sentence for each result that cannot be used
    notes: tuple[str, ...]  # on the file

    @property
    def statuses(self) -> dict[str, int]:
        """Number of added records by status."""
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

    The kernel of a valid result is built and counted, so that models can be fitted and compared; a failed result
    becomes a record with its status. Times are the tuner's, in seconds: Kernel Tuner's are of the device's clock,
    without the launch. Results that the store holds are not added again.

    Parameters
    ----------
    path
        A cache file of Kernel Tuner, a T4 file, or a table of times (:mod:`perfmodel.store.exchange`).
    kernel
        A Python file with ``kernel(**configuration)`` and ``space()``, with ``build(**configuration)``, ``KERNEL`` or
        ``variants()``; or a kernel class, or a function ``build``.
    target
        The store.
    sizes
        The kernel's size parameters that the configurations do not have.
    device, platform, driver
        Of the results. By default the device is taken from the file, platform and driver from the store.
    by
        With ``variants()``: the parameter that names the variant; by default the only one.
    name
        Name of the kernel in the records; by default the name of the file, or of the class.
    jobs
        Processes that count; by default one, or one for each core from 64 kernels on.
    progress
        True shows a bar on standard error.

    Raises
    ------
    ResultsError, KernelFileError
        If the file cannot be read, does not name its device, or has no usable result; if the kernel file is wrong.
    StoreError, OutputError
        If the store belongs to another device, or cannot be written.
    """
    results = read_results(path)
    before = store.read(target) if store.paths(target)[0].is_file() else None
    facts = _device(results, target, before, device, platform, driver)
    source = kernel_source(kernel, results, by, name)
    known = {_identity(row) for row in before.rows} if before else set()
    plan = _planned(results, source, sizes or {}, facts, known)
    refused, again, added = list(plan.refused), plan.known, []
    for planned, outcome in _outcomes(plan, int(facts.known("subgroup_size", SUBGROUP_SIZE)), jobs, progress):
        if isinstance(outcome, PerfModelError):
            refused.append(_refusal(planned, outcome))
        elif _identity(planned.row) in known:
            again += 1
        else:
            known.add(_identity(planned.row))
            added.append(_added(target, facts, planned.row, outcome))
    if len(plan.variants) >= MANY and added:
        store.pack(target)
    if not added and not again:
        first, number = refused[0] if refused else "there is none", len(results.results) + len(results.refused)
        problem = f"'{path}': none of its {number} results can be used, the first because {first.rstrip('.')}"
        raise ResultsError(problem, "give the kernel file that was tuned, and its sizes")
    return Imported(str(path), results.form, facts.name, tuple(added), again, tuple(refused), results.notes)


@dataclass(frozen=True, eq=False)
class _PlannedRecord:
    """A result with its kernel, and its record without counts."""

    configuration: Mapping[str, Any]
    mapped: MappedConfiguration
    row: Measurement


@dataclass(frozen=True, eq=False)
class _Plan:
    """Results to add: runs by variant, and failures; the number of known ones, and why others are refused."""

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
    """Yield each planned record with its kernel's counts, the error that refuses it, or None for a failure.

    A failure must have the sizes of a counted kernel.
    """
    pool = Pool(jobs or (-1 if len(plan.variants) >= MANY else 1), progress)
    builders = {key: same[0].mapped.build for key, same in plan.variants.items()}
    sizes: set[frozenset[str]] = set()
    counting = Counting({"subgroup_size": subgroup_size}, pool.alone)
    for key, outcome in pool.stream(counting, builders, "counting") if builders else ():
        counts = counts_from_json(outcome) if isinstance(outcome, bytes) else outcome
        if isinstance(counts, KernelCounts):
            sizes.add(frozenset(counts.parameters))
        yield from ((planned, _checked(planned, counts)) for planned in plan.variants[key])
    for planned in plan.failed:
        fits = not sizes or frozenset(planned.mapped.sizes) in sizes
        yield planned, None if fits else _wrong_sizes(planned.mapped.sizes, next(iter(sizes)))


def _checked(planned: _PlannedRecord, outcome: KernelCounts | PerfModelError) -> KernelCounts | PerfModelError:
    """Return counts if the result's work-group and sizes fit them, else the error that refuses it."""
    if isinstance(outcome, PerfModelError):
        return outcome
    sizes, shape = planned.mapped.sizes, three_axes(outcome.launch.group_shape)
    for axis, width in zip(BLOCK_SIZES, shape, strict=True):
        given = planned.configuration.get(axis, width)
        if given != width:
            return DocumentError(f"was launched with {axis}={given}, and the kernel has {width}")
    if {*sizes} != {*outcome.parameters}:
        return _wrong_sizes(sizes, outcome.parameters)
    try:
        outcome.work_groups()(**sizes)
    except PerfModelError as error:
        return DocumentError(f"cannot be evaluated at these sizes: {error}")
    return outcome


def _wrong_sizes(sizes: Collection[str], wanted: Collection[str]) -> DocumentError:
    unknown, missing = [name for name in sizes if name not in wanted], sorted({*wanted} - {*sizes})
    parts = [f"has {', '.join(unknown)}, which is neither a parameter nor a size of the kernel"] if unknown else []
    parts += [f"lacks the size {', '.join(missing)} (-p NAME=SIZE)"] if missing else []
    return DocumentError(" and ".join(parts))


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
    """Add a record to the store, and return it; the counts' hash replaces the code's, which is not Loopy's."""
    if not store.device_path(target).is_file():
        store.prepare(target, DeviceFacts(facts.name, facts.platform, facts.driver, ()))
    if counts is not None:
        row = row.model_copy(update={"kernel_hash": counts.hash, "counts_hash": counts.hash})
    store.append(target, row, counts)
    return row


def _refusal(planned: _PlannedRecord, error: PerfModelError) -> str:
    """Return the sentence on a refused result."""
    if isinstance(error, DocumentError):
        return f"the configuration ({in_words(planned.configuration)}) {error.problem}"
    details = vars(error)
    if isinstance(error, SpaceError) and "configuration" in details:
        return f"the kernel ({details['configuration']}) {details['reason']}"
    return f"the kernel ({in_words(planned.mapped.variant)}) cannot be counted: {error}"


def _identity(row: Measurement) -> tuple[object, ...]:
    return (*row.place, row.status, row.samples_s, row.taken_at)


def _device(
    results: TunerResults, target: str | Path, before: Measurements | None, device: str | None, platform: str | None,
    driver: str | None,
) -> DeviceFacts:  # fmt: skip
    """Return the device of the results, with the facts in the store."""
    if device and results.device and device != results.device:
        problem = f"the results are of '{results.device}', and '{device}' was given"
        raise ResultsError(problem, "leave the device out, or give the file of that device")
    known = before.known_facts if before and (before.rows or before.facts) else None
    name = device or results.device or (known.name if known else None)
    if not name:
        raise ResultsError(f"'{results.path}' does not name the device of its results", "give it (--device NAME)")
    if known and known.name != name:
        raise other_device(target, f"'{known.name}' ({known.platform})", f"'{name}' ({platform or '?'})")
    known = known or DeviceFacts(name, "", "", ())
    platform, driver = known.platform if platform is None else platform, known.driver if driver is None else driver
    return DeviceFacts(name, platform, driver, known.facts)


# }}}
