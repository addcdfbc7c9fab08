"""Measurements out of the results of other tuners: each configuration is made into a kernel, counted, and stored.

A result says how long a configuration took, and a record also what it executes. So the kernel file is needed that
the tuner's configurations belong to: ``build(**configuration)``, a ``KERNEL`` (a kernel class), or ``variants()``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from perfmodel import errors, store
from perfmodel.counts import KernelCounts, count
from perfmodel.display import in_words
from perfmodel.documents import EXACT
from perfmodel.errors import ConfigurationError, DocumentError, HookError, PerfModelError
from perfmodel.facts import DeviceFacts
from perfmodel.hooks.predicted_times import BLOCK_SIZES, Build, built, in_order, parameters_of, three_axes
from perfmodel.kernels import KernelClass, load_file
from perfmodel.kernels.files import execute, surroundings
from perfmodel.measuring.subject import GeneratedCode
from perfmodel.store import Measurement, Measurements
from perfmodel.store.exchange import TunerResult, TunerResults, read_results

if TYPE_CHECKING:
    from loopy import TranslationUnit

Source: TypeAlias = "str | Path | KernelClass | Build"
#: The tag of imported records.
TAG = "imported"
#: Of a device of which nothing is known: a prediction's default too.
SUBGROUP_SIZE = 32
#: The key of a variant that has a name only.
VARIANT = "variant"


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

    The kernel of a result that is ok is built and counted, so that `fit`, `evaluate` and `tune` can use it; a result
    that failed becomes a record with its status. Times are in seconds; they are the tuner's own: Kernel Tuner's are
    those of the device's clock, without the launch. A result that the store holds already is not added again.

    Parameters
    ----------
    path
        A cache file of Kernel Tuner, or a T4 file (:mod:`perfmodel.store.exchange`).
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
    try:
        before = store.read(target)
    except errors.StoreMissingError:
        before = None
    facts = _device(results, target, before, device, platform, driver)
    source = _kernel_source(kernel, results, by, name)
    known = {_identity(row) for row in before.rows} if before else set()
    refused = list(results.refused)
    made: dict[str, tuple[KernelCounts, str]] = {}
    records: dict[int, tuple[Measurement, KernelCounts | None]] = {}
    for place, result in sorted(enumerate(results.results), key=lambda pair: pair[1].status != "ok"):
        try:
            records[place] = _record(result, results, source, sizes or {}, facts, made)
        except ConfigurationError as error:
            refused.append(f"the kernel ({error.configuration}) {error.problem}")
        except DocumentError as error:
            refused.append(f"the configuration ({in_words(result.configuration)}) {error.problem}")
    added, again = [], 0
    for _, (row, counts) in sorted(records.items()):
        if _identity(row) in known:
            again += 1
            continue
        known.add(_identity(row))
        store.append(target, row, counts)
        added.append(row)
    if not added and not again:
        first = refused[0] if refused else "there is none"
        raise errors.UnmappedResultsError(path, len(results.results) + len(results.refused), first.rstrip("."))
    return Imported(str(path), results.form, facts.name, tuple(added), again, tuple(refused), results.notes)


def _record(
    result: TunerResult, results: TunerResults, source: _KernelSource, sizes: Mapping[str, int], facts: DeviceFacts,
    made: dict[str, tuple[KernelCounts, str]],
) -> tuple[Measurement, KernelCounts | None]:  # fmt: skip
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
    elif made and not any({*mapped.sizes} == {*known.parameters} for known, _ in made.values()):
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


def _made(mapped: _Mapped, facts: DeviceFacts) -> tuple[KernelCounts, str]:
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
    given, wanted = ", ".join(sizes) or "none", ", ".join(counts.parameters) or "none"
    return DocumentError(f"has the sizes {given}, and the kernel's are {wanted}")


def _identity(row: Measurement) -> tuple[object, ...]:
    return (*row.place, row.status, row.samples_s, row.taken_at)


def _device(
    results: TunerResults, target: str | Path, before: Measurements | None, device: str | None, platform: str | None,
    driver: str | None,
) -> DeviceFacts:  # fmt: skip
    """Return the device of the results, with what the store knows of it."""
    if device and results.device and device != results.device:
        raise HookError(
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


# {{{ the kernels that configurations belong to

@dataclass(frozen=True)
class _Mapped:
    """A configuration's place among the kernels: its variant, its sizes, and a function that makes its kernel."""

    variant: dict[str, Any]
    sizes: dict[str, int]
    make: Callable[[], TranslationUnit]


@dataclass(frozen=True, eq=False)
class _KernelSource:
    """Kernels that are built from configurations; name, group and tags are those of the records."""

    name: str
    group: str
    build: Build  # build(**variant)
    takes: tuple[str, ...] | None  # the names that it takes; None for any
    needs: frozenset[str]
    tags: tuple[str, ...] = ()

    def mapped(self, configuration: Mapping[str, Any], sizes: Mapping[str, int]) -> _Mapped:
        """Return a configuration's variant and sizes.

        What ``build`` does not take is a size if it is an integer, unless it is the shape of the work-group, which
        Kernel Tuner adds, or the name of the kernel class, which perfmodel's own T4 files have.
        """
        given = dict(configuration)
        takes = tuple(given) if self.takes is None else self.takes
        if "kernel" not in takes and given.pop("kernel", self.name) != self.name:
            raise DocumentError(f"is of the kernel '{configuration['kernel']}', and not of '{self.name}'")
        if missing := sorted(self.needs - set(given)):
            raise DocumentError(f"has no value for {', '.join(missing)}, which the kernel file needs")
        variant = {name: given.pop(name) for name in takes if name in given}
        parameters = dict(sizes)
        for name, value in given.items():
            plain = name.removeprefix("parameters.")
            if name in BLOCK_SIZES:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= EXACT:
                raise DocumentError(f"has {name}={value!r}, which the kernel file does not take and which is no size")
            if parameters.get(plain, value) != value:
                raise DocumentError(f"has {plain}={value}, where {plain}={parameters[plain]} was given")
            parameters[plain] = value
        return _Mapped(variant, parameters, partial(built, self.build, variant))


@dataclass(frozen=True, eq=False)
class _NamedKernels(_KernelSource):
    """Kernels that have names: one parameter of a configuration gives the name."""

    by: str = VARIANT
    names: tuple[str, ...] = ()

    def mapped(self, configuration: Mapping[str, Any], sizes: Mapping[str, int]) -> _Mapped:
        """Return a configuration's variant and sizes; refuse a name that no variant has."""
        if self.by not in configuration:
            raise DocumentError(f"has no value for {self.by}, which names the variant")
        name = str(configuration[self.by])
        if name not in self.names:
            raise DocumentError(f"is the variant '{name}', and the kernel file has {', '.join(self.names)}")
        others = {key: value for key, value in configuration.items() if key != self.by}
        return super().mapped({VARIANT: name, **others}, sizes)


def _kernel_source(
    kernel: Source, results: TunerResults, by: str | None = None, name: str | None = None
) -> _KernelSource:
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
    if callable(build := defined.get("build")):
        return _of_build(name, build, partial(_surrounded, path, build))
    if callable(defined.get("variants")):
        units = load_file(path)
        key, needs = by or _naming(results), frozenset({VARIANT})
        return _NamedKernels(name, name, lambda variant: units[variant], (VARIANT,), needs, (), key, tuple(units))
    raise errors.KernelFileContentError(path, ("build()", "variants()", "KERNEL"))


def _of_class(kernel: KernelClass, name: str | None) -> _KernelSource:
    takes, needs = parameters_of(kernel.build) or (None, frozenset())
    return _KernelSource(name or kernel.name, kernel.group, kernel.build, takes, needs, kernel.tags)


def _of_build(name: str, signed: Callable[..., Any], build: Build) -> _KernelSource:
    takes, needs = parameters_of(signed) or (None, frozenset())
    return _KernelSource(name, name, build, takes, needs)


def _surrounded(path: Path, build: Build, **variant: Any) -> TranslationUnit:
    with surroundings(path):
        return build(**variant)


def _naming(results: TunerResults) -> str:
    """Return the parameter that names variants: the one called so, or the only one that there is."""
    names = {name for result in results.results for name in result.configuration if name not in BLOCK_SIZES}
    if VARIANT in names:
        return VARIANT
    if len(names) == 1:
        return next(iter(names))
    raise HookError(
        f"the kernel file has variants(), and the configurations have {', '.join(sorted(names)) or 'no parameter'}",
        "say which of them names the variant (--by NAME), or let the file have build(**configuration)",
    )

# }}}
