"""Measured rows evaluated for several families at once.

The counts of each row are read once for all families and then dropped. Counts take a thousand times the memory of the
values that fits need.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby, product
from operator import attrgetter
from typing import TypeAlias

from perfmodel.counts import KernelCounts
from perfmodel.errors import PerfModelError
from perfmodel.facts import DeviceFacts, FactValue
from perfmodel.fitting.design import RowValues, evaluate_rows
from perfmodel.fitting.family_fits import with_facts
from perfmodel.models import Family, find_family
from perfmodel.processes.pool import is_death, processes_here
from perfmodel.progress import Progress, task
from perfmodel.quantities.case import Case
from perfmodel.store import Measurement, Measurements

FamilyKey: TypeAlias = tuple[str, tuple[FactValue | None, ...]]
RowKey: TypeAlias = tuple[str, tuple[tuple[str, int], ...]]
KERNELS = 12  # counted kernels that one task of a process evaluates
EVALUATED_S = 0.085  # time to evaluate a counted kernel for `bottleneck` and the linear model, on a common core [s]


@dataclass(frozen=True, eq=False)
class Evaluated:
    """Values of the rows that could be evaluated, by family. An object can be called like :func:`evaluate_rows`."""

    values: Mapping[FamilyKey, Mapping[RowKey, RowValues]]

    def __call__(self, measurements: Measurements, family: Family) -> Sequence[RowValues]:
        """Return the values of each row. If one row has no values, evaluate all rows again."""
        known = self.values.get(_family_key(family, measurements.facts), {})
        keys = [_row_key(row) for row in measurements]
        if any(key not in known for key in keys):
            return evaluate_rows(measurements, family)
        return [known[key] for key in keys]


def evaluate_together(
    measurements: Measurements, families: Iterable[str | Family], rows: Iterable[Measurement] | None = None
) -> Evaluated:
    """Evaluate families at some rows (by default all), for each candidate value of the facts that the fits choose."""
    values: dict[FamilyKey, dict[RowKey, RowValues]] = defaultdict(dict)
    tried = [(family, facts) for family in map(find_family, families) for facts in _facts_to_try(measurements, family)]
    for counts, row in read_in_turn(measurements, measurements if rows is None else rows):
        for family, facts in tried:
            with suppress(PerfModelError):  # the fit evaluates the row again and raises the error
                case = Case(counts, row.parameters, facts, family.name)
                values[_family_key(family, facts)][_row_key(row)] = RowValues.of(case, family)
    return Evaluated(values)


def evaluated_in_processes(
    parts: Iterable[Measurements], families: Sequence[Family], progress: Progress
) -> Evaluated | None:
    """Evaluate families at all rows of one device on all cores. Return None for few rows, or if a process died."""
    known = [(part, row) for part in parts for row in part]
    hashes = sorted({row.counts_hash for _, row in known})
    with processes_here(len(hashes) // KERNELS) as processes:
        if processes is None:
            return None
        names, waiting = [family.name for family in families], {}
        for first in range(0, len(hashes), KERNELS):
            some = set(hashes[first : first + KERNELS])
            rows = [(part, row) for part, row in known if row.counts_hash in some]
            of_rows = ((part.counts_documents, row.counts_hash) for part, row in rows)
            counted = {digest: documents[digest] for documents, digest in of_rows if digest in documents}
            asked = replace(rows[0][0], rows=(), counts_documents=counted)
            waiting[processes.submit(evaluate_together, asked, names, [row for _, row in rows])] = len(some)
        seconds = len(hashes) * EVALUATED_S / processes.count
        with task(progress, "evaluating measured kernels", len(waiting), seconds):
            made = []
            try:
                for future in as_completed(waiting):
                    made.append(future.result())
                    progress.advance("", seconds * waiting[future] / len(hashes))
            except Exception as error:
                if not is_death(error):
                    raise
                processes.end(kill=True)
                return None
    return joined(made)


def read_in_turn(measurements: Measurements, rows: Iterable[Measurement]) -> Iterator[tuple[KernelCounts, Measurement]]:
    """Yield rows with their counts. Rows without counts are skipped. Counts that rows share are read once."""
    of_counts = attrgetter("counts_hash")
    for digest, sharing in groupby(sorted(rows, key=of_counts), key=of_counts):
        if digest in measurements.counts_documents:
            counts = KernelCounts.from_json(dict(measurements.counts_documents[digest]))
            yield from ((counts, row) for row in sharing)


def joined(parts: Iterable[Evaluated]) -> Evaluated:
    """Return the values of several parts as one."""
    values: dict[FamilyKey, dict[RowKey, RowValues]] = defaultdict(dict)
    for part in parts:
        for key, rows in part.values.items():
            values[key].update(rows)
    return Evaluated(values)


def _facts_to_try(measurements: Measurements, family: Family) -> Iterator[DeviceFacts | None]:
    known = measurements.facts
    choices = {key: family.choices[key] for key in _chosen(family) if known is None or key not in known}
    for values in product(*choices.values()):
        yield with_facts(measurements, dict(zip(choices, values, strict=True))).facts if choices else known


def _family_key(family: Family, facts: DeviceFacts | None) -> FamilyKey:
    known = facts or ()
    return family.name, tuple(facts.value(key) if facts and key in known else None for key in _chosen(family))


def _chosen(family: Family) -> list[str]:
    given = {weight.fact for weight in family.weights}
    return [key for key in family.choices if key not in given]


def _row_key(row: Measurement) -> RowKey:
    return row.counts_hash, tuple(sorted(row.parameters.items()))
