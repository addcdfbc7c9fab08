"""The report's page: well formed, self-contained, small, readable by a screen reader; nothing in it runs."""

import base64
import hashlib
import json
import re
import sys
from dataclasses import replace
from itertools import pairwise

import plotly.graph_objects as go
import pytest

from perfmodel.analyses.report_data import FITTED, TESTS
from perfmodel.errors import MissingExtraError
from perfmodel.predicting.ranking import Ranking
from perfmodel.report.html.figures import Plot
from perfmodel.report.html.page import MOST_CARDS, check_extra, contents, policy, report_page
from perfmodel.report.pictures import MOST_VARIANTS
from tests.report.html.reported import HOSTILE, MADE, Tree, page, reported, tree

NAMES = ("own", "overview", "accuracy", "kernels", "costs", "families", "device", "made")


def by_role(role: str) -> list:
    return [one for one in tree().every() if one.attributes.get("role") == role]


def test_it_has_a_language_a_title_landmarks_headings_in_steps_and_unique_names():
    root = tree()
    assert ["en"] == [one.attributes["lang"] for one in root.every("html")]
    assert "perfmodel report: GTX480 (simulated)" == root.every("title")[0].text
    assert [1, 1, 1] == [len(root.every(tag)) for tag in ("header", "main", "footer")]
    levels = [int(one.tag[1]) for one in root.every("h1", "h2", "h3", "h4")]
    assert (1, len(NAMES)) == (levels.count(1), levels.count(2))
    assert all(after <= before + 1 for before, after in pairwise(levels))
    names = [one.attributes["id"] for one in tree().every() if "id" in one.attributes]
    assert sorted(set(names)) == sorted(names)


def test_tabs_follow_the_aria_pattern_and_only_a_users_kernels_have_one():
    (tabs,) = by_role("tablist")
    assert tabs.attributes["aria-label"]
    assert NAMES == tuple(one.attributes["aria-controls"] for one in by_role("tab"))
    sections = {one.attributes["id"]: one for one in tree().every("section")}
    for tab in by_role("tab"):
        section = sections[tab.attributes["aria-controls"] or ""]
        assert ("button", section.attributes["data-tab"]) == (tab.tag, tab.attributes["id"])
    plain = Tree(report_page(replace(reported(), ranking=Ranking(), own=(), own_points=(), withheld={}), MADE)).root
    assert "own" not in {one.attributes.get("id") for one in plain.every("section")}


def test_every_plot_has_words_and_a_table():
    plots = by_role("img")
    figures = json.loads(next(one for one in tree().every("script") if one.attributes.get("id") == "figures").texts[0])
    assert ["ranking", "own-roofline", "accuracy", "roofline", "families"] == [
        one.attributes["data-figure"] for one in plots
    ]
    assert {one.attributes["data-figure"] for one in plots} == set(figures)
    assert all("table below" in one.attributes["aria-label"] for one in plots)
    for section in tree().every("section"):
        inside = section.every()
        for plot in (one for one in inside if one.attributes.get("role") == "img"):
            after = inside[inside.index(plot) :]
            assert any(one.tag == "table" and one.every("tr")[1:] for one in after)


def test_every_table_has_a_caption_and_headings_and_every_choice_a_label():
    tables = tree().every("table")
    assert 10 < len(tables)
    for table in tables:
        assert table.every("caption")[0].text.strip()
        assert all(one.attributes["scope"] in ("col", "row") for one in table.every("th"))
        widths = {len(row.children) for row in table.every("tr")}
        assert 1 == len(widths)
    labelled = {one.attributes["for"] for one in tree().every("label")}
    assert labelled == {one.attributes["id"] for one in tree().every("select")}


def test_it_asks_no_server_and_only_its_own_scripts_may_run():
    loads = {"src", "href", "srcset", "data", "action", "poster", "background", "xlink:href"}
    asked = [value for one in tree().every() for name, value in one.attributes.items() if name in loads]
    assert ["#content"] == asked
    assert [] == tree().every("link", "iframe", "img", "object", "base")
    (style,) = tree().every("style")
    assert not re.search(r"url\(|@import|@font-face", "".join(style.texts))
    rules = tree().every("meta")[1].attributes["content"]
    assert rules.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-inline" not in rules.split("style-src")[0]
    own = [one for one in tree().every("script") if "type" not in one.attributes]
    assert 3 == len(own)
    hashes = [base64.b64encode(hashlib.sha256("".join(one.texts).encode()).digest()).decode() for one in own]
    assert hashes == re.findall(r"'sha256-([^']+)'", rules)
    assert "script-src 'sha256-" in policy(("a",))


def test_nothing_of_a_users_is_markup():
    text = page()
    assert not {"i", "u", "b", "img"} & {one.tag for one in tree().every()}
    assert 4 == len(tree().every("script"))  # plotly, tabs, plots, and the data
    assert "<script>alert" not in text
    assert "onerror=alert(2)>" not in text.replace("&gt;", "")
    for name in (*HOSTILE, "<i>broken</i>", "a reason with <u>tags</u>", MADE["command"]):
        assert name in tree().text, name
    figures = next(one for one in tree().every("script") if one.attributes.get("id") == "figures").texts[0]
    assert not set("<>&") & set(figures)
    assert "&lt;script&gt;" in json.dumps(json.loads(figures)["ranking"])  # plotly reads tags


def test_many_cases_do_not_make_it_large():
    data = reported()
    many = replace(data, comparisons=type(data.comparisons)(data.comparisons * 50), kernels=data.kernels * 20)
    text = report_page(many, MADE)
    assert len(text.encode()) < 6e6
    assert f"{50 * len(data.comparisons) - 300} cases with smaller errors are left out" in text
    assert f"{20 * len(data.kernels) - 60} kernels with smaller errors are left out" in text


@pytest.mark.parametrize("library", ["jinja2", "plotly"])
def test_a_missing_library_is_named_with_its_extra(library, monkeypatch):
    for name in [one for one in sys.modules if one.partition(".")[0] == library]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "plotly.offline" if library == "plotly" else library, None)
    with pytest.raises(MissingExtraError, match=rf"needs {library}.*perfmodel\[report\]"):
        check_extra()


def test_everything_is_shown_and_which_kernels_the_model_is_judged_on():
    data = reported()
    shown = contents(data, MADE)
    assert len(data.comparisons) == len(shown.comparisons.rows)
    assert len(data.kernels) == len(shown.cards)
    assert len(data.weights) == len(shown.weights.rows)
    assert len(data.facts) == sum(len(table.rows) for table in shown.fact_tables)
    assert len(data.families) == len(shown.families_table.rows)
    assert sorted(HOSTILE) == sorted(card.title for card in shown.own_cards)
    assert ["<i>broken</i>"] == [row[0].text for row in shown.withheld.rows]
    assert len(MADE) + len(data.made) == len(shown.made.rows)
    data = reported()
    assert f"The kernels are {TESTS}." in report_page(data, MADE)
    assert f"The kernels are {FITTED}." in report_page(replace(data, judged_on=FITTED), MADE)


def test_of_many_variants_the_fastest_are_drawn_and_all_are_in_the_table():
    data = reported()
    many = replace(data, ranking=Ranking(data.ranking * 50), own=data.own * 50)
    shown = contents(many, MADE)
    assert 50 * len(data.ranking) == len(shown.ranking_table.rows)
    assert MOST_VARIANTS == sum(len(trace["x"]) for trace in shown.ranking.specification["data"])
    assert MOST_CARDS == len(shown.own_cards)
    assert f"{50 * len(data.own) - MOST_CARDS} slower variants" in shown.own_note


def test_cards_say_what_bounds_kernels_by_all_three_models():
    cards = contents(reported(), MADE).cards
    for beginning, number in (("By this model: ", all), ("Below the roofs: ", all), ("By work and depth: ", any)):
        assert number(any(line.startswith(beginning) for line in card.bounds) for card in cards)
    assert all(card.advice for card in cards)
    assert any("by the model gpuperf" in line for card in cards for line in card.advice)


def test_plotly_accepts_every_plot():
    shown = contents(reported(), MADE)
    plots = [value for value in vars(shown).values() if isinstance(value, Plot)]
    assert 5 == len(plots)
    for plot in plots:
        figure = go.Figure(plot.specification)
        assert len(plot.specification["data"]) == len(figure.data)
        assert plot.alternative
