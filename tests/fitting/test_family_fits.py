"""One design for a fit, its cross-fits and its evaluation; facts that it chooses, rows left out, and samples."""

import math
from dataclasses import replace

import numpy as np
import pytest

from perfmodel import features
from perfmodel.compare import evaluate
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.fitting import FamilyFits, FitOptions, fit_linear
from perfmodel.fitting.conformal import fit_local_scale
from perfmodel.fitting.family_fits import SOURCE, Refits, dealt, error_of_kernels
from perfmodel.fitting.selection import difference_quantile
from perfmodel.models import Family, find_family
from perfmodel.models.model import Weight
from perfmodel.predicting.model import fit
from perfmodel.quantities.case import Case
from tests.contract import kernels
from tests.fitting import by_hand
from tests.fitting.test_weights_file import KERNELS, measurements
from tests.fitting.toy_design import TOY, table
from tests.standins import Rows

FAMILY = find_family("stevens_kloeckner_2016")
#: For each kernel the relative difference of its visits; its times are wrong by as much.
DEVIATION = {"empty": 0.0, "add": 0.3, "load": 0.01, "tile": 0.1}


def noisy() -> Rows:
    """Rows wrong by up to a third."""
    rows = []
    for i, row in enumerate(measurements().rows):
        time, spread = row.seconds * (1 + DEVIATION[row.kernel] * math.sin(i + 1)), DEVIATION[row.kernel]
        rows.append(replace(row, seconds=time, kept_s=(time,), disagreement=spread, group=f"g{i % 4}"))
    return Rows(tuple(rows), KERNELS)


def expected_weights(rows) -> np.ndarray:
    return np.array([(0.05 / max(DEVIATION[row.kernel], 0.05)) ** 2 for row in rows])


def predict_by_hand(seen, unseen, weights) -> np.ndarray:
    """Times of rows by a fit to others."""
    values = [features.evaluate(KERNELS[row.counts_hash], row.parameters) for row in (*seen, *unseen)]
    names = FAMILY.select({name for value in values for name in value})
    matrix = np.array([[value.get(name, 0.0) for name in names] for value in values])
    found = fit_linear(matrix[: len(seen)], np.array([row.seconds for row in seen]), weights)
    return found.predict(matrix[len(seen) :])


def test_conformal_scores_are_of_fits_without_the_group():
    rows = noisy().rows
    scores = []
    for row in rows:
        others = [other for other in rows if other.group != row.group]
        predicted = predict_by_hand(others, [row], expected_weights(others))[0]
        scores.append(abs(math.log(row.seconds / predicted)))
    assert pytest.approx(scores, rel=1e-9) == list(fit(noisy()).fitted.conformal.scores)


def test_scores_without_a_group_do_not_depend_on_it():
    measured, tests = noisy(), Rows(tuple(replace(row, group="new") for row in noisy().rows[::3]), KERNELS)
    fits = FamilyFits(measured, FAMILY, tests=tests)
    found = fits.predict_without_group()
    for group in ("g1", "new"):
        places = [i for i, row in enumerate(fits.rows) if row.group != group]
        scores = fits.scores_without(group)
        expected = [abs(math.log(fits.rows[i].seconds / found.seconds[i])) for i in places]
        assert pytest.approx(expected) == list(scores.scores)
        assert [fits.rows[i].group for i in places] == list(scores.groups)
        support = dict(zip(fits.refits.table.names, fits.refits.support(fits.seen).tolist(), strict=True))
        local = fit_local_scale(np.array(expected), scores.groups, found.of(np.array(places)).scale_columns, support)
        assert local is not None
        assert local[0] == scores.scale
        assert pytest.approx(local[1].tolist()) == list(scores.scales)
    assert fits.scores == fits.scores_without("nowhere")


def test_support_is_of_the_fit_that_predicts():
    """A row's own group gives its prediction no support; rows in plain loops."""
    fits = FamilyFits(noisy(), FAMILY)
    found, names = fits.predict_without_group(), fits.design.names
    values = [features.evaluate(KERNELS[row.counts_hash], row.parameters) for row in fits.rows]
    for i, row in enumerate(fits.rows):
        others = [j for j, other in enumerate(fits.rows) if other.group != row.group]
        weights = fits.refits.fit(np.array(others)).coefficients
        parts = [[abs(w * own.get(name, 0.0)) for w, name in zip(weights, names, strict=True)] for own in values]
        shares = [[part / sum(own) for part in own] for own in parts]
        supports = by_hand.support([(fits.rows[j].group, shares[j]) for j in others], len(names))
        assert pytest.approx(by_hand.lack(shares[i], supports)) == found.lack[i]


def test_tests_are_added_without_evaluating_the_measured_rows_again(monkeypatch):
    rows = noisy()
    seen, unseen = Rows(rows.rows[::2], KERNELS), Rows(rows.rows[1::2], KERNELS)
    fits = FamilyFits(seen, FAMILY)
    assert len(seen.rows) == len(fits.design.times)
    asked = []
    evaluate_features = features.evaluate
    monkeypatch.setattr(features, "evaluate", lambda *given: asked.append(1) or evaluate_features(*given))
    joined = fits.with_tests(unseen)
    found = joined.predict_tests().seconds
    assert len(unseen.rows) == len(asked)
    assert FamilyFits(seen, FAMILY, FitOptions(), unseen).predict_tests().seconds.tolist() == found.tolist()
    assert fits.tests is None


def variants() -> Rows:
    """Each row twice, as two variants, of which the second is a third slower than the first."""
    rows = [replace(row, variant={"v": v}, seconds=row.seconds * (1 + v / 3)) for row in noisy().rows for v in (0, 1)]
    return Rows(tuple(rows), KERNELS)


def test_scatter_comes_from_rows_without_their_group():
    """The prediction of both variants is the same, so that their errors differ by log(4/3) in every cell."""
    model = fit(variants())
    expected = math.log(4 / 3) / (0.6744897501960817 * math.sqrt(2))
    assert len(noisy().rows) == model.fitted.scatter.cells
    scale = difference_quantile(model.fitted.scatter.freedom, 0.75)
    assert pytest.approx(math.log(4 / 3)) == model.fitted.scatter.deviation * scale
    assert model.fitted.scatter.freedom is not None or pytest.approx(expected) == model.fitted.scatter.deviation
    # both variants have the same error at their smallest size, so anchored errors differ less
    assert 0 < model.fitted.anchored.carried < 1
    assert model.fitted.anchored.scatter.deviation < model.fitted.scatter.deviation / 2
    assert 2 * (len(noisy().rows) - len(KERNELS)) == len(model.fitted.anchored.conformal.scores)
    single = fit(noisy()).fitted
    assert (None, None) == (single.scatter, single.anchored.scatter)


def test_labels_are_dealt_whole_and_evenly():
    labels = [*"aaaa", *"bbb", *"cc", "d", None]
    # four rows, three, two and one: the folds fill to 4 and 3, then to 4 and 5, then to 5 and 5
    assert [0] * 4 + [1] * 3 + [1] * 2 + [0, None] == dealt(labels, 2)
    # with as many folds as labels, or with no number, each label is a fold
    assert 4 == len(set(dealt(labels[:-1], 9))) == len(set(dealt(labels[:-1], None)))
    assert dealt(labels, 3) == dealt(labels[::-1], 3)[::-1]


KNOWN = DeviceFacts("made up", "none", "0", (("compute_units", Fact(4, "", "by hand")),))


def quantities(case: Case) -> dict[str, object]:
    """Work, and groups to the power of the fact ``pace``."""
    return {"work": case.total("op_*") + 1.0, "crowd": case.total("work_groups") ** float(case.known("pace", 1.0))}


CHOOSING = Family(
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
    found = FamilyFits(measured(pace, sharpness), CHOOSING).known.facts
    assert (pace, sharpness) == (found.value("pace"), found.value("resource_sharpness"))
    assert SOURCE == found.fact("pace").source
    assert 4 == found.value("compute_units")


def test_what_is_known_is_not_chosen_and_of_one_group_the_first_candidates_are_taken() -> None:
    rows = measured(0.5, 2.0)
    caught = replace(rows, facts=KNOWN.updated({"pace": Fact(1.5, "", "by hand")}))
    found = FamilyFits(caught, CHOOSING).known.facts
    assert (1.5, "by hand") == (found.value("pace"), found.fact("pace").source)
    assert "resource_sharpness" in found
    rows = measured(1.5, 5.0)
    single = replace(rows, rows=tuple(replace(row, group="one") for row in rows.rows))
    found = FamilyFits(single, CHOOSING).known.facts
    assert (0.5, 1.0) == (found.value("pace"), found.value("resource_sharpness"))


def test_rows_are_predicted_without_their_group():
    found = Refits(table(), TOY).left_out(["one", "one", "two", "two", "three", "three"])
    assert ((), (), (), (), ("c",), ()) == found.needs
    assert [True] * 4 + [False, True] == found.known.tolist()
    assert pytest.approx(table().times[found.known], rel=1e-9) == found.seconds[found.known]
    # the last rows' times are wrong: a fit that saw them would mispredict the others
    wrong = replace(table(), times=table().times * [1, 1, 1, 1, 9, 9])
    found = Refits(wrong, TOY).left_out(["one", "one", "two", "two", "two", "new"], fitted=np.arange(4))
    assert ((), (), (), (), ("c",), ()) == found.needs
    assert pytest.approx(table().times[found.known], rel=1e-9) == found.seconds[found.known]
    assert (("c",), ()) == found.of(np.array([4, 5])).needs
    found = Refits(table(), TOY).left_out([0, 0, 0, 0, 1, 1])  # two rows for three features
    assert (*[("a", "b")] * 4, ("c",), ()) == found.needs


def samples() -> Rows:
    """Every second row, twice as slow, as kernels of their own: eight samples."""
    rows = [replace(row, seconds=2 * row.seconds, kernel=f"s{i}", group=f"s{i}")
            for i, row in enumerate(noisy().rows[::2])]  # fmt: skip
    return Rows(tuple(rows), KERNELS)


def test_samples_change_no_weight_and_half_of_the_scores_weight_is_theirs():
    fits, plain = FamilyFits(noisy(), FAMILY, samples=samples()), FamilyFits(noisy(), FAMILY)
    assert plain.weights.weights == fits.weights.weights
    found = fits.predict_without_group()
    expected = plain.fit_measured().predict(plain.design_of(samples()))
    assert pytest.approx(expected.tolist()) == found.seconds[fits.sampled].tolist()
    assert found.seconds[fits.seen].tolist() == plain.predict_without_group().seconds.tolist()
    assert fits.rows[len(noisy().rows) :] == samples().rows
    # samples miss by more than a factor of 1.2 and the rest by less: the median error parts them
    assert 8 == fits.scores.group_count == 2 * plain.scores.group_count
    assert plain.scores.scores == fits.scores.scores[: len(noisy().rows)]
    errors = [abs(math.log(row.seconds / found.seconds[i])) for i, row in enumerate(fits.rows)]
    assert pytest.approx(errors) == list(fits.scores.scores)
    assert fits.scores_without("samples 1").group_count == 7


def test_samples_are_dealt_to_as_many_groups_as_the_other_rows_have():
    fits = FamilyFits(noisy(), FAMILY, tests=Rows(noisy().rows[:1], KERNELS), samples=samples())
    others = len(noisy().rows) + 1
    assert [row.group for row in fits.rows[:others]] == list(fits.groups[:others])
    assert {"g0", "g1", "g2", "g3"} == set(fits.groups[:others])
    assert {f"samples {i}": 2 for i in range(4)} == {name: fits.groups.count(name) for name in fits.groups[others:]}


def test_a_fit_and_evaluations_take_them():
    model = fit(noisy(), samples=samples())
    assert FamilyFits(noisy(), FAMILY, samples=samples()).scores == model.fitted.conformal
    assert fit(noisy()).weights == model.weights
    (groups,) = evaluate(noisy(), family=FAMILY, protocols=("groups",), folds=4, level=0.5, samples=samples())
    (alone,) = evaluate(noisy(), family=FAMILY, protocols=("groups",), folds=4, level=0.5)
    assert [row.predicted for row in alone.rows] == [row.predicted for row in groups.rows]
    assert [row.interval for row in alone.rows] != [row.interval for row in groups.rows]


def test_errors_of_kernels_by_hand():
    # kernels a and b have means of 0.2 and 0.6, together 0.4; samples s and t of 1 and 2, together 1.5
    errors, kernels = np.array([0.1, 0.3, 0.6, 1.0, 2.0, math.nan]), ["a", "a", "b", "s", "t", "u"]
    assert pytest.approx((0.4 + 1.5) / 2) == error_of_kernels(errors, kernels, measured=3)
    assert pytest.approx((0.2 + 0.6 + 1 + 2) / 4) == error_of_kernels(errors, kernels, measured=6)
    assert pytest.approx(1.5) == error_of_kernels(errors[3:], kernels[3:], measured=0)
    assert math.isnan(error_of_kernels(errors[5:], kernels[5:], measured=0))


@pytest.mark.parametrize("pace", [0.5, 1.5])
def test_facts_that_no_group_tells_are_chosen_by_samples(pace):
    """Rows of one number of work-groups have the same crowd to any power, up to a weight; samples have many numbers."""
    truth = measured(pace, 2.0)
    crowds = [Case(truth.counts[row.counts_hash], row.parameters).total("work_groups") for row in truth.rows]
    common = max(set(crowds), key=crowds.count)
    alike = [row for row, crowd in zip(truth.rows, crowds, strict=True) if crowd == common]
    assert len(alike) > 5
    caught = KNOWN.updated({"resource_sharpness": Fact(2.0, "", "given")})
    few = replace(truth, rows=tuple(replace(row, group=f"g{i % 2}") for i, row in enumerate(alike)), facts=caught)
    assert pace == FamilyFits(few, CHOOSING, samples=truth).known.facts.value("pace")
