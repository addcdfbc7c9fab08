"""Claims of Karsin (2018), section 7.1, about a round of merging, next to a measured merge step and its predictions."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

from perfmodel.errors import PerfModelError
from scripts.lab.studies.claim import Claim
from scripts.lab.studies.karsin import SPT
from scripts.lab.studies.sorting import GROUP

if TYPE_CHECKING:
    from perfmodel.compare.comparison import Comparison
    from perfmodel.counts import KernelCounts
    from scripts.lab.studies.study import StudyData

STAGED = "staged"
#: The printed average error of the predicted time (section 7.1.4).
ERROR = 0.0748


def largest(cases: Sequence[Comparison]) -> list[Comparison]:
    """Return the cases of the last round (one pair) with the longest runs that were measured of every variant."""
    sizes: dict[int, list[Comparison]] = defaultdict(list)
    for case in cases:
        if case.parameters["pairs"] == 1:
            sizes[case.parameters["run"]].append(case)
    most = max(map(len, sizes.values()), default=0)
    return sizes[max(run for run, found in sizes.items() if len(found) == most)] if most else []


def round_sums(cases: Sequence[Comparison]) -> list[dict[str, Any]]:
    """Return for each variant and number of elements the sum of its rounds, measured and predicted, as records.

    ``measured_s`` is the time of all rounds from the shortest runs to one [s], ``predicted_s`` its prediction
    (None if one was withheld), ``uneven`` the longest round over the shortest one [1]. Rounds are left out that were
    not measured to the last; the shortest runs have the smallest size.
    """
    shortest = min((case.parameters["run"] for case in cases), default=0)
    sums: dict[tuple[str, int, int], list[Comparison]] = defaultdict(list)
    for case in cases:
        n = 2 * case.parameters["run"] * case.parameters["pairs"]
        sums[case.variant["form"], case.variant["each"], n].append(case)
    found = []
    for (form, each, n), rounds in sorted(sums.items()):
        if 2**len(rounds) * shortest != n or len(rounds) < 2:
            continue
        predicted = [case.predicted for case in rounds]
        measured = [case.measured for case in rounds]
        found.append({
            "form": form, "each": each, "elements": n, "rounds": len(rounds), "measured_s": sum(measured),
            "predicted_s": None if None in predicted else sum(one for one in predicted if one is not None),
            "uneven": max(measured) / min(measured),
        })  # fmt: skip
    return found


def device_claims(data: StudyData) -> tuple[Claim, ...]:
    """Return the claims that the measured merge step decides; of those that nothing measured decides, why not.

    The dissertation's model judges its predictions. Without weights of it nothing is predicted.
    """
    cases = list(data.cases(SPT) if SPT in data.families else (replace(case, predicted=None) for case in data.cases()))
    last = largest(cases)
    if not last:
        return (Claim("7.1.4", "the model predicts a round of merging", "nothing was measured here", None),)
    return (
        _choice(last), _error(data, cases), _more_each(last), _uneven(cases), _accesses(data), _global(data, last)
    )  # fmt: skip


def _choice(last: Sequence[Comparison]) -> Claim:
    claim = "Fig. 7.1", "the model finds the E with which merging is fastest"
    known = [case for case in last if case.predicted is not None]
    if len(known) < 2:
        return Claim(*claim, f"`{SPT}` predicts {len(known)} of {len(last)} variants", None)
    best, chosen = min(last, key=lambda case: case.measured), min(known, key=lambda case: case.predicted or math.inf)
    regret = chosen.measured / best.measured
    return Claim(
        *claim, f"of {len(last)} variants {_words(best)} is fastest; `{SPT}` chooses {_words(chosen)}, "
        f"which takes {regret:.2f} times as long (to agree is at most 1.1)", regret <= 1.1,
    )  # fmt: skip


def _words(case: Comparison) -> str:
    return f"E = {case.variant['each']} ({case.variant['form']})"


def _error(data: StudyData, cases: Sequence[Comparison]) -> Claim:
    errors = {SPT: _error_of(cases), data.recommended: _error_of(list(data.cases()))}
    words = [
        f"`{name}` {found[0]:.0%} (measured is {found[1]:.1f} times predicted; after this factor {found[2]:.0%})"
        for name, found in errors.items() if found
    ]  # fmt: skip
    own = errors[SPT]
    return Claim(
        "7.1.4", f"the average error of the predicted time is {ERROR:.2%}",
        "of a round: " + ("; ".join(words) or "all predictions were withheld"),
        None if own is None else own[0] <= ERROR,
    )  # fmt: skip


def _error_of(cases: Sequence[Comparison]) -> tuple[float, float, float] | None:
    """Return the mean error [1], the factor between measured and predicted times [1], and the mean error after it."""
    both = [(case.measured, case.predicted) for case in cases if case.predicted]
    if not both:
        return None
    factor = math.exp(fmean(math.log(measured / predicted) for measured, predicted in both))
    return (
        fmean(abs(predicted / measured - 1) for measured, predicted in both), factor,
        fmean(abs(factor * predicted / measured - 1) for measured, predicted in both),
    )  # fmt: skip


def _more_each(last: Sequence[Comparison]) -> Claim:
    claim = "Fig. 7.3", "twice MGPU's E is significantly faster: E = 31 than E = 15"
    staged = {case.variant["each"]: case for case in last if case.variant["form"] == STAGED}
    if not {15, 30} <= set(staged):
        return Claim(*claim, "E = 15 and E = 30 were not both measured here", None)
    gain = staged[15].measured / staged[30].measured - 1
    few, many = staged[15].predicted, staged[30].predicted
    said = "" if not few or not many else f", predicted {few / many - 1:+.0%}"
    return Claim(*claim, f"E = 30 and 15, staged: measured {gain:+.0%}{said} (to agree is at least 5 %)", gain >= 0.05)


def _uneven(cases: Sequence[Comparison]) -> Claim:
    claim = "7.1.2", "all rounds take the same time but for the partition search, and the sort takes their sum"
    sums = [one for one in round_sums(cases) if one["form"] == STAGED]
    if not sums:
        return Claim(*claim, "no sort has two measured rounds here", None)
    one = min(sums, key=lambda one: (-one["elements"], abs(one["each"] - 15)))
    predicted = "withheld" if one["predicted_s"] is None else f"{one['predicted_s'] * 1e3:.2f} ms"
    return Claim(
        *claim, f"{one['rounds']} rounds that sort {one['elements']} elements, staged with E = {one['each']}: the "
        f"longest takes {one['uneven']:.2f} times the shortest (to agree is at most 1.15); together "
        f"{one['measured_s'] * 1e3:.2f} ms, predicted {predicted}", one["uneven"] <= 1.15,
    )  # fmt: skip


def accesses(counts: KernelCounts, parameters: Mapping[str, int]) -> tuple[float, float]:
    """Return the counted accesses to global and to local memory for each element of a round [1]."""
    n = 2 * parameters["run"] * parameters["pairs"]
    found = (float(counts.accesses(space)(**parameters)) / n for space in ("global", "local"))
    return next(found), next(found)


def _accesses(data: StudyData) -> Claim:
    claim = "7.1.2", "a round accesses global memory twice for each element, and shared memory 2 + log(bE)/E times"
    rows = [row for row in data.measured or () if row.variant["form"] == STAGED]
    if not rows or data.measured is None:
        return Claim(*claim, "the staged form was not measured here", None)
    row = min(rows, key=lambda row: (abs(row.variant["each"] - 15), -row.parameters["run"]))
    each = row.variant["each"]
    found = accesses(data.measured.counts[row.counts_hash], row.parameters)
    printed = 2 + math.ceil(math.log2(GROUP * each)) / each
    return Claim(
        *claim, f"the staged kernel with E = {each} has {found[0]:.2f} and {found[1]:.2f}, where the formula gives 2 "
        f"and {printed:.2f}: it leaves out one more write to and read from shared memory of each element, and that a "
        "step of a search compares two of them",
        all(abs(a / b - 1) < 0.05 for a, b in zip(found, (2, printed), strict=True)), measured=False,
    )  # fmt: skip


def _global(data: StudyData, last: Sequence[Comparison]) -> Claim:
    claim = "7.1.4", "global memory takes 65 to 80 % of the time"
    staged = [case for case in last if case.variant["form"] == STAGED]
    if not staged or SPT not in data.families or data.measured is None:
        return Claim(*claim, "the staged form was not measured here, or the throughput model has no weights", None)
    case = min(staged, key=lambda case: abs(case.variant["each"] - 30))
    row = next(row for row in data.measured if (row.variant, row.parameters) == (case.variant, case.parameters))
    sizes: dict[str, Any] = dict(row.parameters)
    try:
        terms = data.model(SPT).predict(data.measured.counts[row.counts_hash], **sizes).terms
    except PerfModelError as error:
        return Claim(*claim, f"no prediction: {error}", None)
    total = sum(map(float, terms.values()))
    parts = ", ".join(f"{name} {float(value) / total:.0%}" for name, value in terms.items() if value > 0.005 * total)
    share = float(terms.get("memory", 0.0)) / total
    return Claim(
        *claim, f"the fitted throughput model gives the staged kernel with E = {case.variant['each']}: {parts} (to "
        "agree is to be within one point)",
        0.64 <= share <= 0.81,
    )  # fmt: skip
