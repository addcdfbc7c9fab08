"""Search spaces with run times that others recorded on their GPUs: the kernels in Loopy, and the times.

They are not kernel classes, and campaigns do not measure them: each file is a user's kernel file with ``kernel()``,
``space()`` and ``allowed()``, as ``perfmodel rank`` and ``tune`` take it. ``README.md`` names the source of the times.

>>> from test_kernels.recorded import recorded, space
>>> first = recorded("gemm", "rtx-3090")[0]
>>> first.seconds, first.configuration["MWG"]
(0.045631, 16)
>>> t_unit = space("gemm").build(**first.configuration)
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import loopy as lp

from perfmodel.facts import DeviceFacts, published, published_devices
from perfmodel.kernels.files import load_kernel_file
from perfmodel.kernels.space import Space

if TYPE_CHECKING:
    from loopy import TranslationUnit

FOLDER = Path(__file__).parent
#: The size parameters of each space, as its times were recorded.
SIZES: Mapping[str, Mapping[str, int]] = {
    "convolution15": {"n": 4096},
    "convolution15-wide": {"n": 4096},
    "dedispersion": {"channels": 1536, "measures": 2048, "samples": 25000, "row": 25650},
    "gemm": {"m": 4096, "n": 4096, "k": 4096},
}
#: The kernel file of each space.
FILES: Mapping[str, Path] = {
    "convolution15": FOLDER / "convolution.py",
    "convolution15-wide": FOLDER / "convolution_wide.py",
    "dedispersion": FOLDER / "dedispersion.py",
    "gemm": FOLDER / "gemm.py",
}
ENDING = ".csv.gz"
TIMES = ("min_ms", "median_ms", "runs", "invalid")


@dataclass(frozen=True)
class RecordedTime:
    """A configuration's recorded time: the minimum and the median of its runs [s], or why it has no time."""

    configuration: Mapping[str, int]
    seconds: float | None
    median_s: float | None
    runs: int
    invalid: str


@cache
def space(name: str, fixed: bool = False) -> Space:
    """Return a space by its name in :data:`SIZES`: configurations, restrictions, and ``build(**configuration)``.

    With `fixed` the kernels have the recorded sizes and no parameters. Counts by sub-groups are then faster: a formula
    in the sizes takes up to 8 s where guards cut through sub-groups.
    """
    found = load_kernel_file(FILES[name]).space
    if found is None:
        raise ValueError(f"{FILES[name]} has no space()")
    return replace(found, build=partial(_at_sizes, found.build, SIZES[name])) if fixed else found


def _at_sizes(build: Callable[..., TranslationUnit], sizes: Mapping[str, int], **configuration: int) -> TranslationUnit:
    return lp.fix_parameters(build(**configuration), **sizes)


def cards(name: str) -> tuple[str, ...]:
    """Return the cards on which a space was recorded.

    >>> cards("dedispersion")
    ('a4000', 'a6000', 'w6600')
    """
    other = tuple(f"{longer}-" for longer in SIZES if longer.startswith(f"{name}-"))
    names = sorted(path.name.removesuffix(ENDING) for path in (FOLDER / "times").glob(f"{name}-*{ENDING}"))
    return tuple(found.removeprefix(f"{name}-") for found in names if not found.startswith(other))


def facts_of(card: str) -> DeviceFacts:
    """Return the published facts of a card.

    >>> facts_of("a4000").name
    'NVIDIA RTX A4000'
    """
    return published(card if card in published_devices() else f"rtx-{card}")


def recorded(name: str, card: str) -> tuple[RecordedTime, ...]:
    """Return the recorded times of all configurations of a space on a card, in the order of the file."""
    if card not in cards(name):
        raise LookupError(f"{name} was recorded on {', '.join(cards(name)) or 'no card'}, and not on {card}")
    path = FOLDER / "times" / f"{name}-{card}{ENDING}"
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        return tuple(map(_row, csv.DictReader(lines)))


def _row(cells: Mapping[str, str]) -> RecordedTime:
    configuration = {key: int(cell) for key, cell in cells.items() if key not in TIMES}
    least, median = (float(cells[key]) / 1e3 if cells[key] else None for key in ("min_ms", "median_ms"))
    return RecordedTime(configuration, least, median, int(cells["runs"]), cells["invalid"])
