"""Judges ``perfmodel diff`` with seeded changes and held-out pairs, by predicted and by measured times.

::

    python -m scripts.lab.diffs.judge FOLDER --device pocl            # predict, also without the device
    python -m scripts.lab.diffs.judge FOLDER --device pocl --seconds 50   # time pairs that have no times yet

:mod:`scripts.lab.diffs.kernels` describes FOLDER. ``docs/data/diffs.csv`` keeps the rows, from which
:func:`draw_diffs` draws the tables of a page.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import chain
from operator import attrgetter
from pathlib import Path
from statistics import fmean
from time import monotonic

from perfmodel.calibration.recommended import load
from perfmodel.counts import count
from perfmodel.display import csv_text, values_text
from perfmodel.errors import PerfModelError
from perfmodel.io import write_whole
from perfmodel.measuring import pin_threads
from perfmodel.opencl import find
from perfmodel.predicting import FittedModel
from perfmodel.predicting.predictions import scatter_of
from perfmodel.tuning.trials import TRIALS, Trials
from perfmodel.versions.differences import SLOWER as PROBABILITY, UNKNOWN, UNLIKE, TimeChange, difference
from perfmodel.versions.sides import Side, Version
from scripts.lab.diffs.changes import Unit
from scripts.lab.diffs.interval import Error, half_of, least_tau, share_inside
from scripts.lab.diffs.kernels import HARMLESS, HELD_OUT, SLOWER, Pair, held_out, seeded
from scripts.lab.markdown import drawn_between, markdown_table

TOLERANCE = 0.05  # of the gate
CLEAR = 0.1  # ratios that differ from 1 by more have a direction
RANGE = 0.2e-3, 50e-3  # predicted times of held-out kernels [s]
MOST = 50  # held-out pairs
QUICK = replace(TRIALS, visits=1, apart_s=0.0, runs=10, enough_s=0.5, timeout_s=20.0)
ROUNDS = 2  # visits of each version, in turn
NAMES = {"pocl": "PoCL", "intel": "Intel's runtime", "titan-v": "TITAN V"}
COMMAND = "scripts/redraw diffs"


@dataclass(frozen=True)
class Row:
    """A pair on a device: the number of changed formulas, the predicted ratio, and the times if they were measured.

    `slower` is the predicted probability that the new version is slower by more than TOLERANCE, and `scatter` the
    model's sigma [1]; times are in seconds.
    """

    sort: str
    kernel: str
    change: str
    sizes: str
    device: str
    formulas: int
    ratio: float
    low: float
    high: float
    slower: float
    scatter: float
    old_s: float = math.nan
    new_s: float = math.nan

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What names the row."""
        return self.sort, self.kernel, self.change, self.device

    @property
    def flagged(self) -> bool:
        """Whether the gate calls the new version slower."""
        return self.ratio > 1 + TOLERANCE and self.slower >= PROBABILITY

    @property
    def measured(self) -> float:
        """The measured ratio [1], NaN without times."""
        return self.new_s / self.old_s if self.old_s > 0 else math.nan

    @property
    def clear(self) -> bool:
        """Whether the measured times differ by more than CLEAR."""
        return abs(math.log(self.measured)) > math.log(1 + CLEAR) if self.new_s > 0 else False

    @property
    def right(self) -> bool:
        """Whether the predicted direction is the measured one. No predicted difference (0.1 %) is wrong."""
        return math.log(self.ratio) * math.log(self.measured) > 0 and abs(math.log(self.ratio)) > 1e-3

    @property
    def inside(self) -> bool:
        """Whether the interval has the measured ratio."""
        return self.low <= self.measured <= self.high

    @property
    def error(self) -> Error:
        """The error of the ratio."""
        width = math.log(self.high / self.ratio)
        return Error(self.kernel, abs(math.log(self.ratio / self.measured)) / width, self.scatter)


def predicted(pair: Pair, device: str, model: FittedModel) -> Row | None:
    """Return a row without times; None if the change does not apply, or a held-out kernel is too short or too long."""
    try:
        old, new = (Side("", {"kernel": Version(count(build(), model.fitted.subgroup_size))})
                    for build in (pair.old, pair.new))  # fmt: skip
        (found,) = difference(old, new, model, [pair.sizes] if pair.sizes else ()).kernels
    except PerfModelError as error:
        print(f"left out: {pair.kernel}, {pair.change}: {error}", file=sys.stderr)
        return None
    except Exception:  # Loopy's, or the change's own: it does not apply
        return None
    if not found.times or (pair.sort == HELD_OUT and not RANGE[0] <= found.times[0].old.seconds <= RANGE[1]):
        return None
    time = found.times[0]
    return Row(
        pair.sort, pair.kernel, pair.change, values_text(pair.sizes), device, len(found.changes), time.ratio,
        *time.interval, time.slower(TOLERANCE), _scatter(model, time),
    )  # fmt: skip


def _scatter(model: FittedModel, time: TimeChange) -> float:
    return (scatter_of(model, [time.old, time.new]) or UNKNOWN).deviation


def timed(row: Row, pair: Pair) -> Row:
    """Return a row with the least times of both versions, which run in turn."""
    versions: dict[str, Callable[[], Unit]] = {"old": pair.old, "new": pair.new}
    seconds = dict.fromkeys(versions, math.inf)
    with Trials(find(row.device), versions, pair.sizes, QUICK, kernel="pair", compare=False) as trials:
        for _ in range(ROUNDS):
            for name in versions:
                visit = trials.visit(name)
                if visit.status != "ok":
                    print(f"no time: {pair.kernel}, {pair.change}, {name}: {visit.message[:200]}", file=sys.stderr)
                    return replace(row, old_s=0.0, new_s=0.0)
                seconds[name] = min(seconds[name], visit.seconds)
    return replace(row, old_s=seconds["old"], new_s=seconds["new"])


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a table; none if there is no such file."""
    if not path.is_file():
        return []
    types = {field.name: {"str": str, "int": int, "float": float}[str(field.type)] for field in fields(Row)}
    with path.open(newline="") as file:
        return [Row(**{name: types[name](line[name] or "nan") for name in types}) for line in csv.DictReader(file)]


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write rows as CSV, numbers with five digits."""
    order = sorted(rows, key=attrgetter("key"))
    records = ({name: _cell(value) for name, value in asdict(row).items()} for row in order)
    write_whole(path, csv_text([field.name for field in fields(Row)], records).encode())


def _cell(value: object) -> object:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.5g}"
    return value


def flags(rows: Sequence[Row]) -> str:
    """Return the table of seeded changes: changed formulas, and changes that the gate flags."""
    heads = ("change", "device", "pairs", "formulas changed", "flagged", "of those over 5 % slower", "of the others")
    cells = [heads, ("---", "---", *["---:"] * 5)]
    for sort in (SLOWER, HARMLESS, HELD_OUT):
        for device, name in NAMES.items():
            some = [row for row in rows if (row.sort, row.device) == (sort, device)]
            slow = [row for row in some if row.measured > 1 + TOLERANCE]
            other = [row for row in some if row.measured <= 1 + TOLERANCE]
            if some:
                changed = str(sum(row.formulas > 0 for row in some))
                cells.append((sort, name, str(len(some)), changed, *map(_flagged, (some, slow, other))))
    return markdown_table(cells)


def _flagged(rows: Sequence[Row]) -> str:
    return f"{sum(row.flagged for row in rows)} of {len(rows)}" if rows else "-"


def directions(rows: Sequence[Row]) -> str:
    """Return the table of measured ratios: how many are inside the interval, and have the predicted direction."""
    heads = ("pairs", "device", "measured", "inside 90 %", "mean factor", "over 10 % different", "right direction")
    cells = [heads, ("---", "---", *["---:"] * 5)]
    for sort in (SLOWER, HELD_OUT):
        for device, name in NAMES.items():
            ran = [row for row in rows if (row.sort, row.device) == (sort, device) and row.new_s > 0]
            clear = [row for row in ran if row.clear]
            if ran:
                factor = math.exp(fmean(abs(math.log(row.ratio / row.measured)) for row in ran))
                right = sum(row.right for row in clear)
                cells.append((sort, name, str(len(ran)), _share(sum(row.inside for row in ran), len(ran)),
                              f"{factor:.2f}", str(len(clear)), _share(right, len(clear))))  # fmt: skip
    return markdown_table(cells)


def taus(rows: Sequence[Row]) -> str:
    """Return the table of the least tau that is enough for one half of the kernels, judged on the other half."""
    errors = [row.error for row in rows if row.new_s > 0]
    cells = [("chosen on", "tau", "inside 90 % of the other half", "with 0", "as used"), ("---", *["---:"] * 4)]
    for half in (False, True):
        chosen, other = ([error for error in errors if half_of(error.kernel) is each] for each in (half, not half))
        tau = least_tau(chosen)
        found = (f"{share_inside(other, value):.0%}".replace("%", " %") for value in (tau, 0.0, UNLIKE))
        cells.append((f"{len(chosen)} ratios", f"{tau:.2f}", *found))
    return markdown_table(cells)


def _share(part: int, whole: int) -> str:
    return f"{part} ({part / whole:.0%})".replace("%", " %") if whole else "-"


def each_pair(rows: Sequence[Row], sort: str) -> str:
    """Return a table of the pairs of a sort: the predicted and the measured ratio on each device that has rows."""
    devices = [device for device in NAMES if any((row.sort, row.device) == (sort, device) for row in rows)]
    cells = [("kernel", "change", *map(NAMES.__getitem__, devices)), ("---", "---", *["---:"] * len(devices))]
    named = {row.key: row for row in rows}
    for kernel, change in dict.fromkeys((row.kernel, row.change) for row in rows if row.sort == sort):
        found = [named.get((sort, kernel, change, device)) for device in devices]
        cells.append((kernel, change, *map(_ratios, found)))
    return markdown_table(cells)


def _ratios(row: Row | None) -> str:
    if row is None:
        return "-"
    if not row.new_s > 0:
        return f"{row.ratio:.2f}"
    return f"{row.ratio:.2f}, {row.measured:.2f}{' wrong' if row.clear and not row.right else ''}"


def draw_diffs(data: Path, page: Path) -> None:
    """Draw the tables of a page again from committed rows."""
    rows, text = read_rows(data), page.read_text()
    tables = {
        "flags": flags(rows), "directions": directions(rows), "tau": taus(rows), "seeds": each_pair(rows, SLOWER),
        "held-out": each_pair(rows, HELD_OUT),
    }  # fmt: skip
    for name, table in tables.items():
        text = drawn_between(text, name, table, COMMAND)
    write_whole(page, text.encode())


def rows_of(pairs: Iterator[Pair], device: str, most: int) -> Iterator[Row]:
    """Yield predicted rows: all of the seeded pairs, and the first `most` held-out ones."""
    model = load(device=device)
    model = model.by_clock("host") if device != "titan-v" else model
    drawn = 0
    for pair in pairs:
        if pair.sort != HELD_OUT or drawn < most:
            row = predicted(pair, device, model)
            drawn += row is not None and pair.sort == HELD_OUT
            if row is not None:
                yield row


def main(argv: Sequence[str] | None = None) -> int:
    """Predict the pairs of a folder, or time those that have no times, and replace their rows in the table."""
    parser = argparse.ArgumentParser(prog="python -m scripts.lab.diffs.judge", description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="folder of captured kernels")
    parser.add_argument("--device", choices=NAMES, default="pocl", help="a device with committed weights")
    parser.add_argument("--seconds", type=float, help="time pairs for so long, in place of predictions")
    parser.add_argument("--most", type=int, default=MOST, help="number of held-out pairs to predict")
    parser.add_argument("--out", type=Path, default=Path("docs/data/diffs.csv"), help="the table of rows")
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    rows = {row.key: row for row in read_rows(options.out)}
    try:
        pairs = chain(seeded(options.folder), held_out(options.folder))
        if options.seconds is None:
            for row in rows_of(pairs, options.device, options.most):
                known = rows.get(row.key, row)
                rows[row.key] = replace(row, old_s=known.old_s, new_s=known.new_s)
                write_rows(options.out, [*rows.values()])
            return 0
        pin_threads()
        until = monotonic() + options.seconds
        for pair in pairs:
            key = pair.sort, pair.kernel, pair.change, options.device
            if key in rows and math.isnan(rows[key].new_s) and pair.sort != HARMLESS:
                if monotonic() > until:
                    return 3
                rows[key] = timed(rows[key], pair)
                write_rows(options.out, [*rows.values()])
    except PerfModelError as error:
        print(f"diffs: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
