"""Measurements from the results of other tuners. Each configuration is built into a kernel, counted, and stored."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

from loopy import TranslationUnit

from perfmodel import store
from perfmodel.counts import KernelCounts
from perfmodel.display import values_text
from perfmodel.documents import EXACT, canonical
from perfmodel.errors import DocumentError, KernelFileError, PerfModelError, TuningError
from perfmodel.facts import DeviceFacts
from perfmodel.hooks.kernel_tuner import BLOCK_SIZES, Build, build_kernel, parameters_of, three_axes
from perfmodel.kernels import KernelClass
from perfmodel.kernels.files import execute, load_kernel_file, surrounded
from perfmodel.processes.pool import Pool
from perfmodel.processes.variants import Counting, counts_from_json
from perfmodel.progress import Progress
from perfmodel.store import Measurement, Measurements
from perfmodel.store.exchange import TunerResult, TunerResults, read_results
from perfmodel.store.files import other_device
from perfmodel.values import grouped

TAG = "imported"  # tag of the records
SUBGROUP_SIZE = 32  # of an unknown device
MANY = 64  # from this number of kernels, each core has a process that counts, and the store is packed
VARIANT = "variant"  # key of a variant that has only a name

Source: TypeAlias = str | Path | KernelClass | Build


@dataclass(frozen=True, eq=False)
class KernelSource:
    """Kernels that are built from configurations, with the name, group and tags of their records."""

    name: str
    group: str
    build: Build  # build(**variant)
    takes: tuple[str, ...] | None  # the parameters of build; None for any
    needs: frozenset[str]  # the required ones
    tags: tuple[str, ...] = ()
    values: Mapping[str, Sequence[Any]] = field(default_factory=dict)  # the allowed values of some parameters
    whole: bool = False  # whether names other than these parameters and sizes are refused
    by: str = ""  # the parameter with the name of a variant

    def mapped(
        self, configuration: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> tuple[dict[str, Any], dict[str, int]]:
        """Return a configuration's variant and sizes (integers that ``build`` does not take), or raise DocumentError.

        The shape of the work-group, which Kernel Tuner adds, and the name of the kernel class in T4 files are left out.
        """
        given = dict(configuration)
        if self.by in given:
            given = {VARIANT: str(given.pop(self.by)), **given}
        takes = tuple(given) if self.takes is None else self.takes
        for name, value in given.items():
            if name in self.values and value not in self.values[name]:
                allowed = ", ".join(map(str, self.values[name]))
                raise DocumentError(f"has {name}={value!r}, and the kernel file has the values {allowed}")
        if "kernel" not in takes and (kernel := given.pop("kernel", self.name)) != self.name:
            raise DocumentError(f"is for the kernel '{kernel}', not '{self.name}'")
        variant = {name: given.pop(name) for name in takes if name in given}
        parameters = dict(sizes)
        for name, value in given.items():
            if name in BLOCK_SIZES:
                continue
            is_size = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= EXACT
            if not is_size or (self.whole and name not in sizes):
                raise DocumentError(f"has {name}={value!r}, which is neither a parameter of the kernel file nor a size")
            plain = name.removeprefix("parameters.")
            if parameters.setdefault(plain, value) != value:
                raise DocumentError(f"has {plain}={value}, where {plain}={parameters[plain]} was given")
        if missing := sorted(self.needs - set(variant)):
            raise DocumentError(f"has no value for {', '.join(missing)}, which the kernel file needs")
        return variant, parameters


def kernel_source(kernel: Source, results: TunerResults) -> KernelSource:
    """Return the kernels of a file, of a class, or of a function ``build``."""
    if isinstance(kernel, (str, Path)):
        path = Path(kernel)
        defined = execute(path)
        if isinstance(known := defined.get("KERNEL"), KernelClass):
            return kernel_source(known, results)
        return _of_file(path, defined, results)
    if isinstance(kernel, KernelClass):
        return KernelSource(kernel.name, kernel.group, kernel.build, *parameters_of(kernel.build), kernel.tags)
    name = results.kernel or str(getattr(kernel, "__name__", "kernel"))
    return KernelSource(name, name, kernel, *parameters_of(kernel))


def _of_file(path: Path, defined: Mapping[str, Any], results: TunerResults) -> KernelSource:
    name = path.stem
    if callable(defined.get("space")) and (space := load_kernel_file(path).space) is not None:
        takes, _ = parameters_of(defined["kernel"])
        return KernelSource(name, name, space.build, takes, frozenset(space.values), (), space.values, True)
    if callable(build := defined.get("build")):
        return KernelSource(name, name, surrounded(path, build), *parameters_of(build))
    if callable(defined.get("variants")):
        units, takes = load_kernel_file(path).variants, (VARIANT,)
        by, values = _naming_parameter(units, results), {VARIANT: tuple(units)}
        return KernelSource(name, name, lambda variant: units[variant], takes, frozenset(takes), values=values, by=by)
    problem = f"'{path}' defines no kernel() with space(), build(), variants() or KERNEL"
    raise KernelFileError(problem, "define one of them")


def _naming_parameter(units: Collection[str], results: TunerResults) -> str:
    pairs = (pair for result in results.results for pair in result.configuration.items())
    names = {name for name, value in pairs if str(value) in units}
    if len(names) == 1:
        return names.pop()
    raise DocumentError(
        f"the kernel file has variants(), and {' and '.join(sorted(names)) or 'no parameter'} of the results names one",
        f"give results with one such parameter ({', '.join(units)}), or let the file have build(**configuration)",
    )


@dataclass(frozen=True)
class Imported:
    """The result of an import."""

    path: str
    form: str  #: The format of the file.
    device: str
    rows: tuple[Measurement, ...]  #: The added records.
    known: int  #: Results that the store had before.
    refused: tuple[str, ...]  #: A sentence for each result that cannot be used.
    notes: tuple[str, ...]  #: Notes on the file.

    @property
    def statuses(self) -> dict[str, int]:
        """Number of added records by status."""
        return dict(Counter(row.status for row in self.rows))


def import_results(
    path: str | Path, kernel: Source, target: str | Path, sizes: Mapping[str, int] | None = None, *,
    device: str | None = None, platform: str | None = None, driver: str | None = None,
    progress: Progress | bool | None = None,
) -> Imported:  # fmt: skip
    """Add the results in another tuner's file to a store of measurements.

    For each valid result the kernel is built and counted, so that models can be fitted and compared. A failed result
    becomes a record with a status. Times are those of the tuner, in seconds. Kernel Tuner measures times by the
    device's clock, without the launch. Results that the store holds are not added again.

    Parameters
    ----------
    path, target
        A cache file of Kernel Tuner, a T4 file, or a table of times (:mod:`perfmodel.store.exchange`), and the store.
    kernel
        A kernel class, a function ``build``, or a Python file. The file has ``kernel(**configuration)`` and
        ``space()``, or ``build(**configuration)``, ``KERNEL`` or ``variants()``.
    sizes
        Values of the kernel's size parameters that the configurations do not contain.
    device, platform, driver
        Where the results were measured. By default the file names the device, and the store names the platform and
        driver.
    progress
        True shows a bar.

    Raises
    ------
    DocumentError, KernelFileError
        If the file cannot be read, does not name its device, or has no usable result, or if the kernel file is wrong.
    StoreError, OutputError
        If the store belongs to another device, or cannot be written.
    """
    results = read_results(path)
    before = store.read(target) if store.paths(target)[0].is_file() else None
    facts = _device(results, target, before, device, platform, driver)
    source = kernel_source(kernel, results)
    known = {_identity(row) for row in before.rows} if before else set()
    planned, refused, again = _planned(results, source, sizes or {}, facts, known)
    kernels = {record.key: record.build for record in planned if record.row.status == "ok"}
    pool = Pool(-1 if len(kernels) >= MANY else 1, progress)
    counting = Counting({"subgroup_size": int(facts.known("subgroup_size", SUBGROUP_SIZE))}, pool.alone)
    added = []
    for record, outcome in _outcomes(planned, pool.stream(counting, kernels, "counting") if kernels else ()):
        if isinstance(outcome, PerfModelError):
            refused.append(_refusal(record, outcome))
        elif _identity(record.row) in known:
            again += 1
        else:
            known.add(_identity(record.row))
            added.append(_added(target, facts, record.row, outcome))
    if len(kernels) >= MANY and added:
        store.pack(target)
    if not added and not again:
        first, number = refused[0] if refused else "there is none", len(results.results) + len(results.refused)
        problem = f"'{path}': none of its {number} results can be used, the first because {first.rstrip('.')}"
        raise DocumentError(problem, "give the kernel file that was tuned, and its sizes")
    return Imported(str(path), results.form, facts.name, tuple(added), again, tuple(refused), results.notes)


@dataclass(frozen=True, eq=False)
class _Planned:
    configuration: Mapping[str, Any]
    build: Callable[[], TranslationUnit]
    row: Measurement

    @property
    def key(self) -> str:
        return canonical(self.row.variant)


def _planned(
    results: TunerResults, source: KernelSource, sizes: Mapping[str, int], facts: DeviceFacts,
    known: Collection[tuple[object, ...]],
) -> tuple[list[_Planned], list[str], int]:  # fmt: skip
    planned, refused, again = [], list(results.refused), 0
    for result in results.results:
        try:
            variant, parameters = source.mapped(result.configuration, sizes)
        except DocumentError as error:
            refused.append(f"the configuration ({values_text(result.configuration)}) {error.problem}")
            continue
        row = _record(result, results.form, source, variant, parameters, facts)
        if _identity(row) in known:
            again += 1
        else:
            planned.append(_Planned(result.configuration, partial(build_kernel, source.build, variant), row))
    return planned, refused, again


def _outcomes(
    planned: Sequence[_Planned], counted: Iterable[tuple[str, Any]]
) -> Iterator[tuple[_Planned, KernelCounts | PerfModelError | None]]:
    ran = grouped((one.key, one) for one in planned if one.row.status == "ok")
    for key, outcome in counted:
        counts = counts_from_json(outcome) if isinstance(outcome, bytes) else outcome
        yield from ((one, _checked(one, counts)) for one in ran[key])
    yield from ((one, None) for one in planned if one.row.status != "ok")


def _checked(planned: _Planned, outcome: KernelCounts | PerfModelError) -> KernelCounts | PerfModelError:
    if isinstance(outcome, PerfModelError):
        return outcome
    sizes = planned.row.parameters
    for axis, width in zip(BLOCK_SIZES, three_axes(outcome.launch.group_shape), strict=True):
        if (given := planned.configuration.get(axis, width)) != width:
            return DocumentError(f"was launched with {axis}={given}, and the kernel has {width}")
    unknown = [name for name in sizes if name not in outcome.parameters]
    missing = sorted({*outcome.parameters} - {*sizes})
    parts = [f"has {', '.join(unknown)}, which is neither a parameter nor a size of the kernel"] if unknown else []
    parts += [f"lacks the size {', '.join(missing)} (-p NAME=SIZE)"] if missing else []
    if parts:
        return DocumentError(" and ".join(parts))
    try:
        outcome.work_groups()(**sizes)
    except PerfModelError as error:
        return DocumentError(f"cannot be evaluated at these sizes: {error}")
    return outcome


def _record(
    result: TunerResult, form: str, source: KernelSource, variant: dict[str, Any], sizes: dict[str, int],
    facts: DeviceFacts,
) -> Measurement:  # fmt: skip
    return Measurement(
        kernel=source.name, group=source.group, tags=(*source.tags, TAG), variant=variant, parameters=sizes,
        device=facts.name, platform=facts.platform, driver=facts.driver,
        versions={"perfmodel": version("perfmodel"), "results": form}, kernel_hash="", counts_hash="",
        samples_s=result.samples_s, dropped=0, taken_at=result.taken_at, status=result.status, message=result.message,
    )  # fmt: skip


def _added(target: str | Path, facts: DeviceFacts, row: Measurement, counts: KernelCounts | None = None) -> Measurement:
    """Add a record to the store and return it. The hash is of the counts, since Loopy did not generate the code."""
    if not store.device_path(target).is_file():
        store.prepare(target, DeviceFacts(facts.name, facts.platform, facts.driver, ()))
    if counts is not None:
        row = row.model_copy(update={"kernel_hash": counts.hash, "counts_hash": counts.hash})
    store.append(target, row, counts)
    return row


def _refusal(planned: _Planned, error: PerfModelError) -> str:
    if isinstance(error, DocumentError):
        return f"the configuration ({values_text(planned.configuration)}) {error.problem}"
    details = vars(error)
    if isinstance(error, TuningError) and "configuration" in details:
        return f"the kernel ({details['configuration']}) {details['reason']}"
    return f"the kernel ({values_text(planned.row.variant)}) cannot be counted: {error}"


def _identity(row: Measurement) -> tuple[object, ...]:
    return (*row.case_key, row.status, row.samples_s, row.taken_at)


def _device(
    results: TunerResults, target: str | Path, before: Measurements | None, device: str | None, platform: str | None,
    driver: str | None,
) -> DeviceFacts:  # fmt: skip
    if device and results.device and device != results.device:
        problem = f"the results are of '{results.device}', and '{device}' was given"
        raise DocumentError(problem, "leave the device out, or give the file of that device")
    known = before.known_facts if before and (before.rows or before.facts) else None
    name = device or results.device or (known.name if known else None)
    if not name:
        raise DocumentError(f"'{results.path}' does not name the device of its results", "give it (--device NAME)")
    if known and known.name != name:
        raise other_device(target, f"'{known.name}' ({known.platform})", f"'{name}' ({platform or '?'})")
    known = known or DeviceFacts(name, "", "", ())
    platform, driver = known.platform if platform is None else platform, known.driver if driver is None else driver
    return DeviceFacts(name, platform, driver, known.facts)
