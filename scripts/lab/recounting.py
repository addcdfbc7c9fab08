"""Count the kernels of a store again, after a change of the counters: ``python -m scripts.lab.recounting STORE``."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from perfmodel import store
from perfmodel.calibration.kernel_choice import TEST_KERNELS, discovered, shipped_samples
from perfmodel.cli.output import CommandBar
from perfmodel.counts import KernelCounts, count, rows
from perfmodel.counts.quasipoly.count import Count
from perfmodel.documents import canonical
from perfmodel.errors import CountError, PerfModelError
from perfmodel.io import write_whole
from perfmodel.kernels import KernelClass, Variant
from perfmodel.kernels.samples import KeptKernel
from perfmodel.measuring.subject import FailedError, Subject
from perfmodel.progress import FailedStep, Progress, Silent, task
from perfmodel.store.files import append_counts, no_store, packed_path
from perfmodel.store.lines import opened, read_lines, read_row

Place = tuple[str, str, str, str]
"""Kernel class, variant (canonical JSON), and the hashes of the code and the counts."""


@dataclass(frozen=True)
class Change:
    """One value of a table that is now another function of the sizes, with the counts as text, ``"none"`` for none.

    For example ``"count"`` or ``"footprint"`` of the row ``"global load a float32 32"`` of the ``access_table``.
    """

    table: str
    row: str
    value: str
    old: str
    new: str


def changes(old: KernelCounts, new: KernelCounts) -> tuple[Change, ...]:
    """Return the values in the tables of two counts of a kernel that differ as functions of the sizes."""
    return tuple(change for table in rows.TABLES for change in _changes_in(table, old, new))


def parts(old: KernelCounts, new: KernelCounts) -> tuple[str, ...]:
    """Return the parts of the JSON of two counts that differ, as ``"source.dataflow"``: why their hashes do."""
    return tuple(_parts(old.to_json(), new.to_json(), ""))


def _parts(old: dict[str, Any], new: dict[str, Any], before: str) -> Iterator[str]:
    for name in dict.fromkeys((*old, *new)):
        left, right = old.get(name), new.get(name)
        if name == "source" and left and right:
            yield from _parts(left, right, "source.")
        elif left != right:
            yield before + name


def _changes_in(table: str, old: KernelCounts, new: KernelCounts) -> Iterator[Change]:
    left, right = (dict(_values(getattr(counts, table))) for counts in (old, new))
    for row, value in dict.fromkeys((*left, *right)):
        was, now = left.get((row, value)), right.get((row, value))
        try:
            equal = was == now
        except CountError:  # no formulas; a difference of the texts is all that is known
            equal = False
        if not equal:
            texts = ["none" if count is None else str(count) for count in (was, now)]
            if texts[0] == texts[1]:  # the granularity differs
                texts = [repr(was), repr(now)]
            yield Change(table, row, value, *texts)


def _values(table: tuple[Any, ...]) -> Iterator[tuple[tuple[str, str], Count]]:
    for row in table:
        values = {field.name: getattr(row, field.name) for field in fields(row)}
        stride, indirect = values.pop("stride", None), values.pop("indirect", False)  # rows differ by them too
        named = [str(value) for value in values.values() if not isinstance(value, Count | None)]
        how = ["indirect"] if indirect else [] if stride is None else [f"lane stride {stride}"]
        for name, value in values.items():
            if isinstance(value, Count):
                yield (" ".join((*named, *how)), name), value


Status = Literal["same", "rewritten", "changed", "other code", "gone", "failed"]


@dataclass(frozen=True)
class Recount:
    """One measured variant of a kernel class, counted again.

    Its status is ``same`` (the hash is the same), ``rewritten`` (the hash differs, and no value), ``changed`` (values
    differ), ``other code`` (values or the launch differ, and the generated code is not what was measured), ``gone``
    (there is no such class or variant any more) or ``failed`` (the kernel cannot be counted any more).
    """

    store: str  # the file of records
    kernel: str
    variant: str  # as canonical JSON
    status: Status
    old_hash: str  # of the stored counts
    kernel_hash: str  # of the code that was measured
    new: KernelCounts | None = None  # the counts of the kernel now
    changes: tuple[Change, ...] = ()  # the values in the tables that differ
    parts: tuple[str, ...] = ()  # of the counts' JSON that differ: why the hash does
    message: str = ""  # the reason, where the kernel was not counted

    @property
    def writable(self) -> bool:
        """Whether the new counts are of the measured kernel, and differ from the stored ones."""
        return self.status in ("rewritten", "changed")


def recount(
    paths: Iterable[Path], kernels: Iterable[KernelClass], progress: Progress | None = None
) -> tuple[Recount, ...]:
    """Count again what the newest records of stores are about; nothing is written.

    Paths are folders, with their test kernels and samples, or files of records; `kernels` are the classes that build
    them.
    """
    bar, classes = progress or Silent(), {kernel.name: kernel for kernel in kernels}
    wanted = [stored for path in paths for file in _files_of(path) for stored in _stored(file)]
    recounts = []
    with task(bar, "counting kernels again", len(wanted)):
        for stored, counts in wanted:
            recounts.append(_again(stored, counts, classes))
            message = recounts[-1].message
            bar.advance(FailedStep(stored.kernel, message) if message else stored.kernel)
    return tuple(recounts)


def write(recounts: Iterable[Recount]) -> int:
    """Use the new counts in stores, if they are of the measured kernels; return the changed records.

    Packed counts are packed again.
    """
    by_store: dict[str, dict[Place, KernelCounts]] = {}
    for each in recounts:
        if each.writable and each.new is not None:
            place = each.kernel, each.variant, each.kernel_hash, each.old_hash
            by_store.setdefault(each.store, {})[place] = each.new
    changed = sum(rename_counts(path, new) for path, new in by_store.items())
    for path in by_store:
        if packed_path(path).is_file():
            store.pack(path)
    return changed


def rename_counts(path: Path | str, new: Mapping[Place, KernelCounts]) -> int:
    """Let records name other counts; return the number of changed records.

    The new counts are appended first, and the file of records is then replaced, so that a kill at any instant leaves a
    readable store. Old counts and damaged lines stay.
    """
    rows_path, _ = store.paths(path)
    with opened(rows_path):
        rows, _ = read_lines(rows_path, read_row)
        texts, changed = rows_path.read_bytes().split(b"\n"), {}
        for number, row in rows:
            if (place := (row.kernel, canonical(row.variant), row.kernel_hash, row.counts_hash)) in new:
                changed[number] = new[place]
        for counts in {counts.hash: counts for counts in changed.values()}.values():
            append_counts(path, counts)
        for number, counts in changed.items():
            texts[number - 1] = json.dumps({**json.loads(texts[number - 1]), "counts_hash": counts.hash}).encode()
        if changed:
            write_whole(rows_path, b"\n".join(texts))
    return len(changed)


def _files_of(path: Path) -> tuple[Path, ...]:
    """Return the files of records at a path: of a folder those of measurement kernels, test kernels and samples."""
    rows, _ = store.paths(path)
    places = (rows, path / store.TESTS_FILE, path / store.SAMPLES_FILE) if path.is_dir() else (rows,)
    files = tuple(file for file in places if file.is_file())
    if not files:
        raise no_store(path)
    return files


def _stored(file: Path) -> Iterable[tuple[Recount, KernelCounts]]:
    measured = store.read(file)
    places = {
        (row.kernel, canonical(row.variant), row.kernel_hash, row.counts_hash): None
        for row in measured.current if row.counts_hash in measured.counts
    }
    for kernel, variant, code, digest in places:
        yield Recount(str(file), kernel, variant, "same", digest, code), measured.counts[digest]


def _again(stored: Recount, old: KernelCounts, classes: Mapping[str, KernelClass]) -> Recount:
    variant = _variant(stored, classes)
    if variant is None:
        what = "has no such variant" if stored.kernel in classes else "is in no folder of kernel classes"
        return replace(stored, status="gone", message=f"it {what} any more")
    subject = Subject(classes[stored.kernel], variant)
    try:
        new = _counts(subject, old)
    except (FailedError, PerfModelError) as error:
        return replace(stored, status="failed", message=" ".join(str(error).split()))
    if new.hash == stored.old_hash:
        return replace(stored, new=new)
    different = changes(old, new)
    status: Status = "changed" if different else "rewritten"
    also = parts(old, new)
    if (different or "launch" in also) and subject.hash != stored.kernel_hash:
        status = "other code"
    return replace(stored, new=new, status=status, changes=different, parts=also)


def _counts(subject: Subject, old: KernelCounts) -> KernelCounts:
    """Count a variant as it was counted before; a sample ships with its counts."""
    code, lanes = subject.generated, old.subgroup_size
    if isinstance(code, KeptKernel):
        return code.counts(lanes)
    return count(code.t_unit, subgroup_size=lanes, statistics=subject.statistics, cache=False, budget=old.budget)


def _variant(stored: Recount, classes: Mapping[str, KernelClass]) -> Variant | None:
    """Return the variant as its class has it, with the work-group that was measured."""
    wanted = json.loads(stored.variant)
    group = {"work_group": tuple(wanted.pop("work_group"))} if "work_group" in wanted else {}
    known = classes[stored.kernel].variants if stored.kernel in classes else ()
    return next(({**variant, **group} for variant in known if canonical(dict(variant)) == canonical(wanted)), None)


SUMMARY = {
    "same": "have the same counts",
    "rewritten": "have equal counts with another hash",
    "changed": "have other counts",
    "other code": "have other code than was measured",
    "gone": "have no source any more",
    "failed": "cannot be counted any more",
}


def recount_lines(recounts: Sequence[Recount], records: int | None) -> Iterator[str]:
    """Yield what changed, and a summary; `records` is the number of records written, None if writing was not asked."""
    for each in recounts:
        if each.status == "same":
            continue
        hashes = "" if each.new is None else f", {each.old_hash[:12]} -> {each.new.hash[:12]}"
        yield f"{each.store}: {each.kernel} {each.variant}: {each.status}{hashes}"
        for change in each.changes:
            yield f"    {change.table} {change.row}, {change.value}: {change.old} -> {change.new}"
        if each.parts and not each.changes:
            yield f"    all values are equal; the hash differs in: {', '.join(each.parts)}"
        if each.message:
            yield f"    {each.message}"
    counted: Counter[str] = Counter(each.status for each in recounts)
    yield f"{len(recounts)} kernels: {', '.join(f'{counted[s]} {text}' for s, text in SUMMARY.items() if counted[s])}"
    if records is not None:
        yield f"wrote {records} records; now fit again: perfmodel fit --all --from FOLDER --out FOLDER"
    elif any(each.writable for each in recounts):
        yield "nothing was written; --write changes the records to the new counts"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m scripts.lab.recounting", description=__doc__)
    parser.add_argument("stores", type=Path, nargs="+", metavar="STORE", help="folder or .jsonl file of measurements")
    parser.add_argument("--kernels", type=Path, action="append", help="folder of kernel classes; repeat for more")
    parser.add_argument("--write", action="store_true", help="change the records to the new counts; then fit again")
    asked = parser.parse_args(argv)
    try:
        shipped = () if asked.kernels else (*discovered(None, TEST_KERNELS), *shipped_samples())
        recounts = recount(asked.stores, (*discovered(asked.kernels), *shipped), CommandBar())
        records = write(recounts) if asked.write else None
    except PerfModelError as error:
        print(f"recounting: error: {error}", file=sys.stderr)
        return 2
    print(*recount_lines(recounts, records), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
