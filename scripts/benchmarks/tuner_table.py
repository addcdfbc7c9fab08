"""Every configuration of a space, predicted and measured: the table on which tuners are compared.

Each line of the file is one configuration: what it took to build and to count it [CPU s], its prediction with its
terms, and its measurement with the seconds that compiling, checking and running it took.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

from perfmodel.errors import PerfModelError
from perfmodel.io import write_whole
from perfmodel.kernels.space import Space
from perfmodel.measuring.campaign import Campaign
from perfmodel.tuning.trials import Trials
from perfmodel.tuning.tuning import TUNE

if TYPE_CHECKING:
    from perfmodel.predict import FittedModel
    from scripts.benchmarks.tuner_spaces import Benchmark


@dataclass(frozen=True)
class Configuration:
    """One configuration of a space.

    Parameters
    ----------
    values
        Its parameters.
    status, seconds, message
        Of its measurement [s].
    predicted, terms
        Of its prediction [s]; None where it has none.
    build_s, count_s
        Making the kernel by Loopy's transformations; counting and predicting it [CPU s].
    code_s
        Writing its OpenCL code [CPU s].
    run_s
        Compiling, checking and running it [s].
    """

    values: Mapping[str, Any] = field(hash=False)
    status: str
    seconds: float | None
    message: str = ""
    predicted: float | None = None
    terms: Mapping[str, float] = field(default_factory=dict, hash=False)
    build_s: float = 0.0
    count_s: float = 0.0
    code_s: float = 0.0
    run_s: float = 0.0

    @property
    def evaluation_s(self) -> float:
        """What a tuner spends that runs it [s]."""
        return self.build_s + self.code_s + self.run_s


@dataclass(frozen=True)
class Table:
    """A space that was measured in full on one device.

    Parameters
    ----------
    space, sizes
        Name of the space, and the sizes of the kernel.
    device, family
        Name of the device, and of the family of models that predicted.
    scatter
        How that model errs between variants of other kernels (:class:`perfmodel.fitting.uncertainty.scatter.Scatter`);
        None where its weights do not tell.
    rows
        Its configurations.
    """

    space: str
    sizes: Mapping[str, int] = field(hash=False)
    device: str
    family: str
    scatter: Mapping[str, Any] | None = field(hash=False)
    rows: tuple[Configuration, ...]

    def write(self, path: Path) -> None:
        """Write a file with a line for the table, and one for each configuration."""
        head = {key: value for key, value in asdict(self).items() if key != "rows"}
        lines = [head, *(asdict(row) for row in self.rows)]
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, "".join(json.dumps(line) + "\n" for line in lines).encode())


def read_table(path: Path) -> Table:
    head, *rows = (json.loads(line) for line in path.read_text().splitlines())
    return Table(**head, rows=tuple(Configuration(**row) for row in rows))


def measure_table(benchmark: Benchmark, model: FittedModel, campaign: Campaign = TUNE) -> Table:
    """Count and predict all configurations of a space, and then measure one after the other."""
    scatter = model.fitted.scatter
    rows = tuple(_rows(benchmark.space, benchmark.sizes, model, campaign))
    told = None if scatter is None else scatter.model_dump()
    return Table(benchmark.name, benchmark.sizes, model.device, model.family.name, told, rows)


def _rows(
    space: Space, sizes: Mapping[str, int], model: FittedModel, campaign: Campaign
) -> Iterator[Configuration]:
    from perfmodel.tuning.anchoring import device_of
    built = {name: _timed(build) for name, build in space.variants.items()}
    units = {name: unit for name, (unit, _) in built.items()}
    with Trials(device_of(model), units, sizes, campaign, kernel="tuner") as trials:
        known: dict[str, dict[str, Any]] = {}
        for name in units:
            known[name] = _predicted(trials, model, name, sizes)
            _, code_s = _timed(partial(trials.code, name))
            known[name]["code_s"] = code_s
            _tell("counted", len(known), len(units))
        for place, (values, name) in enumerate(zip(space.configurations, units, strict=True)):
            began = perf_counter()
            row = trials.visit(name)
            _tell("measured", place + 1, len(units))
            ok = row.status == "ok"
            yield Configuration(
                values, row.status, row.seconds if ok else None, row.message, build_s=built[name][1],
                run_s=perf_counter() - began, **known[name],
            )  # fmt: skip


def _predicted(trials: Trials, model: FittedModel, name: str, sizes: Mapping[str, int]) -> dict[str, Any]:
    try:
        found, count_s = _timed(lambda: model.predict(trials.count(name), sizes, allow_unmeasured=True))
    except PerfModelError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return {}
    terms = {term: seconds for term, seconds in found.terms.items() if seconds}
    return {"predicted": found.seconds, "terms": terms, "count_s": count_s}


def _tell(what: str, done: int, count: int) -> None:
    if done % 20 == 0 or done == count:
        print(f"{what} {done} of {count}", file=sys.stderr, flush=True)


def _timed(make: Callable[[], Any]) -> tuple[Any, float]:
    began = process_time()
    return make(), process_time() - began
