"""Weights of one card on another by facts, held against recorded times: the predictions, their errors, and a table.

Times: whole search spaces of Kernel Tuner's users (``test_kernels/recorded``), an equal number of rows of each space on
the TITAN V, and the simulated GTX 480. Weights are of the TITAN V, and on the TITAN V of the simulated card.
No time of a card helps to predict that card. :func:`predict_cards` is slow, since it counts the kernels; all else works
from the rows that it returns, which ``docs/data/transfers.csv.gz`` keeps.
"""

from __future__ import annotations

import csv
import gzip
import io
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from pathlib import Path
from random import Random

import numpy as np

from perfmodel.compare import Comparison, summarise
from perfmodel.compare.comparison import Figures
from perfmodel.counts import KernelCounts, count
from perfmodel.counts.tables import tabulate
from perfmodel.documents import json_text
from perfmodel.errors import PerfModelError
from perfmodel.facts import DeviceFacts, Fact, published
from perfmodel.fitting.conformal import Conformal
from perfmodel.fitting.selection import VariantErrors, estimate_scatter
from perfmodel.io import write_whole
from perfmodel.predicting.model import FittedModel, load
from perfmodel.predicting.transfer import ERRORS_FILE, TransferErrors, transferred, vendor
from perfmodel.store import read
from scripts.lab.markdown import below_marker, markdown_table
from test_kernels import recorded

BEGIN = "<!-- what follows is drawn by scripts/redraw transfers -->"
FAMILIES = ("multithreaded", "stevens_kloeckner_2016", "overlap", "roofline")
TITAN_V, GTX_480 = "titan-v", "gtx-480-simulated"
FOLDERS: Mapping[str, str] = {TITAN_V: "nvidia-titan-v", GTX_480: "gpgpu-sim-gtx480"}
SAMPLED = 100  # configurations of each space
FEW = 4  # rows of each space on the TITAN V
TABLE = "table of "
QUANTILES = 25  # of the errors on each card

#: A fact of the simulated card that its own fits do without: its float64 kernels run faster.
SIMULATED: Mapping[str, Fact] = {
    "peak_flops_float64": Fact(1.681e11, "operation/s", "NVIDIA's specification: an eighth of float32"),
}


@dataclass(frozen=True)
class Row:
    """A recorded time [s] of one configuration on a card, and what transferred weights of each family predict [s]."""

    card: str
    space: str
    configuration: str
    seconds: float
    predicted: Mapping[str, float] = field(default_factory=dict)  # NaN if a family withholds it


@dataclass(frozen=True, eq=False)
class Kernel:
    """A configuration to predict: its row, its sizes, and a function from a sub-group size to its counts."""

    row: Row
    sizes: Mapping[str, int]
    counts: Callable[[int], KernelCounts]


# {{{ kernels and their predictions

def cards() -> tuple[str, ...]:
    """Return all cards with recorded times."""
    tuned = {card for space in recorded.SIZES for card in recorded.cards(space)}
    return (TITAN_V, GTX_480, *sorted(tuned))


@cache
def facts_of(card: str, folders: Path) -> DeviceFacts:
    """Return the facts of a card."""
    if card in FOLDERS:
        known = read(folders / FOLDERS[card]).facts or published(card)
        return known.updated(SIMULATED) if card == GTX_480 else known
    return recorded.facts_of(card)


def kernels_of(card: str, folders: Path, most: int = SAMPLED) -> Iterator[Kernel]:
    """Yield kernels with a recorded time on a card: the same ones on all cards of a space, where they have a time."""
    if card in FOLDERS:
        yield from _stored(card, folders, most)
        return
    for name in recorded.SIZES:
        if card in recorded.cards(name):
            for one in sampled(recorded.recorded(name, card), most):
                row = Row(card, name, _text(one.configuration), one.seconds or math.nan)
                counts = partial(counts_of, name, tuple(one.configuration.items()))
                yield Kernel(row, {}, counts)


@lru_cache(maxsize=2)
def counts_of(space: str, configuration: tuple[tuple[str, int], ...], lanes: int) -> KernelCounts:
    """Return the counts of a configuration; several cards ask for them one after the other."""
    return count(recorded.space(space, fixed=True).build(**dict(configuration)), lanes)


def sampled(rows: Sequence[recorded.RecordedTime], most: int) -> list[recorded.RecordedTime]:
    """Return at most so many rows with a time, the same configurations whatever card they are of."""
    order = sorted(rows, key=lambda row: Random(_text(row.configuration)).random())
    return [row for row in order if row.seconds][:most]


def _stored(card: str, folders: Path, most: int) -> Iterator[Kernel]:
    """Yield rows of a store; on the TITAN V few of each space, as it has many."""
    store = read(folders / FOLDERS[card])
    few, taken = (FEW if card == TITAN_V else most), Counter[str]()
    for measured in sorted(store, key=lambda row: Random(f"{row.kernel}{row.variant}{row.parameters}").random()):
        space = f"{measured.kernel} {_text(measured.parameters)}"
        taken[space] += 1
        if taken[space] <= few:
            counts = partial(recounted, store.counts[measured.counts_hash])
            row = Row(card, space, repr(sorted(measured.variant.items())), measured.median)
            yield Kernel(row, measured.parameters, counts)


def recounted(counts: KernelCounts, lanes: int) -> KernelCounts:
    """Return the counts for sub-groups of another size."""
    if counts.subgroup_size == lanes:
        return counts
    return tabulate(counts.program, lanes, counts.launch, counts.budget)


def _text(configuration: Mapping[str, object]) -> str:
    return " ".join(f"{key}={value}" for key, value in sorted(configuration.items()))


def models_for(card: str, folders: Path, families: Iterable[str] = FAMILIES) -> dict[str, FittedModel]:
    """Return the models of a card by facts, with weights of the TITAN V, on the TITAN V of the simulated card."""
    source = GTX_480 if card == TITAN_V else TITAN_V
    known, target = facts_of(source, folders), facts_of(card, folders)
    paths = {name: folders / FOLDERS[source] / f"{name}.json" for name in families}
    return {
        name: transferred(replace(load(path), facts=known), target) for name, path in paths.items() if path.is_file()
    }


def predict_cards(
    folders: Path, wanted: Iterable[str] | None = None, most: int = SAMPLED, families: Iterable[str] = FAMILIES,
    report: Callable[[str], None] = print,
) -> Iterator[Row]:  # fmt: skip
    """Yield all rows with each family's predictions; `folders` are the devices' folders."""
    models = {card: models_for(card, folders, families) for card in (cards() if wanted is None else wanted)}
    kernels = [kernel for card in models for kernel in kernels_of(card, folders, most)]
    kernels.sort(key=lambda kernel: (kernel.row.space, kernel.row.configuration))  # one is counted for several cards
    for number, kernel in enumerate(kernels):
        if number % 100 == 0:
            report(f"{number} of {len(kernels)} kernels are predicted")
        yield replace(kernel.row, predicted=_predicted(kernel, models[kernel.row.card]))


def _predicted(kernel: Kernel, models: Mapping[str, FittedModel]) -> dict[str, float]:
    found = dict.fromkeys(models, math.nan)
    try:
        counts = kernel.counts(next(iter(models.values())).fitted.subgroup_size)
    except PerfModelError:
        return found
    for name, model in models.items():
        try:
            found[name] = float(model.predict(counts, kernel.sizes).seconds)
        except PerfModelError:  # a feature without a weight, or a walk that takes too long: it stays withheld
            continue
    return found


# }}}

# {{{ the file of rows

def write_rows(rows: Iterable[Row], path: Path) -> None:
    """Write rows as compressed CSV."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(("card", "space", "configuration", "seconds", *FAMILIES))
    for row in rows:
        times = (f"{row.predicted.get(name, math.nan):.6g}" for name in FAMILIES)
        table.writerow((row.card, row.space, row.configuration, f"{row.seconds:.6g}", *times))
    path.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))


def read_rows(path: Path) -> tuple[Row, ...]:
    """Read the rows that :func:`write_rows` wrote."""
    lines = csv.DictReader(io.StringIO(gzip.decompress(path.read_bytes()).decode()))
    return tuple(
        Row(line["card"], line["space"], line["configuration"], float(line["seconds"]),
            {name: float(line[name]) for name in FAMILIES})
        for line in lines
    )  # fmt: skip


# }}}

# {{{ errors, for intervals

def errors_by_family(rows: Sequence[Row], foreign: Collection[str] = ()) -> dict[str, TransferErrors]:
    """Return for each family how far transferred weights are off, each card a group; `foreign` have another vendor."""
    return {name: errors for name in FAMILIES if (errors := errors_of(rows, name, foreign)) is not None}


def errors_of(rows: Sequence[Row], family: str, foreign: Collection[str] = ()) -> TransferErrors | None:
    """Return the error of a family's transferred weights; None if it predicts no row."""
    scores: list[float] = []
    groups: list[str] = []
    cells: list[VariantErrors] = []
    known = [row for row in rows if row.predicted.get(family, math.nan) > 0]
    for card, of_card in grouped(known, lambda row: row.card).items():
        off = [abs(math.log(row.seconds / row.predicted[family])) for row in of_card]
        levels = (np.arange(QUANTILES) + 0.5) / QUANTILES
        scores += np.quantile(off, levels).round(4).tolist()
        groups += [card] * QUANTILES
        for space, variants in grouped(of_card, lambda row: row.space).items():
            times, predicted = (np.log([v.seconds for v in variants]), np.log([v.predicted[family] for v in variants]))
            if len(variants) > 1:
                cells.append(VariantErrors(f"{card} {space}", card, times, times - predicted))
    if not known:
        return None
    return TransferErrors(
        conformal=Conformal(scores=tuple(scores), groups=tuple(groups)), scatter=estimate_scatter(cells),
        foreign=tuple(sorted({*groups} & {*foreign})),
    )  # fmt: skip


def grouped(rows: Iterable[Row], key: Callable[[Row], str]) -> dict[str, list[Row]]:
    """Return rows by a key, in the order in which the keys first occur."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[key(row)].append(row)
    return found


# }}}

# {{{ the table

@dataclass(frozen=True)
class Prior:
    """The figures of a space on a card by a prior; a table's times are of another card, and have no factor."""

    card: str
    space: str
    prior: str
    figures: Figures

    @property
    def cells(self) -> tuple[str, ...]:
        """Its row of the table."""
        f = self.figures
        factor = "-" if self.prior.startswith(TABLE) else f"{f.factor:.2f}"
        choices = (f"{f.tau:.2f}", f"{f.top1:.0%}", f"{f.regret:.2f}", f"{f.random_regret:.2f}")
        return (self.card, self.space, self.prior, factor, *choices)


def priors(rows: Sequence[Row]) -> Iterator[Prior]:
    """Yield for each card and space each family by facts, and each other card's recorded table."""
    spaces = {place: _only(of) for place, of in _places(rows).items()}
    for (card, space), choices in spaces.items():
        for family in FAMILIES:
            yield from _by_family(card, space, family, choices)
        for (other, same), others in spaces.items():
            if same == space and other != card and card not in FOLDERS:
                times = {row.configuration: row.seconds for row in others[0]}
                figures = _figures((row, times.get(row.configuration)) for row in choices[0])
                yield Prior(card, space, f"{TABLE}{other}", figures)


def _places(rows: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    """Return rows by card and space; the spaces of a measured device together."""
    found: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        found[row.card, "all" if row.card in FOLDERS else row.space].append(row)
    return found


def _only(rows: Sequence[Row]) -> list[list[Row]]:
    return [variants for variants in grouped(rows, lambda row: row.space).values() if len(variants) > 1]


def _by_family(card: str, space: str, family: str, choices: Sequence[Sequence[Row]]) -> Iterator[Prior]:
    known = (row for rows in choices for row in rows if row.predicted.get(family, math.nan) > 0)
    figures = _figures((row, row.predicted[family]) for row in known)
    if figures.choices:
        yield Prior(card, space, f"`{family}` of {GTX_480 if card == TITAN_V else TITAN_V}", figures)


def _figures(predicted: Iterable[tuple[Row, float | None]]) -> Figures:
    return summarise([Comparison(row.space, {}, row.seconds, seconds) for row, seconds in predicted])


def draw_transfers(
    folders: Path, page: Path, rows_file: Path, errors_file: Path = ERRORS_FILE, most: int = SAMPLED
) -> None:
    """Predict all rows, write them and the errors that intervals rest on, and draw a page's table."""
    write_rows(predict_cards(folders, most=most), rows_file)
    rows = read_rows(rows_file)
    own = vendor(facts_of(TITAN_V, folders))
    foreign = [card for card in cards() if vendor(facts_of(card, folders)) != own]
    errors = {name: value.model_dump(mode="json") for name, value in errors_by_family(rows, foreign).items()}
    write_whole(errors_file, f"{json_text(errors)}\n".encode())
    write_whole(page, below_marker(page.read_text(encoding="utf-8"), BEGIN, [transfers_section(rows)]).encode() + b"\n")


def transfers_section(rows: Sequence[Row]) -> str:
    """Return the table of the page on real GPUs: from which card to which, next to random choice."""
    head = ("card", "space", "by", "factor - 1", "tau", "top-1", "regret", "random regret")
    return markdown_table([head, ("---",) * 3 + ("---:",) * 5, *(prior.cells for prior in priors(rows))])


# }}}
