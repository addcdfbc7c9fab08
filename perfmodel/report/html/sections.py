"""What stands on each tab of the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfmodel.analyses.report_values import TESTS
from perfmodel.report.html import tables
from perfmodel.report.html.bar_figures import families_plot, ranking_plot
from perfmodel.report.html.cards import MOST_CARDS, kernel_card, legend, term_keys, worst_kernels
from perfmodel.report.html.scatter_figures import accuracy_plot, roofline_plot
from perfmodel.report.html.summary import (
    advisers_words,
    fact_stats,
    figure_stats,
    roofs_words,
    slower_words,
    times_words,
)
from perfmodel.report.html.values import KernelCard, Key, Plot, Stat, Table
from perfmodel.report.sweeps import ties_text

if TYPE_CHECKING:
    from perfmodel.analyses.report_values import ReportData


@dataclass(frozen=True)
class Tab:
    """A tab: the name of its template and of its place in the page, and its title."""

    name: str
    title: str


@dataclass(frozen=True)
class Contents:
    """Tables, plots, cards and words of all tabs."""

    tabs: tuple[Tab, ...]
    tested: bool  # whether the compared kernels are test kernels
    figures: tuple[Stat, ...]
    facts: tuple[Stat, ...]
    times: str
    roofs: str
    accuracy: Plot | None
    comparisons: Table
    outliers: Table
    unmeasured: Table
    roofline: Plot | None
    points: Table
    cards: tuple[KernelCard, ...]
    cards_note: str
    weights: Table
    families: Plot | None
    families_table: Table
    fact_tables: tuple[Table, ...]
    ranking: Plot | None
    ranking_table: Table
    ties: str
    own_cards: tuple[KernelCard, ...]
    own_note: str
    own_roofline: Plot | None
    own_points: Table
    withheld: Table
    made: Table
    keys: tuple[Key, ...]
    advisers: str


def contents(data: ReportData, made: Mapping[str, str]) -> Contents:
    """Return what the tabs show; `made` are more lines for the last one."""
    places = {(point.kernel, point.form): point for point in data.points}
    own_places = {point.kernel: point for point in data.own_points}
    family = data.family
    keys, shown = term_keys(family, (*data.kernels, *data.own)), worst_kernels(data.kernels)
    return Contents(
        tabs=_tabs(data),
        tested=data.judged_on == TESTS,
        figures=figure_stats(data),
        facts=fact_stats(data),
        times=times_words(data),
        roofs=roofs_words(data),
        accuracy=accuracy_plot(data),
        comparisons=tables.comparisons_table(data.comparisons, "predicted and measured times"),
        outliers=tables.comparisons_table(data.outliers, "outliers, the worst first"),
        unmeasured=tables.unmeasured_table(data),
        roofline=roofline_plot("roofline", data.points, data.roofs, False),
        points=tables.roofline_table(data.points, False),
        cards=tuple(kernel_card(family, one, places.get((one.kernel, one.form)), keys) for one in shown),
        cards_note=tables.left_out(len(data.kernels) - len(shown), "kernels"),
        weights=tables.weights_table(data.weights, data.level),
        families=families_plot(data.families, family.name),
        families_table=tables.families_table(data.families, family.name),
        fact_tables=tables.fact_tables(data.facts),
        ranking=ranking_plot(data.ranking, data.level),
        ranking_table=tables.ranking_table(data.ranking),
        ties=ties_text(data.ranking, data.scatter, data.level),
        own_cards=tuple(kernel_card(family, one, own_places.get(one.kernel), keys) for one in data.own[:MOST_CARDS]),
        own_note=slower_words(len(data.own) - MOST_CARDS),
        own_roofline=roofline_plot("own-roofline", data.own_points, data.roofs, True),
        own_points=tables.roofline_table(data.own_points, True),
        withheld=tables.withheld_table(data),
        made=tables.made_table((*made.items(), *data.made)),
        keys=legend(keys),
        advisers=advisers_words(data),
    )


def _tabs(data: ReportData) -> tuple[Tab, ...]:
    own = (Tab("own", "Your kernels"),) if data.ranking or data.withheld else ()
    return (
        *own, Tab("overview", "Overview"), Tab("accuracy", "Accuracy"), Tab("kernels", "Kernels"),
        Tab("costs", "Costs"), Tab("families", "Families"), Tab("device", "Device"), Tab("made", "How it was made"),
    )  # fmt: skip
