"""How every family predicts the rows that others recorded on a GPU, and which traits of a launch go with its errors.

No device is needed. Quantities take most of the time. Processes first evaluate all families at parts of the rows, then
fit one family each to these values.
"""

from __future__ import annotations

import gc
import math
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from statistics import mean
from typing import TypeAlias

from perfmodel.compare import Comparison
from perfmodel.compare.comparison import Figures, summarise
from perfmodel.compare.contenders import Contender, Contenders, contender_of, on_common_cases
from perfmodel.compare.protocols import FOLDS
from perfmodel.fitting.device_folder import recorded_folder
from perfmodel.fitting.evaluated import Evaluated, evaluate_together, joined, read_in_turn
from perfmodel.fitting.family_fits import FamilyFits
from perfmodel.fitting.weights_file import FitOptions
from perfmodel.models import families, find_family
from perfmodel.quantities.case import Case, items_per_group, launched
from perfmodel.store import Measurements

STRICT = "groups"
"""The protocol whose predictions are examined."""
PARTS = 24
"""How many parts of the rows are evaluated by themselves, so that no process waits long for another."""
LEAST = 5
"""Fewest rows of a space whose errors are held against traits."""
CaseKey: TypeAlias = tuple[str, str, str]
Traits: TypeAlias = Mapping[CaseKey, Mapping[str, float]]


@dataclass(frozen=True)
class Recorded:
    """All families on a device's recorded rows, and traits of each row's launch."""

    contenders: Contenders
    traits: Traits

    @property
    def judged(self) -> tuple[Contender, ...]:
        """The families that could be fitted, the one with the smallest regret first."""
        return tuple(sorted(self.contenders.judged, key=lambda one: one.figures(STRICT).regret))

    @property
    def random(self) -> Figures:
        """Figures of the common cases, and of a random choice."""
        return self.judged[0].figures(STRICT)


def _of_family(evaluated: Evaluated, name: str) -> Evaluated:
    return Evaluated({key: rows for key, rows in evaluated.values.items() if key[0] == name})


def study(folder: Path, names: Sequence[str] = (), jobs: int = 2) -> Iterator[str | Recorded]:
    """Judge families, all by default, on a folder's rows in so many processes; yield their names, then the study."""
    chosen = sorted(names or families())
    with ProcessPoolExecutor(jobs, get_context("spawn"), _read_once, (folder,)) as pool:
        futures = [pool.submit(evaluate_part, folder, chosen, part) for part in range(PARTS)]
        parts, traits = zip(*(future.result() for future in futures), strict=True)
        evaluated = joined(parts)
        judged = [pool.submit(judge, folder, name, _of_family(evaluated, name)) for name in chosen]
        for future in judged:
            one = future.result()
            yield f"{one.family}: {one.problem}" if one.problem else one.family
        yield Recorded(on_common_cases(future.result() for future in judged), dict(ChainMap(*traits)))


def evaluate_part(folder: Path, names: Sequence[str], part: int) -> tuple[Evaluated, Traits]:
    """Return the values by families, and the traits, of every :data:`PARTS`-th row of a folder, from row `part` on."""
    measured = _measured(folder)
    rows = list(measured)[part::PARTS]
    traits = {
        key_of(Comparison.of(row, None, (), None)): traits_of(Case(counts, row.parameters, measured.facts, "mwp_cwp"))
        for counts, row in read_in_turn(measured, rows)
    }
    return evaluate_together(measured, names, rows), traits


def judge(folder: Path, name: str, evaluated: Evaluated) -> Contender:
    """Judge one family on a folder's recorded rows."""
    fits = FamilyFits(_measured(folder), find_family(name), FitOptions(), None, FOLDS, evaluated)
    return contender_of(fits)


@cache
def _measured(folder: Path) -> Measurements:
    return recorded_folder(folder)[0]


def _read_once(folder: Path) -> None:
    """Read a folder's rows for all that a process does; garbage collections then visit them no more."""
    _measured(folder)
    gc.freeze()


def key_of(row: Comparison) -> CaseKey:
    """Return the key of a case."""
    return row.kernel, row.form, row.sizes


def traits_of(case: Case) -> dict[str, float]:
    """Return traits of a launch; warps and units are counted as by Wang and Lou (2017)."""
    counts, launch = case.counts, case.counts.launch
    warp, (items, subgroups) = families()["mwp_cwp"].values(case), launched(case)
    accesses = sum(case.value(counts.accesses(array=name, granularity="subgroup")) for name in _local_arrays(case))
    passes = sum(case.value(counts.bank_conflicts(name, int(case.fact("banks")))) for name in _local_arrays(case))
    return {
        "work-items in a group": items_per_group(case),
        "idle lanes": 1 - float(items / (subgroups * counts.subgroup_size)),
        "rounds of groups": float(warp["rounds"]),
        "warps held": float(warp["warps"]),
        "local memory of a group [B]": float(launch.local_bytes),
        "private memory of a work-item [B]": float(launch.private_bytes),
        "instructions of a work-item": float(warp["insts"]),
        "instructions in all": float(warp["insts"] * items),
        "global accesses in all": float(warp["mem_insts"] * items),
        "transactions of an access": float(1 + warp["uncoalesced"] * warp["more_per_mw"]),
        "passes of a local access": float(passes / accesses) if accesses else 1.0,
        "barriers of a work-item": float(case.total("barrier_local") / items),
    }


def _local_arrays(case: Case) -> list[str]:
    return sorted({row.array for row in case.counts.access_table if row.space == "local"})


# {{{ views of the predictions

def by_space(rows: Sequence[Comparison]) -> dict[str, list[Comparison]]:
    """Return predicted rows by the choice that they belong to."""
    spaces: dict[str, list[Comparison]] = {}
    for row in rows:
        if row.predicted is not None:
            spaces.setdefault(f"{row.kernel} {row.sizes}".strip(), []).append(row)
    return spaces


def by_transform(rows: Sequence[Comparison]) -> dict[str, list[Comparison]]:
    """Return rows by the part of their kernel's name before the colon."""
    transforms: dict[str, list[Comparison]] = {}
    for row in sorted(rows, key=lambda row: row.kernel):
        transforms.setdefault(row.kernel.partition(":")[0], []).append(row)
    return transforms


def figures_by(spaces: Mapping[str, Sequence[Comparison]]) -> dict[str, Figures]:
    """Return the figures of each part of the rows that has a choice."""
    found = {name: summarise(rows) for name, rows in spaces.items()}
    return {name: figures for name, figures in found.items() if figures.choices}


def missed(rows: Sequence[Comparison], traits: Traits) -> dict[str, float]:
    """Return for each trait how it goes with measured over predicted time within spaces.

    It is the mean over spaces of Spearman's rank correlation: above zero where predictions are too short for large
    values of the trait. Spaces with fewer than :data:`LEAST` rows, and those in which the trait is constant, do not
    count; NaN if none counts.
    """
    from scipy.stats import spearmanr

    found: dict[str, list[float]] = {}
    for space in by_space(rows).values():
        own = _ratios(space)
        if len(own) < LEAST or len({ratio for _, ratio in own}) == 1:
            continue
        errors = [ratio for _, ratio in own]
        for trait in next(iter(traits.values())):
            values = [traits[key_of(row)][trait] for row, _ in own]
            if len(set(values)) > 1:
                found.setdefault(trait, []).append(float(spearmanr(values, errors).statistic))
    return {trait: mean(found[trait]) if trait in found else math.nan for trait in next(iter(traits.values()))}


def _ratios(rows: Sequence[Comparison]) -> list[tuple[Comparison, float]]:
    """Return rows that are predicted above zero, each with its measured over its predicted time."""
    return [(row, row.measured / row.predicted) for row in rows if row.predicted is not None and row.predicted > 0]

# }}}
