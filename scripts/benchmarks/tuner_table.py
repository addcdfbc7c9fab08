"""Every configuration of a space, predicted and measured: the table on which tuners are compared.

Each line of the file is one configuration: what it took to build and to count it [CPU s], its prediction with its
terms, and its measurement with the seconds that compiling, checking and running it took.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

from perfmodel.counts import count
from perfmodel.documents import canonical
from perfmodel.errors import PerfModelError
from perfmodel.io import write_whole
from perfmodel.kernels.space import Space
from perfmodel.measuring.campaign import Campaign
from perfmodel.tuning.trials import Trials
from perfmodel.tuning.tuning import TUNE

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts
    from perfmodel.predicting.model import FittedModel
    from scripts.benchmarks.tuner_spaces import Benchmark


@dataclass(frozen=True)
class Configuration:
    """One configuration of a space."""

    values: Mapping[str, Any] = field(hash=False)  # its parameters
    # status, message: of its measurement.
    status: str
    times_s: tuple[float, ...] = ()  # its time in each pass over the whole space [s]; empty if it failed
    message: str = ""
    # predicted, terms: of its prediction [s]; None if it has none.
    predicted: float | None = None
    terms: Mapping[str, float] = field(default_factory=dict, hash=False)
    # build_s, count_s: making the kernel by Loopy's transformations; counting and predicting it [CPU s].
    build_s: float = 0.0
    count_s: float = 0.0
    code_s: float = 0.0  # writing its OpenCL code [CPU s]
    run_s: float = 0.0  # compiling, checking and running it [s]

    @property
    def seconds(self) -> float | None:
        """Its time, the lowest of all passes [s]; None if it failed."""
        return min(self.times_s, default=None)

    @property
    def evaluation_s(self) -> float:
        """What a tuner spends that runs it [s]."""
        return self.build_s + self.code_s + self.run_s


@dataclass(frozen=True)
class Table:
    """A space that was measured in full on one device."""

    # space, sizes: name of the space, and the sizes of the kernel.
    space: str
    sizes: Mapping[str, int] = field(hash=False)
    # device, family: name of the device, and of the family of models that predicted.
    device: str
    family: str
    # How that model errs between variants of other kernels (:class:`perfmodel.fitting.selection.Scatter`); None if its
    # weights do not give it.
    scatter: Mapping[str, Any] | None = field(hash=False)
    rows: tuple[Configuration, ...]  # its configurations

    def after(self, before: Table) -> Table:
        """Return the table with the times of an earlier pass before its own; all else is of this pass."""
        times = {canonical(row.values): row.times_s for row in before.rows}
        rows = (
            replace(row, times_s=(*times.get(canonical(row.values), ()), *row.times_s)) if row.status == "ok" else row
            for row in self.rows
        )
        return replace(self, rows=tuple(rows))

    def write(self, path: Path) -> None:
        """Write a file with a line for the table, and one for each configuration; packed where it ends in ``.gz``."""
        head = {key: value for key, value in asdict(self).items() if key != "rows"}
        lines = [head, *(asdict(row) for row in self.rows)]
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(json.dumps(line) + "\n" for line in lines).encode()
        write_whole(path, gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)


def read_table(path: Path) -> Table:
    content = path.read_bytes()
    text = gzip.decompress(content) if path.suffix == ".gz" else content
    head, *rows = (json.loads(line) for line in text.splitlines())
    return Table(**head, rows=tuple(Configuration(**{**row, "times_s": tuple(row["times_s"])}) for row in rows))


def predicted_again(table: Table, space: Space, model: FittedModel) -> Table:
    """Return a table with the predictions of this model, and what they take now; times stay."""
    rows = []
    for row in table.rows:
        unit, build_s = _timed(partial(space.build, **row.values))
        counted = partial(count, unit, model.fitted.subgroup_size, cache=False)
        rows.append(replace(row, build_s=build_s, **_predicted(counted, model, row.values, table.sizes)))
        _tell("predicted", len(rows), len(table.rows))
    return replace(table, rows=tuple(rows), family=model.family.name, scatter=_scatter(model))


def measure_table(benchmark: Benchmark, model: FittedModel, campaign: Campaign = TUNE) -> Table:
    """Count and predict all configurations of a space, and then measure one after the other."""
    rows = tuple(_rows(benchmark.space, benchmark.sizes, model, campaign))
    return Table(benchmark.name, benchmark.sizes, model.device, model.family.name, _scatter(model), rows)


def _scatter(model: FittedModel) -> Mapping[str, Any] | None:
    return None if model.fitted.scatter is None else model.fitted.scatter.model_dump()


def _rows(
    space: Space, sizes: Mapping[str, int], model: FittedModel, campaign: Campaign
) -> Iterator[Configuration]:
    from perfmodel.tuning.anchoring import device_of
    built = {name: _timed(build) for name, build in space.variants.items()}
    units = {name: unit for name, (unit, _) in built.items()}
    with Trials(device_of(model), units, sizes, campaign, kernel="tuner") as trials:
        known: dict[str, dict[str, Any]] = {}
        for name in units:
            known[name] = _predicted(partial(trials.count, name), model, name, sizes)
            _, code_s = _timed(partial(_code, trials, name))
            known[name]["code_s"] = code_s
            _tell("counted", len(known), len(units))
        for place, (values, name) in enumerate(zip(space.configurations, units, strict=True)):
            began = perf_counter()
            row = trials.visit(name)
            _tell("measured", place + 1, len(units))
            times = (row.seconds,) if row.status == "ok" else ()
            yield Configuration(
                values, row.status, times, row.message, build_s=built[name][1],
                run_s=perf_counter() - began, **known[name],
            )  # fmt: skip


def _code(trials: Trials, name: str) -> str:
    return trials.kernel.subject(name).generated.text


def _predicted(
    counted: Callable[[], KernelCounts], model: FittedModel, what: object, sizes: Mapping[str, int]
) -> dict[str, Any]:
    """Count and predict a kernel; return the reason if that fails."""
    try:
        found, count_s = _timed(lambda: model.predict(counted(), sizes, allow_unmeasured=True))
    except PerfModelError as error:
        print(f"{what}: {error}", file=sys.stderr)
        return {}
    terms = {term: seconds for term, seconds in found.terms.items() if seconds}
    return {"predicted": found.seconds, "terms": terms, "count_s": count_s}


def _tell(what: str, done: int, count: int) -> None:
    if done % 20 == 0 or done == count:
        print(f"{what} {done} of {count}", file=sys.stderr, flush=True)


def _timed(make: Callable[[], Any]) -> tuple[Any, float]:
    began = process_time()
    return make(), process_time() - began
