"""Families side by side, as a table and as CSV."""

from __future__ import annotations

import csv
import json
from io import StringIO

from perfmodel.compare.contenders import families_csv, families_document, families_table
from tests.compare.test_contenders_side_by_side import contenders


def test_the_table_marks_the_best_of_each_column_and_says_who_could_not_be_fitted():
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


def test_the_document_is_json_without_nan():
    document = json.loads(json.dumps(families_document(contenders()), allow_nan=False))
    assert "perfmodel.comparison/1" == document["schema"]
    # Kernels and all of them together: four rows by A and three by B of both families, and one of the failed one.
    assert 2 * (4 + 3) + 1 == len(document["rows"])
