"""The kernels that the configurations of another tuner belong to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from perfmodel.documents import EXACT
from perfmodel.errors import DocumentError, HookError, KernelFileContentError
from perfmodel.hooks.predicted_times import BLOCK_SIZES, Build, built, parameters_of
from perfmodel.kernels import KernelClass, load_file
from perfmodel.kernels.execution import execute, surroundings

if TYPE_CHECKING:
    from loopy import TranslationUnit

    from perfmodel.store.tuner_files import TunerResults

Source: TypeAlias = "str | Path | KernelClass | Build"
#: The key of a variant that has a name only.
VARIANT = "variant"


@dataclass(frozen=True)
class Mapped:
    """A configuration's place among the kernels: its variant, its sizes, and a function that makes its kernel."""

    variant: dict[str, Any]
    sizes: dict[str, int]
    make: Callable[[], TranslationUnit]


@dataclass(frozen=True, eq=False)
class KernelSource:
    """Kernels that are built from configurations.

    Parameters
    ----------
    name, group, tags
        Of the records.
    build
        ``build(**variant)``.
    takes, needs
        The names that it takes, None for any, and those that it needs.
    """

    name: str
    group: str
    build: Build
    takes: tuple[str, ...] | None
    needs: frozenset[str]
    tags: tuple[str, ...] = ()

    def mapped(self, configuration: Mapping[str, Any], sizes: Mapping[str, int]) -> Mapped:
        """Return a configuration's variant and sizes.

        What ``build`` does not take is a size if it is an integer, unless it is the shape of the work-group, which
        Kernel Tuner adds, or the name of the kernel class, which perfmodel's own T4 files have.

        Raises
        ------
        DocumentError
            If the configuration is of another kernel class, lacks a parameter, has one that is none of these, or
            has another value of a size that is given.
        """
        given = dict(configuration)
        takes = tuple(given) if self.takes is None else self.takes
        if "kernel" not in takes and given.pop("kernel", self.name) != self.name:
            raise DocumentError(f"is of the kernel '{configuration['kernel']}', and not of '{self.name}'")
        if missing := sorted(self.needs - set(given)):
            raise DocumentError(f"has no value for {', '.join(missing)}, which the kernel file needs")
        variant = {name: given.pop(name) for name in takes if name in given}
        found = dict(sizes)
        for name, value in given.items():
            plain = name.removeprefix("parameters.")
            if name in BLOCK_SIZES:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= EXACT:
                raise DocumentError(f"has {name}={value!r}, which the kernel file does not take and which is no size")
            if found.get(plain, value) != value:
                raise DocumentError(f"has {plain}={value}, where {plain}={found[plain]} was given")
            found[plain] = value
        return Mapped(variant, found, partial(built, self.build, variant))


@dataclass(frozen=True, eq=False)
class NamedKernels(KernelSource):
    """Kernels that have names: one parameter of a configuration gives the name."""

    by: str = VARIANT
    names: tuple[str, ...] = ()

    def mapped(self, configuration: Mapping[str, Any], sizes: Mapping[str, int]) -> Mapped:
        """Return a configuration's variant and sizes, as :meth:`KernelSource.mapped`.

        Raises
        ------
        DocumentError
            Also if no variant has the name.
        """
        if self.by not in configuration:
            raise DocumentError(f"has no value for {self.by}, which names the variant")
        name = str(configuration[self.by])
        if name not in self.names:
            raise DocumentError(f"is the variant '{name}', and the kernel file has {', '.join(self.names)}")
        others = {key: value for key, value in configuration.items() if key != self.by}
        return super().mapped({VARIANT: name, **others}, sizes)


def kernel_source(
    kernel: Source, results: TunerResults, by: str | None = None, name: str | None = None
) -> KernelSource:
    """Return the kernels of a file, of a class, or of a function ``build``.

    Raises
    ------
    KernelFileMissingError, KernelFileSyntaxError, KernelFileExecutionError, KernelFileTypeError
        If the file cannot be used.
    KernelFileContentError
        If it has neither ``build()`` nor ``variants()`` nor ``KERNEL``.
    HookError
        If it has ``variants()``, and which parameter names the variant is not clear.
    """
    if isinstance(kernel, KernelClass):
        return _of_class(kernel, name)
    if not isinstance(kernel, (str, Path)):
        own = name or results.kernel or str(getattr(kernel, "__name__", "kernel"))
        return _of_build(own, kernel, kernel)
    path = Path(kernel)
    found = execute(path)
    own = name or path.stem
    if isinstance(found.get("KERNEL"), KernelClass):
        return _of_class(found["KERNEL"], name)
    if callable(build := found.get("build")):
        return _of_build(own, build, partial(_surrounded, path, build))
    if callable(found.get("variants")):
        units = load_file(path)
        key = by or _naming(results)
        return NamedKernels(
            own, own, lambda variant: units[variant], (VARIANT,), frozenset({VARIANT}), (), key, tuple(units)
        )  # fmt: skip
    raise KernelFileContentError(path, ("build()", "variants()", "KERNEL"))


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
    names = {name for one in results.results for name in one.configuration if name not in BLOCK_SIZES}
    if VARIANT in names:
        return VARIANT
    if len(names) == 1:
        return next(iter(names))
    raise HookError(
        f"the kernel file has variants(), and the configurations have {', '.join(sorted(names)) or 'no parameter'}",
        "say which of them names the variant (--by NAME), or let the file have build(**configuration)",
    )
