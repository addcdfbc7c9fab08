"""Terms that disagree, from kernels that add and multiply at prices that are known by hand."""

from __future__ import annotations

import math

import pytest

from perfmodel.compare import Comparison
from scripts.lab.outliers import MOST, explained_outliers, fences, log_error, main, outliers_of
from tests.machine import ROOT
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


def test_nothing_disagrees_where_the_model_sees_no_difference():
    """The paper's 404 s against 105 s: the same operations, which took four times as long."""
    (found,) = explained_outliers(MODEL, measured(*WELL, (1.0, 0.0, 4.0)), factor=2.0).found
    (add,) = found.terms
    assert (4.0, 1.0, False) == (pytest.approx(add.factor), add.spoiled, add.disagrees)
    assert () == found.disagreeing


def test_a_term_that_cannot_make_up_for_it_has_no_factor():
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


def test_outliers_are_beyond_tukeys_fences():
    """Of the ratios 1, 2, 3, 4 the quartiles of log p/t are apart by less than a factor of 2; 100 is far outside."""
    rows = [Comparison("k", {"n": n}, 1e-3, 1e-3 * ratio) for n, ratio in enumerate((1.0, 2.0, 3.0, 4.0, 100.0))]
    wrong, withheld = Comparison("k", {"n": 9}, 1e-3, -1e-3), Comparison("k", {"n": 8}, 1e-3, None, ("op",))
    assert (rows[4],) == outliers_of(rows)
    assert (wrong, rows[4]) == outliers_of([*rows, wrong, withheld])
    assert () == outliers_of(rows[:4])
    assert () == outliers_of([])
    assert (wrong,) == outliers_of([wrong])


def test_fences_by_hand():
    """Of log(p/t) = 0, 1, 2, 3, 4 the quartiles are 1 and 3, so the fences are at 1 - 1.5 * 2 and 3 + 1.5 * 2."""
    rows = [Comparison("k", {"n": n}, 1.0, math.exp(n)) for n in range(5)]
    assert (-2.0, 6.0) == pytest.approx(fences(rows))
    assert (rows[4], rows[3]) == outliers_of(rows, (-2.5, 2.5))
    assert (0.0, 0.0) == fences([])


def test_the_error_of_a_prediction_that_is_no_time_is_infinite():
    assert [math.log(2), math.inf, math.inf] == [log_error(Comparison("k", {}, 1.0, p)) for p in (2.0, 0.0, -1.0)]
