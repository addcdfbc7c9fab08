"""The report as one HTML file, with its style, its scripts and plotly. Its content security policy forbids requests."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from perfmodel import documents
from perfmodel.analyses.report_data import ReportData
from perfmodel.analyses.roofline import KernelPoint
from perfmodel.errors import optional
from perfmodel.report import drawing, pictures
from perfmodel.report.html import cards, figures, tables
from perfmodel.report.html.figures import Plot
from perfmodel.report.sweeps import ties_text

if TYPE_CHECKING:
    from jinja2 import Environment

TABS = {
    "own": "Your kernels", "overview": "Overview", "accuracy": "Accuracy", "kernels": "Kernels", "costs": "Costs",
    "families": "Families", "device": "Device", "made": "How it was made",
}  # fmt: skip
"""The titles of the tabs by template; the first tab is left out without a kernel."""
MOST_POINTS = 2000  # of a plot, which keeps the file small


def contents(data: ReportData, made: Mapping[str, str]) -> SimpleNamespace:
    """Return the tables, plots, cards and texts for the templates of the tabs. The last tab has the lines `made`."""
    drawn = {(point.kernel, point.form): point for point in data.points}
    own_drawn = {point.kernel: point for point in data.own_points}
    family = data.family
    keys, shown = cards.term_keys(family, (*data.kernels, *data.own)), cards.worst_kernels(data.kernels)
    fastest, slower = data.own[: cards.MOST_CARDS], len(data.own) - cards.MOST_CARDS
    few = data.comparisons[:: max(math.ceil(len(data.comparisons) / MOST_POINTS), 1)]
    return SimpleNamespace(
        tabs={name: title for name, title in TABS.items() if name != "own" or data.ranking or data.withheld},
        figures=cards.figure_stats(data), facts=cards.fact_stats(data), times=cards.times_text(data),
        roofs=cards.roofs_text(data), keys=cards.legend(keys), advisers=cards.advisers_text(data),
        accuracy=figures.plot("accuracy", pictures.accuracy(few, False, data.level)),
        comparisons=tables.comparisons_table(data.comparisons, "predicted and measured times"),
        unmeasured=tables.unmeasured_table(data),
        roofline=_roofline("roofline", data.points, data),
        points=tables.roofline_table(data.points, False),
        cards=tuple(cards.kernel_card(family, terms, drawn.get((terms.kernel, terms.form)), keys) for terms in shown),
        cards_note=tables.left_out(len(data.kernels) - len(shown), "kernels"),
        weights=tables.weights_table(data.weights, data.level),
        families=figures.grid_plot("families", _errors(data)),
        families_table=tables.families_table(data.families, family.name),
        fact_tables=tables.fact_tables(data.facts),
        ranking=figures.plot("ranking", pictures.ranking(data.ranking, data.level)),
        ranking_table=tables.ranking_table(data.ranking),
        ties=ties_text(data.ranking, data.scatter, data.level),
        own_cards=tuple(cards.kernel_card(family, terms, own_drawn.get(terms.kernel), keys) for terms in fastest),
        own_note=f"The table above has {slower} slower variants." if slower > 0 else "",
        own_roofline=_roofline("own-roofline", data.own_points, data, predicted=True),
        own_points=tables.roofline_table(data.own_points, True),
        withheld=tables.withheld_table(data),
        made=tables.made_table((*made.items(), *data.made)),
    )  # fmt: skip


def _roofline(name: str, points: Sequence[KernelPoint], data: ReportData, predicted: bool = False) -> Plot | None:
    drawable = bool(data.roofs) and any(point.drawable for point in points)
    return figures.plot(name, pictures.roofline(points, data.roofs, False, predicted) if drawable else None)


def _errors(data: ReportData) -> drawing.Grid | None:
    judged = [line for line in data.families if line.errors]
    if len(judged) < 2:
        return None
    names = [line.name.replace("_", " ") for line in judged]
    values = [tuple(line.errors.values()) for line in judged]
    return pictures.error_grid(names, tuple(judged[0].errors), values, data.family.name.replace("_", " "))


EXTRA = "report"
HERE = Path(__file__).parent
SCRIPTS = ("tabs.js", "plots.js")


def report_page(data: ReportData, made: Mapping[str, str]) -> str:
    """Return the report as the text of an HTML file. Without jinja2 or plotly, raise MissingExtraError.

    Its content security policy forbids all requests, and allows only its own scripts by their SHA-256. Texts of
    kernels, devices and files are escaped. `made` has the time, the versions and the command for the last tab.
    """
    about = f"{data.platform} {', '.join(data.drivers)}, family {data.family.name.replace('_', ' ')}"
    note = "A simulator counted these times: no device ran. Do not compare them with times of devices."
    return page(Head("perfmodel report", data.device, about, note * data.simulated), data, contents(data, made))


class Head(NamedTuple):
    """The head of a page."""

    kind: str  # of the page
    title: str
    about: str
    note: str = ""


def page(head: Head, data: Any, shown: SimpleNamespace) -> str:
    """Return a page with a tab for each entry of ``shown.tabs``: the name of its template, and its title."""
    scripts = (_plotly(), *((HERE / "assets" / name).read_text(encoding="utf-8") for name in SCRIPTS))
    plots = {plot.name: plot for plot in vars(shown).values() if isinstance(plot, Plot)}
    return _environment().get_template("page.html.j2").render(
        head=head, data=data, shown=shown, scripts=scripts, policy=policy(scripts),
        style=(HERE / "assets" / "report.css").read_text(encoding="utf-8"),
        shades={name: drawing.NAMED[name] for name in cards.SHADES},
        figures=json_text({name: plot.specification for name, plot in plots.items()}),
    )  # fmt: skip


def check_extra() -> None:
    """Raise MissingExtraError if a library of the report is not installed."""
    _environment()
    _plotly()


def policy(scripts: tuple[str, ...]) -> str:
    """Return a content security policy that allows these scripts alone, and no request (W3C CSP Level 3, 6.7.2)."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{script}'" for script in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; "
        "form-action 'none'"
    )


def json_text(value: Any) -> str:
    """Return JSON for an HTML script element, in which no character begins a tag."""
    text = documents.json_text(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _environment() -> Environment:
    jinja2 = optional("jinja2", EXTRA)
    return jinja2.Environment(  # type: ignore[no-any-return]
        loader=jinja2.FileSystemLoader(HERE / "templates"), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip


def _plotly() -> str:
    text: str = optional("plotly.offline", EXTRA).get_plotlyjs()
    # A newer plotly could hold the end of a script element in one of its strings, where the backslash changes nothing.
    return text.replace("</script", "<\\/script").replace("<!--", "<\\!--")
