"""The report as one HTML file: the page, its style, its scripts and plotly, with a policy that forbids all requests."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfmodel import documents
from perfmodel.errors import MissingExtraError
from perfmodel.report import drawing
from perfmodel.report.html.axes import plotly_text as plotly_text
from perfmodel.report.html.sections import contents
from perfmodel.report.html.values import Plot

if TYPE_CHECKING:
    from jinja2 import Environment

    from perfmodel.analyses.report_values import ReportData

EXTRA = "report"
HERE = Path(__file__).parent
SCRIPTS = ("tabs.js", "plots.js")
SHADES = ("blue", "vermilion", "green", "purple", "orange", "sky", "yellow")


def report_page(data: ReportData, made: Mapping[str, str]) -> str:
    """Return the report as the text of an HTML file.

    It asks no server for anything: its content security policy forbids all requests, and allows only the scripts that
    it names by their SHA-256. All texts of kernels, devices and files are escaped.

    Parameters
    ----------
    data
        What it shows (:func:`perfmodel.analyses.report_data.report_data`).
    made
        When, by which versions and by which command it was made, for its last tab.

    Raises
    ------
    MissingExtraError
        If jinja2 or plotly is not installed.
    """
    scripts = (_plotly(), *((HERE / "assets" / name).read_text(encoding="utf-8") for name in SCRIPTS))
    shown = contents(data, made)
    plots = {plot.name: plot for plot in vars(shown).values() if isinstance(plot, Plot)}
    return _environment().get_template("page.html.j2").render(
        data=data,
        shown=shown,
        scripts=scripts,
        style=(HERE / "assets" / "report.css").read_text(encoding="utf-8"),
        shades={name: getattr(drawing, name.upper()) for name in SHADES},
        policy=policy(scripts),
        figures=json_text({name: plot.specification for name, plot in plots.items()}),
    )


def check_extra() -> None:
    """Refuse to begin where a library of the report is not installed.

    Raises
    ------
    MissingExtraError
        If one is missing.
    """
    _environment()
    _plotly()


def policy(scripts: tuple[str, ...]) -> str:
    """Return a content security policy that allows these scripts alone, and no request.

    Source: W3C, *Content Security Policy Level 3*, section 6.7.2.
    """
    hashes = (base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in scripts)
    allowed = " ".join(f"'sha256-{one}'" for one in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; "
        "form-action 'none'"
    )


def json_text(value: Any) -> str:
    r"""Return JSON that can stand in an HTML script element: no character of it begins a tag.

    Examples
    --------
    >>> json_text({"a": "</script>&"})
    '{"a":"\\u003c/script\\u003e\\u0026"}'
    """
    text = documents.json_text(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _environment() -> Environment:
    try:
        import jinja2
    except ImportError as error:
        raise MissingExtraError("jinja2", EXTRA) from error
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise MissingExtraError("plotly", EXTRA) from error
    text: str = get_plotlyjs()
    # A newer plotly could hold the end of a script element in one of its strings, where the backslash changes nothing.
    return text.replace("</script", "<\\/script").replace("<!--", "<\\!--")
