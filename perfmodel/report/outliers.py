"""Outliers of a model and the terms that disagree, as a table, as CSV and as a document.

:mod:`perfmodel.analyses.outliers` finds them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from perfmodel.analyses.outliers import SPOILED
from perfmodel.analyses.words import term_words
from perfmodel.compare.comparison import withheld_note
from perfmodel.display import csv_text, finite, fitted_text, percent, seconds_text

if TYPE_CHECKING:
    from perfmodel.analyses.outliers import Outlier, Outliers, TermInOutlier
    from perfmodel.predicting.model import FittedModel

SCHEMA = "perfmodel.outliers/1"
HEADER = ("kernel", "variant", "sizes", "measured", "predicted", "factor", "term", "share", "usual", "if it cost",
          "others lost", "disagrees")  # fmt: skip
#: On a narrow terminal these are left out, the first one first.
LESS = ("usual", "share", "predicted", "measured", "others lost", "if it cost", "disagrees", "sizes", "variant", "term")
MOST_TERMS = 3
"""Most terms of an outlier that the table shows."""
COLUMNS = ("kernel", "variant", "sizes", "measured_s", "predicted_s", "factor", "others", "same_kernel", "term",
           "term_s", "share", "usual_share", "term_factor", "spoiled", "disagrees")  # fmt: skip


def outliers_text(found: Outliers, model: FittedModel, width: int | None = None) -> str:
    """Return the outliers as plain text, the worst first, with the terms that disagree, and these in words below.

    Where none disagrees, the term that comes nearest to it stands there. On a narrow terminal the columns of
    :data:`LESS` are left out, the first one first.
    """
    predicted = sum(one.predicted is not None for one in found.cases)
    low, high = (math.exp(one) for one in found.between)
    lines = [
        f"{model.family.name} on {model.device}: {len(found.found)} of {predicted} cases are outliers, predicted below "
        f"{low:.2f} or above {high:.2f} times the measured time"
    ]
    if found.found:
        lines += ["", fitted_text([HEADER, *(row for one in found.found for row in _rows(one))], 3, LESS, width), ""]
        named = dict.fromkeys(term.term for one in found.found for term in _shown(one))
        lines += [f"{name}: {term_words(model.family, name)}" for name in named]
        lines.append(
            "A term disagrees if another cost of it alone gives the measured time ('if it cost'), and at that cost at "
            f"most {SPOILED:.0%} of the well predicted cases would be mispredicted ('others lost')."
        )
    return "\n".join([*lines, *withheld_note(found.cases)])


def _shown(one: Outlier) -> tuple[TermInOutlier, ...]:
    """Return the terms of an outlier that disagree, or the one that comes nearest to it."""
    possible = tuple(term for term in one.terms if term.spoiled is not None)
    return one.disagreeing[:MOST_TERMS] or possible[:1]


def _rows(one: Outlier) -> list[tuple[str, ...]]:
    case, terms = one.case, _shown(one)
    predicted = seconds_text(case.predicted or 0.0)
    head = (case.kernel, case.form, case.sizes, seconds_text(case.measured), predicted, f"{one.factor:.3g}")
    if not terms:
        return [(*head, "-", "-", "-", "-", "-", "-")]
    return [
        (*(head if term is terms[0] else [""] * len(head)), term.term, percent(term.share), percent(term.usual_share),
         f"{term.factor:.3g} times", percent(term.spoiled), "yes" if term.disagrees else "no")
        for term in terms
    ]  # fmt: skip


def outliers_csv(found: Outliers) -> str:
    """Return a row for each term of each outlier as CSV, with :data:`COLUMNS`; one without terms has one row."""
    records: list[dict[str, Any]] = []
    for one in found.found:
        case = one.case
        head = {
            "kernel": case.kernel, "variant": case.form, "sizes": case.sizes, "measured_s": case.measured,
            "predicted_s": case.predicted, "factor": one.factor, "others": one.others, "same_kernel": one.same_kernel,
        }  # fmt: skip
        records += [{**head, **_csv_term(term)} for term in one.terms] or [head]
    return csv_text(COLUMNS, records)


def _csv_term(term: TermInOutlier) -> dict[str, Any]:
    own = _term(term)
    return {"term_s": own.pop("seconds"), "term_factor": own.pop("factor"), **own}


def outliers_document(found: Outliers, model: FittedModel) -> dict[str, Any]:
    """Return the same as one document for programs; NaN becomes null."""
    return {
        "schema": SCHEMA,
        "device": model.device,
        "family": model.family.name,
        "weights": None if model.path is None else str(model.path),
        "cases": len(found.cases),
        "withheld": sum(one.predicted is None for one in found.cases),
        "between": [math.exp(one) for one in found.between],
        "outliers": [
            {
                "kernel": one.case.kernel, "variant": one.case.form, "sizes": one.case.sizes,
                "measured_s": one.case.measured, "predicted_s": finite(one.case.predicted),
                "factor": finite(one.factor), "others": one.others, "same_kernel": one.same_kernel,
                "terms": [_term(term) for term in one.terms],
            }
            for one in found.found
        ],
    }  # fmt: skip


def _term(term: TermInOutlier) -> dict[str, Any]:
    return {
        "term": term.term, "seconds": finite(term.seconds), "share": finite(term.share),
        "usual_share": finite(term.usual_share), "factor": term.factor, "spoiled": term.spoiled,
        "disagrees": term.disagrees,
    }  # fmt: skip
