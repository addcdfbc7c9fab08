"""``perfmodel report`` and ``roofline``: a device, its model and kernels as one HTML file; kernels below the roofs."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perfmodel.cli.options import Sizes, Statistics, sizes, statistics, units_of, weights_in_use
from perfmodel.cli.output import one_output, print_document, print_text, text_stream
from perfmodel.cli.settings import table_width
from perfmodel.errors import OptionError, OutputFolderError, PerfModelError
from perfmodel.io import is_standard_output, write_whole

if TYPE_CHECKING:
    from perfmodel.analyses.report_data import ReportData
    from perfmodel.cli.settings import CommandBar
    from perfmodel.counts import KernelCounts
    from perfmodel.predicting.model import FittedModel

SCHEMA = "perfmodel.report/1"

Kernel = Annotated[
    Path | None,
    typer.Argument(metavar="[KERNEL.PY]", help="Python file with kernel() or variants(); these stand first."),
]
Out = Annotated[Path, typer.Option("--out", metavar="FILE.html", help="Write this file; - is standard output.")]
Source = Annotated[
    Path | None,
    typer.Option(
        "--from", metavar="FOLDER",
        help="Folder with measurements.jsonl, test.jsonl and weights; by default that of the device in use.",
    ),
]  # fmt: skip
Named = Annotated[
    str | None,
    typer.Option("--family", help="The family that is shown, of those whose weights the folder holds; by default "
                 "the one that calibration recommends. Its name, or its Python file, which is run."),
]  # fmt: skip


def report_command(
    kernel: Kernel = None,
    out: Out = Path("report.html"),
    source: Source = None,
    family: Named = None,
    size: Sizes = None,
    statistic: Statistics = None,
    json: bool = False,
) -> None:
    """Write one HTML file on a device, its model, and your kernels: it needs no network and no other file.

    It takes about 15 seconds, and a few more for each variant that has not been counted yet.
    """
    from perfmodel.analyses.report_data import report_data, steps_of
    from perfmodel.cli.settings import CommandBar
    from perfmodel.report.html.page import check_extra, report_page

    one_output(json, out=out)
    check_extra()
    _check(out, kernel, size, statistic)
    at, known = sizes(size), statistics(statistic)
    units = units_of(kernel, None) if kernel else {}
    folder, model = _model(source, family, told=not json)
    bar = CommandBar()
    bar.start(f"report on {model.device}", len(units) + steps_of(folder))
    try:
        counts, uncounted = _counted(units, model.fitted.subgroup_size, known, bar)
        data = report_data(model, folder, counts, at, uncounted=uncounted, advance=bar.advance)
    finally:
        bar.stop()
    content = report_page(data, _made(kernel)).encode()
    write_whole(out, content)
    if json:
        print_document(_document(data, out, len(content)))
    elif not is_standard_output(out):
        print_text(f"report: {out} ({len(content) / 1e6:.1f} MB)", text_stream(out))


def _check(out: Path, kernel: Path | None, *of_kernels: Any) -> None:
    """Refuse what can be refused before anything is computed.

    Raises
    ------
    OutputFolderError
        If a folder is to be written.
    OptionError
        If options of a kernel file are given without one.
    """
    if out.is_dir():
        raise OutputFolderError(out, "it is a folder")
    if kernel is None and any(of_kernels):
        problem = "-p and --statistics are about a kernel file, and none was given"
        raise OptionError(problem, "name it first: perfmodel report KERNEL.PY -p n=1024")


def _model(source: Path | None, family: str | None, told: bool) -> tuple[Path, FittedModel]:
    """Return the folder of the device and its model."""
    from perfmodel.calibration.recommended import folder_weights
    from perfmodel.predicting.model import load

    if source is None:
        found = weights_in_use(None, family, told)
        source, path = found.folder, found.path
    else:
        path = folder_weights(source, family)
    return source, load(path, family)


def _counted(
    units: Mapping[str, Any], subgroup_size: int, known: Mapping[str, float], bar: CommandBar
) -> tuple[dict[str, KernelCounts], dict[str, str]]:
    """Return the counts of variants, and the reasons why others cannot be counted."""
    from perfmodel.counts import count

    counts, uncounted = {}, {}
    for name, unit in units.items():
        try:
            counts[name] = count(unit, subgroup_size, check=True, statistics=known)
        except PerfModelError as error:
            uncounted[name] = str(error)
        bar.advance(name)
    return counts, uncounted


def _made(kernel: Path | None) -> dict[str, str]:
    """Return when, by which versions and by which command the report is made."""
    import platform
    from datetime import datetime, timezone
    from importlib.metadata import version

    libraries = ("numpy", "loopy", "islpy", "jinja2", "plotly")
    versions = [f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in libraries)]
    return {
        "written": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "version of perfmodel": version("perfmodel"),
        "command": shlex.join(["perfmodel", *sys.argv[1:]]),
        **({"kernels": str(kernel)} if kernel else {}),
        "libraries of this report": ", ".join(versions),
    }


def _document(data: ReportData, out: Path, size: int) -> dict[str, Any]:
    """Return what was written, for JSON."""
    return {
        "schema": SCHEMA,
        "report": str(out),
        "bytes": size,
        "device": data.device,
        "family": data.family.name,
        "cases": data.figures.cases,
        "verdict": data.verdict.text if data.verdict else None,
        "variants": [one.name for one in data.ranking],
        "withheld": dict(data.withheld),
    }


RoofSource = Annotated[
    Path, typer.Option("--from", metavar="FOLDER", help="Folder with measurements.jsonl and test.jsonl.")
]
RoofPicture = Annotated[
    Path | None, typer.Option("--out", metavar="PNG", help="Draw the picture into this file; - is standard output.")
]


def roofline_command(
    source: RoofSource, out: RoofPicture = None, json: bool = False
) -> None:
    """Print how near the test kernels of a device come to the best that its measurements reached."""
    from perfmodel.analyses.roofline import largest, roofline_points
    from perfmodel.fitting.device_folder import measured_folder
    from perfmodel.report.roofline import picture_roofline, roofline_document, roofline_table

    one_output(json, out=out)
    _, tests = measured_folder(source)
    known = tests.known_facts
    shown = largest(roofline_points(tests))
    if out is not None:
        picture_roofline(shown, known, out, f"{known.slug}: roofs and test kernels")
    if json:
        print_document(roofline_document(shown, known))
    else:
        print_text(roofline_table(shown, known, table_width()), text_stream(out))
