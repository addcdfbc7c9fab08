"""Terms that disagree, from kernels that add and multiply at prices that are known by hand."""

import math

import pytest

from perfmodel.compare import Comparison
from perfmodel.models import Family, find_family
from perfmodel.models.model import RunTime, Weight
from scripts.lab.outliers import MOST, by_terms, explained_outliers, fences, log_error, main, outliers_of
from tests.machine import ROOT
from tests.models.test_model import OF_ONE_LAUNCH, PARTS, run_time, values
from tests.priced import MODEL
from tests.standins import Counts, Operation, Row, Rows, count

ADD, MUL = "op_float32_add", "op_float32_mul"
SECOND = 10**12  # operations, at the price of each


def kernel(adds, muls):
    """A kernel that takes so many seconds to add and to multiply."""
    table = tuple(
        Operation("float32", kind, count(str(round(seconds * SECOND)), ""))
        for kind, seconds in (("add", adds), ("mul", muls)) if seconds
    )  # fmt: skip
    return Counts(operation_table=table, group_count=count("1", ""), parameters=("n",))


def measured(*cases, name="k"):
    """Rows of cases: the seconds of additions, of multiplications, and as measured."""
    counts = {f"{name}{i}": kernel(adds, muls) for i, (adds, muls, _) in enumerate(cases)}
    rows = tuple(Row(name, {"n": i}, case[2], f"{name}{i}") for i, case in enumerate(cases))
    return Rows(rows, counts)


def numbers(one):
    return one.seconds, one.share, one.usual_share, one.factor, one.spoiled


WELL = ((1.0, 0.0, 1.0), (2.0, 0.1, 2.0), (3.0, 0.0, 3.1), (4.0, 0.2, 4.1), (5.0, 0.0, 5.0))
ODD = (1.0, 2.0, 7.0)  # as if each multiplication cost three times as much


def test_the_term_that_the_others_hardly_pay_disagrees():
    (found,) = explained_outliers(MODEL, measured(*WELL, ODD), factor=2.0).found
    assert ("k", 7.0, 3.0) == (found.case.kernel, found.case.measured, pytest.approx(found.case.predicted))
    assert 3 / 7 == pytest.approx(found.factor)
    assert (5, True) == (found.others, found.same_kernel)
    mul, add = found.terms
    assert (MUL, ADD) == (mul.term, add.term)
    assert [mul] == list(found.disagreeing)
    # 1 + r 2 = 7 needs r = 3; with it the second of the others is predicted as 2.3, the fourth as 4.6, both within 2.
    assert (2.0, 2 / 3, 0.0, 3.0, 0.0) == pytest.approx(numbers(mul))
    # r + 2 = 7 needs r = 5, at which all others would be predicted five times too long.
    assert (1.0, 1 / 3, 1.0, 5.0, 1.0) == pytest.approx(numbers(add))


def test_nothing_disagrees_without_a_difference_and_a_term_that_cannot_make_up_has_no_factor():
    """The paper's 404 s against 105 s: the same operations, which took four times as long."""
    (found,) = explained_outliers(MODEL, measured(*WELL, (1.0, 0.0, 4.0)), factor=2.0).found
    (add,) = found.terms
    assert (4.0, 1.0, False) == (pytest.approx(add.factor), add.spoiled, add.disagrees)
    assert () == found.disagreeing
    # Even if multiplications cost nothing, 1 s would be predicted for 0.2 s; one of 20 times the price is the limit.
    (found,) = explained_outliers(MODEL, measured(*WELL, (1.0, 0.5, 0.2)), factor=2.0).found
    assert {ADD: None, MUL: None} == {one.term: one.factor for one in found.terms}
    assert [ADD, MUL] == [one.term for one in found.terms]  # the larger one first
    (few,) = explained_outliers(MODEL, measured(*WELL, (1.0, 0.1, 1 + 0.1 * (MOST + 1)))).found
    assert {MUL: None} == {one.term: one.factor for one in few.terms if one.term == MUL}


def test_by_default_tukeys_fences_decide():
    found = explained_outliers(MODEL, measured(*WELL, ODD))
    errors = sorted(math.log((adds + muls) / time) for adds, muls, time in (*WELL, ODD))
    low, high = found.between
    assert [math.log(3 / 7)] == pytest.approx([error for error in errors if not low <= error <= high])
    assert () == explained_outliers(MODEL, measured(*WELL), factor=2.0).found


def test_the_command_on_a_recorded_device(capsys):
    folder = ROOT / "fitted_weights" / "gpgpu-sim-gtx480"
    assert 0 == main([str(folder), "--factor", "1.5", "--family", "stevens_kloeckner_2016"])
    assert "cases are outliers, predicted below 0.67 or above 1.50 times" in capsys.readouterr().out
    assert 2 == main([str(folder), "--factor", "1"])
    assert "give a number above 1" in capsys.readouterr().err


def test_outliers_are_beyond_tukeys_fences_which_errors_by_hand_give():
    """Of the ratios 1, 2, 3, 4 the quartiles of log p/t are apart by less than a factor of 2; 100 is far outside."""
    rows = [Comparison("k", {"n": n}, 1e-3, 1e-3 * ratio) for n, ratio in enumerate((1.0, 2.0, 3.0, 4.0, 100.0))]
    wrong, withheld = Comparison("k", {"n": 9}, 1e-3, -1e-3), Comparison("k", {"n": 8}, 1e-3, None, ("op",))
    assert (rows[4],) == outliers_of(rows)
    assert (wrong, rows[4]) == outliers_of([*rows, wrong, withheld])
    assert () == outliers_of(rows[:4])
    assert () == outliers_of([])
    assert (wrong,) == outliers_of([wrong])
    # of log(p/t) = 0, 1, 2, 3, 4 the quartiles are 1 and 3, so the fences are at 1 - 1.5 * 2 and 3 + 1.5 * 2
    rows = [Comparison("k", {"n": n}, 1.0, math.exp(n)) for n in range(5)]
    assert (-2.0, 6.0) == pytest.approx(fences(rows))
    assert (rows[4], rows[3]) == outliers_of(rows, (-2.5, 2.5))
    assert (0.0, 0.0) == fences([])
    assert [math.log(2), math.inf, math.inf] == [log_error(Comparison("k", {}, 1.0, p)) for p in (2.0, 0.0, -1.0)]


def test_parts_take_the_given_seconds_and_other_weights_stay():
    family = Family(
        "toy", "nowhere", sums={"chip": ("op_*",)}, parts={"half": "chip*w_share", "memory": "w_load*launches"},
        weights=(Weight("w_share", ""), Weight("w_load", "s/launch"), Weight("w_sharp", "", lower=1.0, upper=64.0)),
        expression="smooth_max(half, memory, w_sharp)",
    )  # fmt: skip
    of_values = by_terms(RunTime(family, {"op_float32_add": 1.0, "w_share": 0.5, "w_load": 4.0, "w_sharp": 2.0}))
    terms, time = of_values({"op_float32_add": 6.0, "launches": 1.0})
    assert {"half": 3.0, "memory": 4.0} == terms
    assert (pytest.approx(5.0), pytest.approx(13.0)) == (time(terms), time({"half": 5.0, "memory": 12.0}))
    _, time = by_terms(RunTime(find_family("stevens_kloeckner_2016"), {"launches": 1.0}))({"launches": 2.0})
    assert 7.0 == time({"launches": 7.0})


@pytest.mark.parametrize("family", OF_ONE_LAUNCH, ids=lambda family: family.name)
def test_a_term_changes_by_the_same_factor_in_each_launch(family):
    run = run_time(family)
    of_values, whole = by_terms(run), values(family, *PARTS)
    terms, time = of_values(whole)
    assert pytest.approx(run.evaluate(whole)[0]) == time(terms)
    tripled = 0.0
    for part in PARTS:
        of_one, time_of_one = of_values(values(family, part))
        tripled += time_of_one({**of_one, "compute": 3 * of_one["compute"]})
    assert pytest.approx(tripled) == time({**terms, "compute": 3 * terms["compute"]})
