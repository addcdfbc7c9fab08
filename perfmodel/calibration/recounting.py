"""Counting the kernels of a store again, after a change of the counters."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from perfmodel import store
from perfmodel.counts import KernelCounts, count
from perfmodel.counts.counting import Change, changes, parts
from perfmodel.errors import PerfModelError, StoreMissingError
from perfmodel.measuring.subject import FailedError, Subject
from perfmodel.progress import FailedStep, Progress, Silent, task
from perfmodel.store import canonical
from perfmodel.store.files import Place, rename_counts

if TYPE_CHECKING:
    from perfmodel.kernels import KernelClass, Variant

Status = Literal["same", "rewritten", "changed", "other code", "gone", "failed"]


@dataclass(frozen=True)
class Recount:
    """One measured variant of a kernel class, counted again.

    Attributes
    ----------
    store : str
        The file of records.
    kernel : str
        Name of the kernel class.
    variant : str
        Its variant, as canonical JSON.
    status : str
        ``same`` (the hash is the same), ``rewritten`` (the hash differs, and no value), ``changed`` (values differ),
        ``other code`` (the generated code is not what was measured), ``gone`` (there is no such class or variant any
        more) or ``failed`` (the kernel cannot be counted any more).
    old_hash : str
        Hash of the stored counts.
    kernel_hash : str
        Hash of the code that was measured.
    new : KernelCounts or None
        The counts of the kernel now.
    changes : tuple of Change
        The values in the tables that differ.
    parts : tuple of str
        The parts of the counts' JSON that differ: why the hash does.
    message : str
        The reason, where the kernel was not counted.
    """

    store: str
    kernel: str
    variant: str
    status: Status
    old_hash: str
    kernel_hash: str
    new: KernelCounts | None = None
    changes: tuple[Change, ...] = ()
    parts: tuple[str, ...] = ()
    message: str = ""

    @property
    def place(self) -> Place:
        """The records that it is about."""
        return self.kernel, self.variant, self.kernel_hash, self.old_hash

    @property
    def writable(self) -> bool:
        """Whether the new counts are those of what was measured, and others than the stored ones."""
        return self.status in ("rewritten", "changed")


def recount(
    paths: Iterable[Path], kernels: Iterable[KernelClass], progress: Progress | None = None
) -> tuple[Recount, ...]:
    """Count again what the newest records of stores are about; nothing is written.

    Parameters
    ----------
    paths : iterable of Path
        Folders, with their test kernels, or files of records.
    kernels : iterable of KernelClass
        The classes by which the kernels are built.
    progress : Progress, optional
        Listener to the counts.

    Raises
    ------
    StoreMissingError
        There is no store at a path.
    StoreFormatError
        A line of a store is no record.
    """
    bar, classes = progress or Silent(), {kernel.name: kernel for kernel in kernels}
    wanted = [stored for path in paths for file in files_of(path) for stored in _stored(file)]
    found = []
    with task(bar, "counting kernels again", len(wanted)):
        for one, counts in wanted:
            found.append(_again(one, counts, classes))
            bar.advance(FailedStep(one.kernel, found[-1].message) if found[-1].message else one.kernel)
    return tuple(found)


def write(found: Iterable[Recount]) -> int:
    """Let stores name the new counts, where they are those of what was measured; return the records changed.

    Raises
    ------
    OutputError
        A store cannot be written.
    """
    by_store: dict[str, dict[Place, KernelCounts]] = {}
    for one in found:
        if one.writable and one.new is not None:
            by_store.setdefault(one.store, {})[one.place] = one.new
    return sum(rename_counts(path, new) for path, new in by_store.items())


def files_of(path: Path) -> tuple[Path, ...]:
    """Return the files of records at a path: of a folder those of measurement kernels and of test kernels.

    Raises
    ------
    StoreMissingError
        There is none.
    """
    rows, _ = store.paths(path)
    places = (rows, path / store.TESTS_FILE) if path.is_dir() else (rows,)
    files = tuple(file for file in places if file.is_file())
    if not files:
        raise StoreMissingError(path)
    return files


def _stored(file: Path) -> Iterable[tuple[Recount, KernelCounts]]:
    measured = store.read(file)
    places = {
        (row.kernel, canonical(row.variant), row.kernel_hash, row.counts_hash): None
        for row in measured.current if row.counts_hash in measured.counts
    }
    for kernel, variant, code, digest in places:
        yield Recount(str(file), kernel, variant, "same", digest, code), measured.counts[digest]


def _again(one: Recount, old: KernelCounts, classes: Mapping[str, KernelClass]) -> Recount:
    variant = _variant(one, classes)
    if variant is None:
        what = "has no such variant" if one.kernel in classes else "is in no folder of kernel classes"
        return replace(one, status="gone", message=f"it {what} any more")
    subject = Subject(classes[one.kernel], variant)
    try:
        unit = subject.generated.t_unit
        new = count(
            unit, subgroup_size=old.subgroup_size, statistics=subject.statistics, cache=False, budget=old.budget
        )
    except (FailedError, PerfModelError) as error:
        return replace(one, status="failed", message=" ".join(str(error).split()))
    if new.hash == one.old_hash:
        return replace(one, new=new)
    different = changes(old, new)
    status: Status = "changed" if different else "rewritten"
    if subject.hash != one.kernel_hash:
        status = "other code"
    return replace(one, new=new, status=status, changes=different, parts=parts(old, new))


def _variant(one: Recount, classes: Mapping[str, KernelClass]) -> Variant | None:
    """Return the variant as its class has it, with the work-group that was measured."""
    stored = json.loads(one.variant)
    group = {"work_group": tuple(stored.pop("work_group"))} if "work_group" in stored else {}
    known = classes[one.kernel].variants if one.kernel in classes else ()
    return next(({**own, **group} for own in known if canonical(dict(own)) == canonical(stored)), None)
