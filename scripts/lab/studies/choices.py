"""How well each family chooses among the variants that a study measured."""

from __future__ import annotations

import math
from collections import defaultdict
from statistics import fmean
from typing import Any

import numpy as np

from perfmodel.compare.comparison import Choice, Comparison
from perfmodel.display import values_text
from scripts.lab.studies.study import StudyData


def choice_records(data: StudyData) -> list[dict[str, Any]]:
    """Return a record for each family of the device's folder: how well it chooses among the study's variants.

    A choice is between all variants of one kernel class that ran at the same sizes and that the family predicts.
    ``regret`` is the geometric mean over choices of the measured time of the variant predicted fastest over the time of
    the fastest one [1]; ``rank`` the mean place of the truly fastest one in the order of the predictions, 1 where the
    family would choose it; ``tau`` the mean of Kendall's tau-b; ``withheld`` the cases without a prediction, which are
    left out of the choices.
    """
    return [_record(name, data.cases(name), name == data.recommended) for name in data.families]


def _record(family: str, cases: tuple[Comparison, ...], recommended: bool) -> dict[str, Any]:
    jobs: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for row in cases:
        if row.predicted is not None:
            jobs[row.kernel, values_text(row.parameters)].append((row.measured, row.predicted))
    choices = [Choice(*map(tuple, zip(*job, strict=True))) for job in jobs.values() if len(job) > 1]
    known = bool(choices)
    return {
        "family": family,
        "recommended": recommended,
        "choices": len(choices),
        "variants": max((len(one.measured) for one in choices), default=0),
        "regret": math.exp(fmean(math.log(one.regret) for one in choices)) if known else None,
        "rank": fmean(map(rank_of_best, choices)) if known else None,
        "tau": fmean(one.tau for one in choices) if known else None,
        "withheld": sum(row.predicted is None for row in cases),
    }


def rank_of_best(choice: Choice) -> int:
    """Return the place of the truly fastest alternative in the order of the predictions; equal ones share the last.

    Examples
    --------
    >>> rank_of_best(Choice(measured=(3.0, 1.0, 2.0), predicted=(0.5, 0.7, 0.9)))
    2
    """
    predicted = np.array(choice.predicted)
    return int((predicted <= predicted[int(np.argmin(choice.measured))]).sum())
