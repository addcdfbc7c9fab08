"""The report as one HTML file, with kernel cards, style, scripts and plotly. Its security policy forbids requests."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from perfmodel import documents
from perfmodel.analyses import balance, benefits
from perfmodel.analyses.descriptions import term_label
from perfmodel.analyses.report_data import KernelTerms, ReportData
from perfmodel.analyses.roofline import KernelPoint
from perfmodel.display import percent, rate_text, seconds_text
from perfmodel.errors import optional
from perfmodel.models import Family
from perfmodel.predicting.prediction import Share
from perfmodel.report import drawing, pictures
from perfmodel.report.bounds import bound_texts
from perfmodel.report.html import figures, tables
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
SHOWN = 0.005  # least share of a term that has a bar
MOST_CARDS = 60
MOST = 8  # terms that have bars
REST = "rest"
SHADES = ("blue", "orange", "green", "sky", "vermilion", "yellow", "purple")


def contents(data: ReportData, made: Mapping[str, str]) -> SimpleNamespace:
    """Return the tables, plots, cards and texts for the templates of the tabs. The last tab has the lines `made`."""
    drawn = {(point.kernel, point.form): point for point in data.points}
    own_drawn = {point.kernel: point for point in data.own_points}
    family = data.family
    keys, shown = term_keys(family, (*data.kernels, *data.own)), worst_kernels(data.kernels)
    fastest, slower = data.own[: MOST_CARDS], len(data.own) - MOST_CARDS
    few = data.comparisons[:: max(math.ceil(len(data.comparisons) / MOST_POINTS), 1)]
    return SimpleNamespace(
        tabs={name: title for name, title in TABS.items() if name != "own" or data.ranking or data.withheld},
        figures=figure_stats(data), facts=fact_stats(data), times=times_text(data), roofs=roofs_text(data),
        keys=legend(keys), advisers=advisers_text(data),
        accuracy=figures.plot("accuracy", pictures.accuracy(few, False, data.level)),
        comparisons=tables.comparisons_table(data.comparisons, "predicted and measured times"),
        unmeasured=tables.unmeasured_table(data), roofline=_roofline("roofline", data.points, data),
        points=tables.roofline_table(data.points, False),
        cards=tuple(kernel_card(family, terms, drawn.get((terms.kernel, terms.form)), keys) for terms in shown),
        cards_note=tables.left_out(len(data.kernels) - len(shown), "kernels"),
        weights=tables.weights_table(data.weights, data.level), families=figures.grid_plot("families", _errors(data)),
        families_table=tables.families_table(data.families, family.name), fact_tables=tables.fact_tables(data.facts),
        ranking=figures.plot("ranking", pictures.ranking(data.ranking, data.level)),
        ranking_table=tables.ranking_table(data.ranking), ties=ties_text(data.ranking, data.scatter, data.level),
        own_cards=tuple(kernel_card(family, terms, own_drawn.get(terms.kernel), keys) for terms in fastest),
        own_note=f"The table above has {slower} slower variants." if slower > 0 else "",
        own_roofline=_roofline("own-roofline", data.own_points, data, predicted=True),
        own_points=tables.roofline_table(data.own_points, True), withheld=tables.withheld_table(data),
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


class LegendKey(NamedTuple):
    """The meaning of a colour."""

    colour: str
    label: str


def term_keys(family: Family, kernels: Iterable[KernelTerms]) -> Mapping[str, LegendKey]:
    """Return the colour and the label of each term with a bar, the largest first. Small terms may share a colour."""
    totals: dict[str, float] = {}
    for kernel in kernels:
        for share in _shown(kernel):
            totals[share.term] = totals.get(share.term, 0.0) + abs(share.share)
    ordered = sorted(totals, key=lambda term: -totals[term])
    shades = [*SHADES, *[REST] * len(ordered)]
    return {term: LegendKey(shade, term_label(family, term)) for term, shade in zip(ordered, shades, strict=False)}


def worst_kernels(kernels: Sequence[KernelTerms]) -> Sequence[KernelTerms]:
    """Return at most :data:`MOST_CARDS` kernels with the largest errors, in their order."""
    errors = [abs(kernel.seconds / kernel.measured - 1) if kernel.measured else 0.0 for kernel in kernels]
    return tables.worst(kernels, errors, MOST_CARDS)


def legend(keys: Mapping[str, LegendKey]) -> tuple[LegendKey, ...]:
    """Return the meaning of each colour."""
    coloured = tuple(key for key in keys.values() if key.colour != REST)
    return (*coloured, LegendKey(REST, "smaller terms")) if len(coloured) < len(keys) else coloured


def kernel_card(
    family: Family, kernel: KernelTerms, point: KernelPoint | None, keys: Mapping[str, LegendKey]
) -> SimpleNamespace:
    """Return the texts on a kernel at one size, with the length of each term's bar in per cent."""
    shown = _shown(kernel)
    largest = max((abs(share.share) for share in shown), default=1.0)
    bars = tuple(SimpleNamespace(
        label=keys[share.term].label, share=percent(share.share), seconds=seconds_text(share.seconds),
        length=100 * abs(share.share) / max(largest, 1.0), colour=keys[share.term].colour, negative=share.seconds < 0,
    ) for share in shown)  # fmt: skip
    times = f"predicted {seconds_text(kernel.seconds)}"
    if kernel.measured is not None:
        error = percent(abs(kernel.seconds - kernel.measured) / kernel.measured)
        times += f", measured {seconds_text(kernel.measured)}, error {error}"
    note = "The terms add up to" if kernel.adds_up else "The terms overlap: they do not add up to"
    left = len(kernel.terms) - len(shown)
    more = f" {left} smaller {'term is' if left == 1 else 'terms are'} left out." if left else ""
    bounds, advice = bound_texts(family, kernel, point)
    return SimpleNamespace(
        title=kernel.kernel, detail=", ".join(filter(None, (kernel.form, kernel.sizes))), times=times, terms=bars,
        adds_up=kernel.adds_up, terms_note=f"{note} the predicted time.{more}", bounds=bounds, advice=advice,
        warnings=tuple(map(str, kernel.cautions)),
    )  # fmt: skip


def _shown(kernel: KernelTerms) -> list[Share]:
    return [share for share in kernel.terms if abs(share.share) >= SHOWN][:MOST]


_FACTS = {
    "compute_units": "compute units", "memory_bandwidth_bytes_per_s": "bandwidth of global memory",
    "peak_flops_float32": "float32 operations in a second", "peak_flops_float64": "float64 operations in a second",
    "launch_s": "time of an empty launch", "l2_bytes": "second-level cache",
}  # fmt: skip
"""Facts that the first tab shows, where they are known."""


def figure_stats(data: ReportData) -> list[tuple[str, str]]:
    """Return the figures of the model's errors and choices, with their meanings."""
    f = data.figures
    stats = [
        (percent(f.error), "typical error of a predicted time (geometric mean)"),
        (f"{f.cases - f.withheld} of {f.cases}", "cases with a prediction"),
    ]
    if math.isfinite(f.p90):
        stats.append((percent(f.p90), "nine of ten errors are below this"))
    if f.choices:
        stats.append((percent(f.regret - 1), f"longer than the best: the variant it chooses, in {f.choices} choices"))
    if math.isfinite(f.inside):
        stats.append((percent(f.inside), f"measured times inside of their {100 * data.level:g} % interval"))
        if math.isfinite(f.width) and f.width > 0:
            stats.append((f"{f.width:.2g} times", "a typical interval's upper bound over its lower one"))
    return stats


def fact_stats(data: ReportData) -> list[tuple[str, str]]:
    """Return the most important facts of the device, with their meanings."""
    known = {fact.key: fact.value for fact in data.facts}
    return [(known[key], meaning) for key, meaning in _FACTS.items() if key in known]


def times_text(data: ReportData) -> str:
    """Return the shortest and the longest measured time in words."""
    times = [row.measured for row in data.comparisons]
    return f"{seconds_text(min(times))} to {seconds_text(max(times))}" if times else ""


def advisers_text(data: ReportData) -> str:
    """Return the errors of the models that give advice. Without known errors the text is empty."""
    known = {line.name: line.figures.error for line in data.families if line.figures is not None}
    models = dict.fromkeys((data.family.name, balance.FAMILY, benefits.FAMILY))
    errors = [f"{name.replace('_', ' ')} {percent(known[name])}" for name in models if name in known]
    return f"Typical errors of these models on this device: {', '.join(errors)}." if errors else ""


def roofs_text(data: ReportData) -> str:
    """Return the roofs in words."""
    roofs = ((*pictures.ROOFS[key], value) for key, value in data.roofs.items())
    return ", ".join(f"{name} {rate_text(value, unit)}" for name, _, unit, value in roofs)


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
        shades={name: drawing.NAMED[name] for name in SHADES},
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
