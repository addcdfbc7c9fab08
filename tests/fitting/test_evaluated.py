"""Rows evaluated for several families together: the values, and so the fits, are those of each family by itself."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from perfmodel.counts import KernelCounts
from perfmodel.errors import FactsError
from perfmodel.facts import Fact
from perfmodel.fitting import FamilyFits, build_design, evaluated
from perfmodel.fitting.evaluated import Evaluated, evaluate_together, evaluated_in_processes, joined
from perfmodel.models import Family, find_family
from perfmodel.progress import Silent
from perfmodel.quantities.case import Case
from tests.fitting.test_family_fits import CHOOSING as FAMILY, KNOWN, measured, quantities
from tests.standins import Rows

LINEAR = find_family("stevens_kloeckner_2016")


@dataclass(frozen=True)
class Stored(Rows):
    counts_documents: Mapping[str, Any] = field(default_factory=dict)


@cache
def rows() -> Stored:
    """Some rows whose counts are there as JSON too."""
    found = measured(0.5, 2.0)
    some = found.rows[::24]
    documents = {row.counts_hash: found.counts[row.counts_hash].to_json() for row in some}
    return Stored(some, found.counts, facts=found.facts, counts_documents=documents)


def halves(*families: Family) -> Evaluated:
    parts = (list(rows())[place::2] for place in (0, 1))
    return joined(evaluate_together(rows(), families, part) for part in parts)


@pytest.mark.parametrize("family", [LINEAR, FAMILY], ids=lambda family: family.name)
def test_facts_are_chosen_and_designs_made_from_values_of_parts_of_the_rows(family: Family) -> None:
    alone, together = FamilyFits(rows(), family), FamilyFits(rows(), family, evaluate=halves(LINEAR, FAMILY))
    assert alone.known.facts == together.known.facts
    for name in ("names", "matrix", "private", "subgroup_size"):
        assert np.array_equal(getattr(alone.design, name), getattr(together.design, name))


def test_counts_are_read_once_and_quantities_evaluated_for_each_fact_that_they_may_depend_on() -> None:
    evaluated: Counter[tuple[object, ...]] = Counter()
    kept: set[KernelCounts] = set()

    def noted(case: Case) -> dict[str, object]:
        evaluated[(case.counts.hash, *sorted(case.parameters.items()), case.known("pace"))] += 1
        kept.add(case.counts)
        return quantities(case)

    family = replace(FAMILY, quantities=noted)
    values = evaluate_together(rows(), (family, replace(family, name="again")))
    paces = FAMILY.choices["pace"]
    places = {(row.counts_hash, *sorted(row.parameters.items())) for row in rows()}
    assert dict.fromkeys([(*place, pace) for place in places for pace in paces], 2) == evaluated
    assert len({row.counts_hash for row in rows()}) == len(kept)
    FamilyFits(rows(), family, evaluate=values).design  # noqa: B018 -- is made
    assert 2 * len(paces) * len(places) == evaluated.total()


def test_a_family_that_lacks_a_fact_says_so_when_it_is_fitted() -> None:
    needy = replace(FAMILY, quantities=lambda case: {**quantities(case), "work": case.fact("banks")})
    evaluated = evaluate_together(rows(), (needy, LINEAR))
    with pytest.raises(FactsError, match="banks"):
        build_design(rows(), needy, evaluate=evaluated)
    caught = replace(rows(), facts=KNOWN.updated({"pace": Fact(1.0, "", "told"), "banks": Fact(4, "", "told")}))
    assert len(caught.rows) == len(build_design(caught, needy, evaluate=evaluated).times)


@pytest.mark.nightly
def test_processes_evaluate_what_one_evaluates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluated, "KERNELS", 1)
    alone, spread = evaluate_together(rows(), [LINEAR]), evaluated_in_processes([rows()], [LINEAR], Silent())
    assert spread is not None
    assert alone.values == spread.values


def test_few_kernels_are_evaluated_by_whoever_needs_them() -> None:
    assert evaluated_in_processes([rows()], [LINEAR], Silent()) is None
