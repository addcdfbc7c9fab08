"""Kernels of other projects: predicted against measured times, by project and by half.

:func:`judge` reads a folder that no repository holds, since the kernels are other people's code. Its file
``programs.jsonl.xz`` has a line for each kernel: name (``project/kernel``), hash, sizes, and ``prepared``, the program
with statistics of real data (:class:`~perfmodel.counts.counting.Prepared`). Each file ``RUNTIME-r*.jsonl`` has the
measurements of one visit. A hash of its name decides whether a kernel is in the half ``look``, whose errors developers
may look at, or in the half ``score``. Kernels that were predicted before they ran for the first time are in neither:
``--half blind``, or ``--half made`` for those of :mod:`scripts.lab.made_up`. ``docs/data/others.csv`` keeps the rows,
from which :func:`draw_others` draws the tables::

    python -m scripts.lab.others FOLDER --weights fitted_weights/DEVICE --runtime RUNTIME
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import lzma
import math
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from statistics import fmean, median

from perfmodel.calibration.recommended import recommended_weights
from perfmodel.counts.counting import Prepared
from perfmodel.display import csv_text, values_text
from perfmodel.errors import DocumentError, PerfModelError
from perfmodel.io import write_whole
from perfmodel.predicting.model import load
from perfmodel.store import Measurement
from perfmodel.store.measurement import joined
from scripts.lab.markdown import drawn_between, markdown_table

RANGE = 0.2e-3, 50e-3  # measured times to judge [s]; shorter ones are mostly launch
LEVEL = 0.9
BLIND, MADE = "blind", "made"
HALVES = {"score": "kept back", "look": "looked at", **dict.fromkeys((BLIND, MADE), "predicted before they ran")}
TABLES = {"others": ("score", "look"), BLIND: (BLIND,), MADE: (MADE,)}  # the halves of each table of the page
NAMES = {"pocl": "PoCL", "intel": "Intel's runtime"}
COMMAND = "scripts/redraw others"
PROJECT = attrgetter("project")


@dataclass(frozen=True)
class Row:
    """The measured and the predicted time of a kernel, with the bounds of its interval [s]."""

    runtime: str
    half: str
    kernel: str
    sizes: str
    measured_s: float
    predicted_s: float
    low_s: float
    high_s: float

    @property
    def error(self) -> float:
        """The absolute logarithm of the predicted over the measured time [1]."""
        return abs(math.log(self.predicted_s / self.measured_s))

    @property
    def project(self) -> str:
        """The project from which the kernel comes."""
        return self.kernel.partition("/")[0]

    @property
    def inside(self) -> bool:
        """Whether the measured time is in the interval."""
        return self.low_s <= self.measured_s <= self.high_s


def half_of(kernel: str) -> str:
    """Return the half of a kernel, which only its name decides."""
    return "score" if hashlib.sha256(kernel.encode()).digest()[0] % 2 else "look"


def judge(folder: Path, runtime: str, weights: Path, half: str | None = None) -> Iterator[Row]:
    """Yield a row for each kernel of a runtime, predicted by a device's recommended weights.

    The half is given, or :func:`half_of` the name. The measured time is the minimum over all visits. Raises a
    DocumentError if the folder has no kernels.
    """
    found = recommended_weights(weights)
    model = load(weights if found is None else found).by_clock("host")
    source = folder / "programs.jsonl.xz"
    if not source.is_file():
        raise DocumentError(f"'{folder}' has no file {source.name}", "give the folder of captured kernels")
    with lzma.open(source) as file:
        programs = {one["kernel"]: one for one in map(json.loads, file)}
    visits: dict[str, list[Measurement]] = defaultdict(list)
    for path in sorted(folder.glob(f"{runtime}-r*.jsonl")):
        for row in map(Measurement.model_validate_json, path.read_text().splitlines()):
            known = programs.get(row.kernel)
            if known and (known["sizes"], known["hash"]) == (row.parameters, row.kernel_hash):
                visits[row.kernel].append(row)
    for kernel in sorted(visits):
        measured = joined(visits[kernel])
        if RANGE[0] <= measured.seconds <= RANGE[1]:
            counts = Prepared.from_json(programs[kernel]["prepared"]).counted(model.fitted.subgroup_size)
            made = model.predict(counts, measured.parameters, level=LEVEL)
            low, high = made.interval or (0.0, math.inf)
            sizes = values_text(measured.parameters)
            yield Row(runtime, half or half_of(kernel), kernel, sizes, measured.seconds, float(made.seconds), low, high)


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a table; none if there is no such file."""
    if not path.is_file():
        return []
    numbers = {field.name for field in fields(Row) if field.name.endswith("_s")}
    with path.open(newline="") as file:
        return [Row(**{name: float(cell) if name in numbers else cell for name, cell in line.items()})  # type: ignore[arg-type]
                for line in csv.DictReader(file)]  # fmt: skip


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write rows as CSV, times with six digits."""
    order = sorted(rows, key=attrgetter("runtime", "half", "kernel"))
    records = ({name: f"{cell:.6g}" if isinstance(cell, float) else cell for name, cell in asdict(row).items()}
               for row in order)  # fmt: skip
    write_whole(path, csv_text([field.name for field in fields(Row)], records).encode())


def figures(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return the number of rows, mean and median factor, share inside, and predicted over measured, as text."""
    errors = [row.error for row in rows]
    ratio = math.exp(fmean(math.log(row.predicted_s / row.measured_s) for row in rows))
    inside = f"{fmean(row.inside for row in rows):.0%}".replace("%", " %")
    return str(len(rows)), f"{math.exp(fmean(errors)):.2f}", f"{math.exp(median(errors)):.2f}", inside, f"{ratio:.2f}"


def table(rows: Sequence[Row]) -> str:
    """Return the figures by runtime and half, then of each project in the half that developers may look at."""
    cells = [("runtime", "kernels of", "kernels", "mean factor", "median", "inside 90 %", "predicted over measured"),
             ("---", "---", *["---:"] * 5)]  # fmt: skip
    for runtime, name in NAMES.items():
        for half, what in HALVES.items():
            some = [row for row in rows if (row.runtime, row.half) == (runtime, half)]
            if some:
                cells.append((name, f"all, {what}", *figures(some)))
        own = sorted((row for row in rows if row.runtime == runtime), key=PROJECT)
        cells += [(name, project, *figures(list(ones))) for project, ones in groupby(own, PROJECT)]
    return markdown_table(cells)


def draw_others(data: Path, page: Path) -> None:
    """Draw the tables of a page again from committed rows."""
    rows, drawn = read_rows(data), page.read_text()
    for name, halves in TABLES.items():
        drawn = drawn_between(drawn, name, table([row for row in rows if row.half in halves]), COMMAND)
    write_whole(page, drawn.encode())


def main(argv: Sequence[str] | None = None) -> int:
    """Judge a folder's measurements of a runtime, and replace its rows in the table, the blind ones or the others."""
    parser = argparse.ArgumentParser(prog="python -m scripts.lab.others", description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="folder of captured kernels and their measurements")
    parser.add_argument("--weights", type=Path, required=True, help="a device's folder, or a file of weights")
    parser.add_argument("--runtime", choices=NAMES, default="pocl", help="which measurements")
    parser.add_argument("--half", choices=HALVES, help="the half of all kernels, instead of by their names")
    parser.add_argument("--out", type=Path, default=Path("docs/data/others.csv"), help="the table of rows")
    options = parser.parse_args(argv)
    try:
        rows = [*judge(options.folder, options.runtime, options.weights, options.half)]
    except PerfModelError as error:
        print(f"others: error: {error}", file=sys.stderr)
        return 2
    same = next(halves for halves in TABLES.values() if (options.half or "look") in halves)
    kept = (row for row in read_rows(options.out) if row.runtime != options.runtime or row.half not in same)
    write_rows(options.out, [*kept, *rows])
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
