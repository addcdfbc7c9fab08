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
from typing import Any

from perfmodel.errors import PerfModelError
from perfmodel.kernels.space import Space
from perfmodel.measuring.campaign import Campaign
from perfmodel.tuning.tuning import TUNE


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


def read_table(path: Path) -> list[Configuration]:
    return [Configuration(**json.loads(line)) for line in path.read_text().splitlines()]


def write_table(path: Path, rows: list[Configuration]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(asdict(row)) + "\n" for row in rows))


def measure_table(
    space: Space, sizes: Mapping[str, int], model: Any, begin: Callable[[], None], campaign: Campaign = TUNE
) -> Iterator[Configuration]:
    """Count and predict all configurations first, then call `begin`, and measure one after the other."""
    from perfmodel.tuning.anchoring import device_of
    from perfmodel.tuning.trials import Trials

    built = {name: _timed(build) for name, build in space.variants.items()}
    units = {name: unit for name, (unit, _) in built.items()}
    with Trials(device_of(model), units, sizes, campaign, kernel="tuner") as trials:
        known = {}
        for name in units:
            known[name] = _predicted(trials, model, name, sizes)
            _, code_s = _timed(partial(trials.code, name))
            known[name]["code_s"] = code_s
            print(f"counted {len(known)} of {len(units)}", end="\r", file=sys.stderr)
        begin()
        for values, name in zip(space.configurations, units, strict=True):
            began = perf_counter()
            row = trials.visit(name)
            ok = row.status == "ok"
            yield Configuration(
                values, row.status, row.seconds if ok else None, row.message, build_s=built[name][1],
                run_s=perf_counter() - began, **known[name],
            )  # fmt: skip


def _predicted(trials: Any, model: Any, name: str, sizes: Mapping[str, int]) -> dict[str, Any]:
    try:
        found, count_s = _timed(lambda: model.predict(trials.count(name), sizes, allow_unmeasured=True))
    except PerfModelError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return {}
    terms = {term: seconds for term, seconds in found.terms.items() if seconds}
    return {"predicted": found.seconds, "terms": terms, "count_s": count_s}


def _timed(make: Callable[[], Any]) -> tuple[Any, float]:
    began = process_time()
    return make(), process_time() - began
