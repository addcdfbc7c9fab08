"""The report's page: well formed, self-contained, small, readable by a screen reader, and nothing in it runs."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
from dataclasses import replace
from itertools import pairwise

import pytest

from perfmodel.errors import MissingExtraError
from perfmodel.predicting.ranking import Ranking
from perfmodel.report.html.page import check_extra, policy, report_page
from tests.report.html.reported import HOSTILE, MADE, Tree, page, reported, tree

NAMES = ("own", "overview", "accuracy", "kernels", "costs", "families", "device", "made")


def by_role(role: str) -> list:
    return [one for one in tree().every() if one.attributes.get("role") == role]


def test_it_has_a_language_a_title_landmarks_and_headings_in_steps():
    root = tree()
    assert ["en"] == [one.attributes["lang"] for one in root.every("html")]
    assert "perfmodel report: GTX480 (simulated)" == root.every("title")[0].text
    assert [1, 1, 1] == [len(root.every(tag)) for tag in ("header", "main", "footer")]
    levels = [int(one.tag[1]) for one in root.every("h1", "h2", "h3", "h4")]
    assert (1, len(NAMES)) == (levels.count(1), levels.count(2))
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_tabs_follow_the_aria_pattern():
    (tabs,) = by_role("tablist")
    assert tabs.attributes["aria-label"]
    assert NAMES == tuple(one.attributes["aria-controls"] for one in by_role("tab"))
    sections = {one.attributes["id"]: one for one in tree().every("section")}
    for tab in by_role("tab"):
        section = sections[tab.attributes["aria-controls"] or ""]
        assert ("button", section.attributes["data-tab"]) == (tab.tag, tab.attributes["id"])


def test_without_a_users_kernels_there_is_no_tab_for_them():
    plain = Tree(report_page(replace(reported(), ranking=Ranking(), own=(), own_points=(), withheld={}), MADE)).root
    assert "own" not in {one.attributes.get("id") for one in plain.every("section")}


def test_names_in_the_page_are_unique():
    names = [one.attributes["id"] for one in tree().every() if "id" in one.attributes]
    assert sorted(set(names)) == sorted(names)


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


def test_it_asks_no_server():
    loads = {"src", "href", "srcset", "data", "action", "poster", "background", "xlink:href"}
    asked = [value for one in tree().every() for name, value in one.attributes.items() if name in loads]
    assert ["#content"] == asked
    assert [] == tree().every("link", "iframe", "img", "object", "base")
    (style,) = tree().every("style")
    assert not re.search(r"url\(|@import|@font-face", "".join(style.texts))
    rules = tree().every("meta")[1].attributes["content"]
    assert rules.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-inline" not in rules.split("style-src")[0]


def test_only_its_own_scripts_may_run():
    own = [one for one in tree().every("script") if "type" not in one.attributes]
    assert 3 == len(own)
    hashes = [base64.b64encode(hashlib.sha256("".join(one.texts).encode()).digest()).decode() for one in own]
    rules = tree().every("meta")[1].attributes["content"]
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
