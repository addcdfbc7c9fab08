"""The kernels that another tuner's configurations belong to: a file's, a kernel class's, or those of a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from perfmodel.documents import EXACT
from perfmodel.errors import DocumentError, KernelFileError, ResultsError
from perfmodel.hooks.predicted_times import BLOCK_SIZES, Build, built, parameters_of
from perfmodel.kernels import KernelClass, load_file
from perfmodel.kernels.files import execute, load_kernel_file, surroundings
from perfmodel.store.exchange import TunerResults

if TYPE_CHECKING:
    from loopy import TranslationUnit

Source: TypeAlias = "str | Path | KernelClass | Build"
#: The key of a variant that has a name only.
VARIANT = "variant"


@dataclass(frozen=True)
class MappedConfiguration:
    """A configuration's place among the kernels: its variant, its sizes, and a function that makes its kernel."""

    variant: dict[str, Any]
    sizes: dict[str, int]
    make: Callable[[], TranslationUnit]


@dataclass(frozen=True, eq=False)
class KernelSource:
    """Kernels that are built from configurations; name, group and tags are those of the records."""

    name: str
    group: str
    build: Build  # build(**variant)
    takes: tuple[str, ...] | None  # the names that it takes; None for any
    needs: frozenset[str]
    tags: tuple[str, ...] = ()

    def mapped(self, configuration: Mapping[str, Any], sizes: Mapping[str, int]) -> MappedConfiguration:
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
        return MappedConfiguration(variant, parameters, partial(built, self.build, variant))


@dataclass(frozen=True, eq=False)
class NamedKernels(KernelSource):
    """Kernels that have names: one parameter of a configuration gives the name."""

    by: str = VARIANT
    names: tuple[str, ...] = ()

    def mapped(self, configuration: Mapping[str, Any], sizes: Mapping[str, int]) -> MappedConfiguration:
        """Return a configuration's variant and sizes; refuse a name that no variant has."""
        if self.by not in configuration:
            raise DocumentError(f"has no value for {self.by}, which names the variant")
        name = str(configuration[self.by])
        if name not in self.names:
            raise DocumentError(f"is the variant '{name}', and the kernel file has {', '.join(self.names)}")
        others = {key: value for key, value in configuration.items() if key != self.by}
        return super().mapped({VARIANT: name, **others}, sizes)


@dataclass(frozen=True, eq=False)
class SpaceKernels(KernelSource):
    """Kernels of a space: their configurations have its names and values, and what else the kernel takes."""

    values: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def mapped(self, configuration: Mapping[str, Any], sizes: Mapping[str, int]) -> MappedConfiguration:
        """Return a configuration's variant and sizes; refuse names and values that the space does not have."""
        for name, value in configuration.items():
            if name in self.values and value not in self.values[name]:
                told = ", ".join(map(str, self.values[name]))
                raise DocumentError(f"has {name}={value!r}, and the values in the space are {told}")
            if name not in (*(self.takes or (name,)), *sizes, *BLOCK_SIZES, "kernel"):
                raise DocumentError(
                    f"has {name}={value!r}, which is no parameter of the kernel and no size that is given"
                )
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
        return _of_build(name, build, partial(_surrounded, path, build))
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
    raise ResultsError(
        f"the kernel file has variants(), and the configurations have {', '.join(sorted(names)) or 'no parameter'}",
        "say which of them names the variant (--by NAME), or let the file have build(**configuration)",
    )
