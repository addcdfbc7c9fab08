"""Sending variants to another process, and the work of that process.

cloudpickle pickles a function of an importable module by its name, and other functions as a whole. Another process
cannot import a kernel file. The text of the file is therefore sent too, and runs there first. Counts are sent as JSON.
"""

import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import cloudpickle
from loopy import TranslationUnit

from perfmodel.counts import KernelCounts, count
from perfmodel.counts.cache import IN_MEMORY
from perfmodel.counts.unused import Report, reports
from perfmodel.documents import one_line
from perfmodel.errors import KernelError, PerfModelError, failed
from perfmodel.kernels.files import Source, built, restore, sources_in

Variant: TypeAlias = TranslationUnit | KernelCounts | Callable[[], TranslationUnit | KernelCounts]
"""A translation unit or its counts, or a function without arguments that returns one of these."""
Task: TypeAlias = Callable[[TranslationUnit | KernelCounts], Any]
LONGEST = 500  # characters of another library's message

_loaded = lru_cache(maxsize=4)(cloudpickle.loads)
_one_thread = Lock()  # isl and Loopy's caches are for one thread; Dask's workers may have several


class CountedVariants(Mapping[str, KernelCounts]):
    """Counts by the name of each variant, in order. ``errors`` has variants without counts. JSON is parsed at use."""

    def __init__(self, counts: Mapping[str, KernelCounts | bytes], errors: Mapping[str, PerfModelError]) -> None:
        self._counts = dict(counts)
        self.errors: Mapping[str, PerfModelError] = MappingProxyType(dict(errors))
        self._read = lru_cache(IN_MEMORY)(counts_from_json)

    def __getitem__(self, name: str) -> KernelCounts:
        counts = self._counts[name]
        return counts if isinstance(counts, KernelCounts) else self._read(counts)

    def stored(self, name: str) -> KernelCounts | bytes:
        """Return the counts of a variant as a value, or as JSON."""
        return self._counts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self._counts)

    def __repr__(self) -> str:
        failed = f", {len(self.errors)} with an error" if self.errors else ""
        return one_line(f"<CountedVariants: {len(self)} counted{failed}: {', '.join(self)}>")

    def __reduce__(self) -> tuple[type["CountedVariants"], tuple[object, ...]]:
        return type(self), (self._counts, dict(self.errors))


def counts_as_json(counts: KernelCounts) -> bytes:
    """Return counts as JSON."""
    return json.dumps(counts.to_json(), separators=(",", ":")).encode()


def counts_from_json(text: bytes) -> KernelCounts:
    """Return the counts that :func:`counts_as_json` wrote."""
    return KernelCounts.from_json(json.loads(text))


class Parcel(NamedTuple):
    """A variant to be sent: its name, its pickle, and the kernel files that must run before it is unpickled."""

    name: str
    content: bytes
    sources: tuple[Source, ...] = ()


class Outcome(NamedTuple):
    """A pickle of a variant's result or error, with its warnings, the text of the error, and the unused statistics."""

    content: bytes
    problem: str = ""
    unused: tuple[Report, ...] = ()


def packed(name: str, variant: Variant | bytes) -> Parcel:
    """Pickle a variant, or raise KernelError. Counts may be given as JSON."""
    if isinstance(variant, KernelCounts):
        variant = counts_as_json(variant)
    try:
        content: bytes = cloudpickle.dumps(variant)
    except Exception as error:  # an object's own method may raise any error
        raise KernelError(
            f"variant '{name}' cannot be sent to another process ({described(error)})",
            "give a function that builds it from plain values and holds no lock, open file or device, or use jobs=1",
        ) from error
    return Parcel(name, content, sources_in(content))


def unpacked(parcel: Parcel) -> Variant:
    """Return the variant of a parcel, after running the kernel files that it needs."""
    for source in parcel.sources:
        restore(source)
    variant: Variant | bytes = cloudpickle.loads(parcel.content)
    return counts_from_json(variant) if isinstance(variant, bytes) else variant


def work(task: bytes, parcel: Parcel) -> Outcome:
    """Apply a pickled task to a variant. Both were sent to this process."""
    unused: list[Report] = []
    with _one_thread, warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            value: Any = unpacked(parcel)
        except PerfModelError as error:
            value = error
        except Exception as error:  # a module may be missing on this machine
            value = failed(parcel.name, "compile", f"{described(error)}, in another process")
        else:
            with reports() as unused:
                value = attempt(_loaded(task), parcel.name, value)
    own = ((warning.category, str(warning.message)) for warning in given if issubclass(warning.category, UserWarning))
    problem = described(value) if isinstance(value, Exception) else ""
    try:
        return Outcome(cloudpickle.dumps((value, tuple(dict.fromkeys(own)))), problem, tuple(unused))
    except Exception as error:  # an exception of the user's file may hold a lock
        return Outcome(b"", problem or described(error))


def received(name: str, outcome: Outcome) -> tuple[Any, tuple[tuple[type[Warning], str], ...]]:
    """Return the result or error of an outcome, and its warnings."""
    try:
        value, given = cloudpickle.loads(outcome.content)
    except Exception as error:
        return failed(name, "constraint", outcome.problem or described(error)), ()
    return value, given


def attempt(task: Task, name: str, variant: Variant) -> Any:
    """Return the task's result for a variant, or the error that the task or the variant's function raises."""
    stage = "compile"
    try:
        kernel = built(name, variant)
        stage = "constraint"
        return task(kernel)
    except PerfModelError as error:
        return error
    except (Exception, SystemExit) as error:  # one variant's failure must not end the others
        return failed(name, stage, described(error))


def described(error: BaseException) -> str:
    """Return the type and the message of an exception in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST]


@dataclass(frozen=True)
class Counting:
    """Counts a variant, with options of :func:`perfmodel.count`. Returns JSON, or counts if they stay `here`."""

    options: Mapping[str, Any]
    here: bool

    def __call__(self, kernel: TranslationUnit | KernelCounts) -> KernelCounts | bytes:
        """Count a kernel, unless it is counted already."""
        counts = kernel if isinstance(kernel, KernelCounts) else count(kernel, **self.options)
        return counts if self.here else counts_as_json(counts)
