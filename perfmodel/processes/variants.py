"""Variants on their way to another process, and what that process does with each of them.

A function is pickled by its module's name where the module can be imported, and else as a whole (cloudpickle), as
those of a notebook. A kernel file is a module that no other process can import: its text goes along, and the process
runs it first (:func:`perfmodel.kernels.files.restore`). Counts travel as JSON, which holds nothing of isl.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import cloudpickle

from perfmodel.counts import KernelCounts
from perfmodel.counts.cache import IN_MEMORY
from perfmodel.counts.unused import Report, reports
from perfmodel.display import html_table
from perfmodel.documents import one_line
from perfmodel.errors import PerfModelError, UnpicklableVariantError, failed
from perfmodel.kernels.files import Source, built, restore, sources_in

if TYPE_CHECKING:
    from loopy import TranslationUnit

#: A translation unit, a function without arguments that makes one, or its counts.
Variant: TypeAlias = "TranslationUnit | KernelCounts | Callable[[], TranslationUnit]"
#: What is done with a variant, once it is built.
Task: TypeAlias = "Callable[[TranslationUnit | KernelCounts], Any]"
LONGEST = 500  # characters of what another library says

_loaded = lru_cache(maxsize=4)(cloudpickle.loads)
_alone = Lock()  # isl and Loopy's caches are for one thread; Dask's workers may have several


class CountedVariants(Mapping[str, KernelCounts]):
    """Counts by the name of each variant, in the order in which the variants were given.

    Counts that another process made are kept as text, and read when they are used; those used last stay as values.

    Parameters
    ----------
    counts
        By name the counts, or their JSON.
    errors
        By name why a variant has no counts.

    Raises
    ------
    KeyError
        On a look-up: no variant of that name has counts.
    """

    def __init__(self, counts: Mapping[str, KernelCounts | bytes], errors: Mapping[str, PerfModelError]) -> None:
        self._counts, self._errors = dict(counts), MappingProxyType(dict(errors))
        self._read = lru_cache(IN_MEMORY)(counts_from_json)

    @property
    def errors(self) -> Mapping[str, PerfModelError]:
        """Why a variant has no counts, by name."""
        return self._errors

    def __getitem__(self, name: str) -> KernelCounts:
        counts = self._counts[name]
        return counts if isinstance(counts, KernelCounts) else self._read(counts)

    def stored(self, name: str) -> KernelCounts | bytes:
        """Return the counts of a variant as they are kept: as a value, or as JSON."""
        return self._counts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self._counts)

    def __repr__(self) -> str:
        failed = f", {len(self.errors)} with an error" if self.errors else ""
        return one_line(f"<CountedVariants: {len(self)} counted{failed}: {', '.join(self)}>")

    def __reduce__(self) -> tuple[type[CountedVariants], tuple[object, ...]]:
        return type(self), (self._counts, dict(self._errors))

    def _repr_html_(self) -> str:
        """Return names and errors as a table for a notebook."""
        rows = [(name, "counted") for name in self] + [(name, str(error)) for name, error in self.errors.items()]
        return html_table([("variant", "counts"), *rows], repr(self)[1:-1], left=2)


def counts_as_json(counts: KernelCounts) -> bytes:
    """Return counts as JSON, which is smaller than a pickle."""
    return json.dumps(counts.to_json(), separators=(",", ":")).encode()


def counts_from_json(text: bytes) -> KernelCounts:
    """Return the counts that :func:`counts_as_json` wrote."""
    return KernelCounts.from_json(json.loads(text))


class Parcel(NamedTuple):
    """A variant on its way: its name, its pickle, and the kernel files that are run before it is unpickled."""

    name: str
    content: bytes
    sources: tuple[Source, ...] = ()


class Outcome(NamedTuple):
    """A pickle of the value or error of a variant, with its warnings; and the text of an error.

    ``unused`` has the statistics that it does not use, for each kernel that was counted.
    """

    content: bytes
    problem: str = ""
    unused: tuple[Report, ...] = ()


def packed(name: str, variant: Variant | bytes) -> Parcel:
    """Pickle a variant, or raise UnpicklableVariantError; counts may be given as their JSON."""
    if isinstance(variant, KernelCounts):
        variant = counts_as_json(variant)
    try:
        content: bytes = cloudpickle.dumps(variant)
    except Exception as error:  # whatever an object's own method raises
        raise UnpicklableVariantError(name, said(error)) from error
    return Parcel(name, content, sources_in(content))


def unpacked(parcel: Parcel) -> Variant:
    """Return the variant of a parcel, after running the kernel files that it needs."""
    for source in parcel.sources:
        restore(source)
    variant: Variant | bytes = cloudpickle.loads(parcel.content)
    return counts_from_json(variant) if isinstance(variant, bytes) else variant


def work(task: bytes, parcel: Parcel) -> Outcome:
    """Do a pickled task with a variant, in the process to which both were sent."""
    unused: list[Report] = []
    with _alone, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            value: Any = unpacked(parcel)
        except PerfModelError as error:
            value = error
        except Exception as error:  # a module that this machine does not have, for example
            value = failed(parcel.name, "compile", f"{said(error)}, in another process")
        else:
            with reports() as unused:
                value = attempt(_loaded(task), parcel.name, value)
    ours = ((warning.category, str(warning.message)) for warning in told if issubclass(warning.category, UserWarning))
    problem = said(value) if isinstance(value, Exception) else ""
    try:
        return Outcome(cloudpickle.dumps((value, tuple(dict.fromkeys(ours)))), problem, tuple(unused))
    except Exception as error:  # it holds an exception of the user's file that holds a lock, for example
        return Outcome(b"", problem or said(error))


def received(name: str, outcome: Outcome) -> tuple[Any, tuple[tuple[type[Warning], str], ...]]:
    """Return the value or error of an outcome, and its warnings; what cannot be unpickled is an error with its text."""
    try:
        value, told = cloudpickle.loads(outcome.content)
    except Exception as error:
        return failed(name, "constraint", outcome.problem or said(error)), ()
    return value, told


def attempt(task: Task, name: str, variant: Variant) -> Any:
    """Return what a task makes of a variant, or the error that it, or the variant's own function, raises."""
    stage = "compile"
    try:
        kernel = built(name, variant)
        stage = "constraint"
        return task(kernel)
    except PerfModelError as error:
        return error
    except (Exception, SystemExit) as error:  # of the user's function, or of a library: it must not end the others
        return failed(name, stage, said(error))


def said(error: BaseException) -> str:
    """Return in one line what another library's exception says."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST]
