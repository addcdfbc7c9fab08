"""The report's tables, as texts."""

from dataclasses import replace

from perfmodel.analyses.descriptions import FactLine, WeightLine
from perfmodel.analyses.report_data import FamilyLine
from perfmodel.analyses.roofline import KernelPoint
from perfmodel.compare import Comparison, Figures
from perfmodel.predicting.ranking import RankedVariant, Ranking
from perfmodel.report.html import tables
from perfmodel.report.html.tables import TableCell
from tests.report.html.reported import reported


def texts(table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def case(name: str, predicted: float | None) -> Comparison:
    return Comparison(name, {"n": 8}, 1.0, predicted, interval=None if predicted is None else (0.5, 2.0))


def test_cases_of_which_the_worst_are_kept_in_their_order():
    found = tables.comparisons_table([case("a", 0.75), case("b", None)], "cases")
    assert [["a", "1 s", "750 ms", "25.0 %", "500 ms to 2 s"], ["b", "1 s", "withheld", "-", "-"]] == texts(found)
    assert "n=8" == found.rows[0][0].small
    cases = [case("a", 1.1), case("b", 1.5), case("c", None), case("d", 1.2)]
    assert ["b", "c"] == [row.kernel for row in tables.worst(cases, [one.relative_error for one in cases], 2)]
    assert "2 cases with smaller errors are left out, which keeps this file small." == tables.left_out(2, "cases")


def test_facts_by_source_the_measured_ones_first():
    facts = [FactLine("a", "1", "p of T", "assumed: x"), FactLine("big_c", "2", "", "measured, x"),
             FactLine("d", "3", "a thing", "CL_X"), FactLine("e", "4", "its name", "data sheet")]  # fmt: skip
    found = tables.fact_tables(facts)
    assert ["Measured facts", tables.GIVEN, "Reported by the driver and the operating system"] == [
        one.caption for one in found[:3]
    ]
    assert ["Big c", "Its name", "A thing", "p of T"] == [one.rows[0][0].text for one in found]
    assert "big_c" == found[0].rows[0][0].code


def test_weights_the_dearest_first_in_sentences():
    cheap = WeightLine("w_a", 1e-9, "s/access", "a load costs 1 ns", (5e-10, 2e-9), ("a remark",))
    dear = WeightLine("w_b", 1e-6, "s/launch", "a launch costs 1 us", None, ())
    pure = WeightLine("w_c", 7.0, "", "sharpness is 7", (6.0, 8.5), ())
    found = tables.weights_table([pure, cheap, dear], 0.95)
    assert ("what it costs", "95 % interval") == found.head
    expected = [["A launch costs 1 us", "-"], ["A load costs 1 ns", "500 ps to 2 ns"], ["Sharpness is 7", "6 to 8.5 "]]
    assert expected == texts(found)
    assert TableCell("A load costs 1 ns", "A remark", "w_a") == found.rows[1][0]


def test_families_with_and_without_figures():
    good = FamilyLine("own_one", "a paper", 7, Figures(9, 0, error=0.1, factor=0.2, regret=1.25, tau=0.5), withheld=2)
    found = tables.families_table([good, FamilyLine("bad", problem="not readable")], "own_one")
    assert ["own one", "10.0 %", "20.0 %", "1.25", "0.50", "7", "2"] == texts(found)[0]
    assert ["bad", *["-"] * 6] == texts(found)[1]
    assert ("a paper", "the family of this report") == (found.rows[0][0].small, found.rows[0][0].code)
    assert "not readable" == found.rows[1][0].small


def test_rankings_with_and_without_ties():
    one, two = RankedVariant("a", 1.0, (0.5, 2.0)), RankedVariant("b", 1.5)
    assert [["1. a", "1 s", "1.00", "500 ms to 2 s"], ["2. b", "1.5 s", "1.50", "-"]] == texts(
        tables.ranking_table(Ranking((one, two)))
    )
    tied = Ranking((replace(one, fastest=0.75, tied=True), replace(two, fastest=0.25, tied=False)))
    assert [["75.0 %", "tie"], ["25.0 %", "no"]] == [row[3:5] for row in texts(tables.ranking_table(tied))]


def test_places_below_roofs():
    point = KernelPoint("k", "form=a", "n=8", operations=1e9, bytes=1e8, seconds=1e-2, bound_s=5e-3, bound="local")
    expected = [["k", "10", "100 Gop/s", "local memory", "50.0 %"]]
    assert expected == texts(tables.roofline_table([point], predicted=False))
    assert "moves no data" in texts(tables.roofline_table([replace(point, bytes=0.0)], predicted=True))[0]


def test_unmeasured_features_in_words_and_names_of_variants_as_they_are():
    data = replace(reported(), unmeasured={"op_float32_special": ("a", "b")})
    found = tables.unmeasured_table(data)
    assert [["a function (such as sqrt) of float32", "a, b"]] == texts(found)
    found = tables.withheld_table(replace(reported(), withheld={"lower case": "why"}))
    assert [["lower case", "why"]] == texts(found)
    assert [["Data", "x"], ["Note", "y"]] == texts(tables.made_table([("data", "x"), ("note", "y")]))
