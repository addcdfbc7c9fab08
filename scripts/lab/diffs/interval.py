"""Judges the interval of the ratio, and its direction, with pairs of measured variants in the folders of devices.

``python -m scripts.lab.diffs.interval fitted_weights/*`` predicts the measured rows of kernels with several variants at
one size. The scatter tau of kernels that are unlike the measured ones is chosen on one half of the kernels' groups,
which a hash of their names decides, and judged on the other half. In each device and kernel the weights of the pairs
add up to 1.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from perfmodel.calibration.recommended import folder_weights
from perfmodel.documents import canonical
from perfmodel.errors import PerfModelError
from perfmodel.fitting.device_folder import measured_folder
from perfmodel.predicting.model import load
from perfmodel.predicting.predictions import scatter_of
from perfmodel.store import Measurement
from perfmodel.versions.differences import LEVEL, UNKNOWN, UNLIKE, time_change

CLEAR = math.log(1.1)  # measured log ratios that have a direction
TAUS = np.arange(0.0, 1.0, 0.01)


@dataclass(frozen=True)
class Error:
    """The error of a log ratio over half the width of its interval, and the model's scatter sigma [1]."""

    kernel: str
    relative: float
    scatter: float

    def inside(self, tau: float) -> bool:
        """Whether the interval has the measured ratio with another tau."""
        return self.relative * math.hypot(self.scatter, UNLIKE) <= math.hypot(self.scatter, tau)


@dataclass(frozen=True)
class Ratio(Error):
    """A pair of variants: the predicted and the measured log ratio. `test` if no fit has used the kernel."""

    device: str
    group: str
    test: bool
    predicted: float
    measured: float


def half_of(name: str) -> bool:
    """Return the half of a kernel or a group, which only its name decides."""
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 0


def ratios(folder: Path) -> Iterator[Ratio]:
    """Yield the pairs of variants of a device's folder that its recommended weights predict."""
    model = load(folder_weights(folder))
    for test, rows in zip((False, True), measured_folder(folder), strict=True):
        cells = defaultdict[tuple[str, str], list[Measurement]](list)
        for row in rows:
            cells[row.kernel, canonical(dict(row.parameters))].append(row)
        for cell in cells.values():
            predicted = []
            for row in cell if len(cell) > 1 else ():
                with suppress(PerfModelError):  # withheld
                    predicted.append((row, model.predict(rows.counts[row.counts_hash], row.parameters)))
            for (old, before), (new, after) in combinations(predicted, 2):
                change = time_change(model, old.parameters, before, after)
                ratio, measured = math.log(change.ratio), math.log(new.seconds / old.seconds)
                relative = abs(ratio - measured) / math.log(change.interval[1] / change.ratio)
                scatter = (scatter_of(model, [before, after]) or UNKNOWN).deviation
                yield Ratio(old.kernel, relative, scatter, folder.name, old.group, test, ratio, measured)


def weights_of(errors: Sequence[Error]) -> list[float]:
    """Return a weight for each error. Weights of a kernel's ratios on a device add up to 1; other errors have 1."""
    keys = [(error.device, error.kernel) if isinstance(error, Ratio) else number for number, error in enumerate(errors)]
    number = Counter(keys)
    return [1 / number[key] for key in keys]


def share_inside(errors: Sequence[Error], tau: float = UNLIKE) -> float:
    """Return the weighted share of measured ratios inside the intervals [1], perhaps with another tau."""
    return float(np.average([error.inside(tau) for error in errors], weights=weights_of(errors)))


def least_tau(errors: Sequence[Error]) -> float:
    """Return the least tau, in steps of 0.01, with which the intervals have as many ratios as they should [1]."""
    return float(next((tau for tau in TAUS if share_inside(errors, tau) >= LEVEL), TAUS[-1]))


def lines(pairs: Sequence[Ratio]) -> Iterator[str]:
    """Yield the judgement of both halves, then of each device, as lines."""
    halves = [[pair for pair in pairs if half_of(pair.group) is half] for half in (False, True)]
    for chosen, judged in (halves, halves[::-1]):
        tau = least_tau(chosen)
        inside, without, used = (f"{share_inside(judged, value):.1%}" for value in (tau, 0.0, UNLIKE))
        yield (f"{len(chosen)} pairs: tau {tau:.2f}. Inside of the other {len(judged)} are {inside}; "
               f"with 0 {without}; as used {used}")  # fmt: skip
    for test in (True, False):
        for device in sorted({pair.device for pair in pairs}):
            some = [pair for pair in pairs if (pair.device, pair.test) == (device, test)]
            clear = [pair for pair in some if abs(pair.measured) > CLEAR]
            if clear:
                right = np.mean([pair.predicted * pair.measured > 0 for pair in clear])
                yield (f"{device}, {'test' if test else 'measurement'} kernels: inside {share_inside(some):.1%} of "
                       f"{len(some)}, right direction {right:.1%} of {len(clear)}")  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Print the judgement of folders."""
    title = __doc__.partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m scripts.lab.diffs.interval", description=title)
    parser.add_argument("folders", type=Path, nargs="+", help="folders of devices with measured rows")
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    try:
        print(*lines([pair for folder in options.folders for pair in ratios(folder)]), sep="\n")
    except PerfModelError as error:
        print(f"interval: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
