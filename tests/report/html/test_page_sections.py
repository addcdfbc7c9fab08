"""What stands on each tab, of recorded measurements."""

from __future__ import annotations

from dataclasses import replace

import plotly.graph_objects as go

from perfmodel.analyses.report_data import FITTED, TESTS
from perfmodel.predicting.ranking import Ranking
from perfmodel.report.html.cards import MOST_CARDS
from perfmodel.report.html.figures import Plot
from perfmodel.report.html.page import contents, report_page
from perfmodel.report.pictures import MOST_VARIANTS
from tests.report.html.reported import HOSTILE, MADE, reported


def test_everything_is_shown():
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


def test_the_page_names_which_kernels_the_model_is_judged_on():
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
