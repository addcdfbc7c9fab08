"""Families side by side, as a table and as CSV."""

from __future__ import annotations

import csv
import json
from io import StringIO

from perfmodel.compare.contenders import Contenders, families_csv, families_table, records
from perfmodel.compare.protocols import RECORDED
from tests.compare.test_contenders_side_by_side import contenders, judged
from tests.compare.test_protocols import ADDED, RECORDS
from tests.standins import Rows


def test_the_table_marks_the_best_of_each_column_and_shows_who_could_not_be_fitted():
    text = families_table(contenders())
    head, *rows = text.splitlines()[:5]
    assert ["family", "by", "adding", "copying", "other", "all"] == head.split()[:6]
    assert [["stevens_kloeckner_2016", "A"], ["stevens_kloeckner_2016", "B"], ["blind", "A"], ["blind", "B"]] == [
        row.split()[:2] for row in rows
    ]
    exact_a, exact_b, blind_a, blind_b = rows
    assert 2 <= exact_a.count("%*") > blind_a.count("%*")
    for by_a, by_b in ((exact_a, exact_b), (blind_a, blind_b)):
        assert "-" in by_b.split()  # no case of "adding" is left by B
        assert "-" not in by_a.split()
    assert "not fitted: needy: " in text
    assert "5 by A, 3 by B" in text


def test_csv_has_a_row_for_each_kernel_and_one_over_all():
    rows = list(csv.DictReader(StringIO(families_csv(contenders()))))
    own = [(row["protocol"], row["kernel"], row["cases"]) for row in rows if row["family"] == "blind"]
    assert [
        ("A", "adding", "2"), ("A", "copying", "2"), ("A", "other", "1"), ("A", "all", "5"),
        ("B", "copying", "2"), ("B", "other", "1"), ("B", "all", "3"),
    ] == own  # fmt: skip
    (needy,) = (row for row in rows if row["family"] == "needy")
    assert ("", "unheard_of" in needy["problem"]) == (needy["error"], True)


def test_the_records_are_json_without_nan():
    found = json.loads(json.dumps(list(records(contenders())), allow_nan=False))
    # Kernels and all of them together: four rows by A and three by B of both families, and one of the failed one.
    assert 2 * (4 + 3) + 1 == len(found)


def test_without_test_kernels_families_are_judged_by_kernels_left_out_next_to_a_random_choice():
    class Stored(Rows):
        def of_kernels(self, *names):
            return Stored(tuple(row for row in self.rows if row.kernel in names), self.counts)

    found = Contenders(judged(Stored(RECORDS.rows, RECORDS.counts), None, (ADDED,)))
    head, *rows = families_table(found).splitlines()
    added, random = rows[:3], rows[3:6]
    assert ["family", "by", "all", "factor", "-", "1", "regret", "top-1", "tau", "inside", "width"] == head.split()[:11]
    assert [["added", protocol] for protocol in RECORDED] == [row.split()[:2] for row in added]
    # The two variants of both kernels take t and 2 t: at random the regret is sqrt(2).
    for row, protocol in zip(random, RECORDED, strict=True):
        assert ["random", "choice", protocol, "-", "-", "1.414", "50.0", "%", "0.00"] == row.split()[:9]
    assert "family, error, groups, error, kernels, error, variants, factor - 1, groups" in ", ".join(found.header)
    assert "6 cases that every family predicts" in found._repr_html_()
    assert set(RECORDED) == {record["protocol"] for record in records(found)}
