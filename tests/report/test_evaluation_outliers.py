"""Outliers as text and document, from kernels whose times are known by hand."""

from __future__ import annotations

import json

from perfmodel.analyses.outliers import explained_outliers
from perfmodel.analyses.words import term_words
from perfmodel.report.evaluation import outliers_document, outliers_text
from tests.analyses.test_outliers_disagreements import ODD, WELL, measured
from tests.priced import MODEL

FOUND = explained_outliers(MODEL, measured(*WELL, ODD), factor=2.0)
ALIKE = explained_outliers(MODEL, measured(*WELL, (1.0, 0.0, 4.0)), factor=2.0)


def row(text, name="k"):
    (line,) = (line for line in text.splitlines() if line.startswith(f"{name} "))
    return line.split()


def test_a_row_has_times_factor_and_the_term():
    cells = row(outliers_text(FOUND, MODEL))
    expected = "k n=5 7 s 3 s 0.429 op_float32_mul 66.7 % 0.0 % 3 times 0.0 % yes"
    assert expected.split() == cells
    assert f"op_float32_mul: {term_words(MODEL.family, 'op_float32_mul')}\n" in outliers_text(FOUND, MODEL)


def test_where_none_disagrees_the_nearest_stands_there():
    assert ["op_float32_add", "100.0", "%", "100.0", "%", "4", "times", "100.0", "%", "no"] == row(
        outliers_text(ALIKE, MODEL)
    )[-10:]


def test_what_no_term_explains_has_dashes():
    found = explained_outliers(MODEL, measured(*WELL, (1.0, 0.5, 0.2)), factor=2.0)
    assert ["-"] * 6 == row(outliers_text(found, MODEL))[-6:]


def test_a_narrow_terminal_keeps_kernel_and_factor():
    text = outliers_text(FOUND, MODEL, 40)
    table = text.split("\n\n")[1].splitlines()
    assert max(map(len, table)) <= 40
    assert "factor" in table[0]
    assert "not shown: usual" in text


def test_the_document_holds_all_terms():
    found = json.loads(json.dumps(outliers_document(FOUND, MODEL), allow_nan=False))
    (one,) = found["outliers"]
    assert ["op_float32_mul", "op_float32_add"] == [term["term"] for term in one["terms"]]
    assert (6, 0, 5) == (found["cases"], found["withheld"], one["others"])
