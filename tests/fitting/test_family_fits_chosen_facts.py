"""Facts that a fit chooses: the candidate from which the times were made is found again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from perfmodel.facts import DeviceFacts, Fact
from perfmodel.fitting.family_fits import SOURCE, FamilyFits
from perfmodel.models import Family
from perfmodel.models.model import Weight
from perfmodel.quantities.case import Case
from tests.contract import kernels

KNOWN = DeviceFacts("made up", "none", "0", (("compute_units", Fact(4, "", "by hand")),))


def quantities(case: Case) -> dict[str, object]:
    """Work, and groups to the power of the fact ``pace``."""
    return {"work": case.total("op_*") + 1.0, "crowd": case.total("work_groups") ** float(case.known("pace", 1.0))}


FAMILY = Family(
    "toy", "nowhere", quantities=quantities, units={"work": "operation", "crowd": "work-group"},
    weights=(
        Weight("w_work", "s/operation", start=None), Weight("w_crowd", "s/work-group", start=None),
        Weight("w_sharpness", "", start=2.0, fact="resource_sharpness"),
    ),
    expression="smooth_max(w_work*work, w_crowd*crowd, w_sharpness)", additive=False,
    resources={"left": ("work",), "right": ("crowd",)},
    choices={"pace": (0.5, 1.0, 1.5), "resource_sharpness": (1.0, 2.0, 5.0)},
)  # fmt: skip


def measured(pace: float, sharpness: float):
    rows = []
    for row in kernels():
        found = quantities(Case(kernels().counts[row.counts_hash], row.parameters, DeviceFacts.from_mapping(
            "made up", "none", "0", {"pace": Fact(pace, "", "given")},
        )))  # fmt: skip
        left, right = 1e-9 * np.array(found["work"]), 2e-8 * np.array(found["crowd"])
        rows.append(replace(row, seconds=float((left**sharpness + right**sharpness) ** (1 / sharpness))))
    return replace(kernels(), rows=tuple(rows), facts=KNOWN)


@pytest.mark.parametrize(("pace", "sharpness"), [(0.5, 5.0), (1.5, 1.0), (1.0, 2.0)])
def test_the_candidate_that_made_the_times_is_chosen(pace: float, sharpness: float) -> None:
    found = FamilyFits(measured(pace, sharpness), FAMILY).known.facts
    assert (pace, sharpness) == (found.value("pace"), found.value("resource_sharpness"))
    assert SOURCE == found.fact("pace").source
    assert 4 == found.value("compute_units")


def test_what_is_known_is_not_chosen() -> None:
    rows = measured(0.5, 2.0)
    caught = replace(rows, facts=KNOWN.updated({"pace": Fact(1.5, "", "by hand")}))
    found = FamilyFits(caught, FAMILY).known.facts
    assert (1.5, "by hand") == (found.value("pace"), found.fact("pace").source)
    assert "resource_sharpness" in found


def test_one_group_cannot_be_left_out_and_the_first_candidates_are_taken() -> None:
    rows = measured(1.5, 5.0)
    single = replace(rows, rows=tuple(replace(row, group="one") for row in rows.rows))
    found = FamilyFits(single, FAMILY).known.facts
    assert (0.5, 1.0) == (found.value("pace"), found.value("resource_sharpness"))
