"""``perfmodel report``: what is known of a device, its model and one's kernels, as one HTML file."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perfmodel.cli.options import (
    DeviceFile,
    Level,
    Sizes,
    Statistics,
    Variant,
    given_facts_of,
    sizes,
    statistics,
    units_of,
)
from perfmodel.cli.output import print_text, text_stream
from perfmodel.errors import OptionError, OutputFolderError, PerfModelError
from perfmodel.io import write_whole

if TYPE_CHECKING:
    from perfmodel.cli.progress import Bar
    from perfmodel.counts import KernelCounts
    from perfmodel.predict import FittedModel

Kernel = Annotated[
    Path | None,
    typer.Argument(metavar="[KERNEL.PY]", help="Python file with kernel() or variants(); these stand first."),
]
Out = Annotated[Path, typer.Option("--out", metavar="FILE.html", help="Write this file; - is standard output.")]
Source = Annotated[
    Path,
    typer.Option("--from", metavar="FOLDER", help="Folder of a device: measurements.jsonl, test.jsonl and weights."),
]
Named = Annotated[
    str | None,
    typer.Option("--family", help="The family whose weights of the folder are shown; by default the one "
                 "that verdict.txt recommends."),
]  # fmt: skip


def command(
    source: Source,
    kernel: Kernel = None,
    out: Out = Path("report.html"),
    family: Named = None,
    variant: Variant = None,
    size: Sizes = None,
    statistic: Statistics = None,
    facts: DeviceFile = None,
    level: Level = 0.9,
) -> None:
    """Write one HTML file on a device, its model, and your kernels. It takes about 15 seconds.

    The file needs no network and no other file.
    """
    from perfmodel.analyses.report_data import report_data, steps_of
    from perfmodel.cli.progress import Bar
    from perfmodel.report.html.page import check_extra, report_page

    check_extra()
    _check(out, kernel, size, variant, statistic)
    model = _model(source, family, facts)
    at, page = sizes(size), partial(report_page, made=_made(kernel, model))
    units = units_of(kernel, variant) if kernel else {}
    bar = Bar()
    bar.start(f"report on {model.device}", len(units) + steps_of(source))
    try:
        counts, uncounted = _counted(units, model.fitted.subgroup_size, statistics(statistic), bar)
        data = report_data(model, source, counts, at, level=level, uncounted=uncounted, advance=bar.advance)
    finally:
        bar.stop()
    content = page(data).encode()
    write_whole(out, content)
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
        problem = "-p, --variant and --statistics are about a kernel file, and none was given"
        raise OptionError(problem, "name it: perfmodel report KERNEL.PY --from FOLDER -p n=1024")


def _model(source: Path, family: str | None, facts: str | None) -> FittedModel:
    from perfmodel.calibration.folder_weights import folder_weights
    from perfmodel.predict import load

    model, given = load(folder_weights(source, family)), given_facts_of(facts)
    return model.with_facts(given) if given else model


def _counted(
    units: Mapping[str, Any], subgroup_size: int, known: Mapping[str, float], bar: Bar
) -> tuple[dict[str, KernelCounts], dict[str, str]]:
    """Return the counts of variants, and the reasons why others cannot be counted."""
    from perfmodel.counts import count

    counts, uncounted = {}, {}
    for name, unit in units.items():
        bar.advance(name)
        try:
            counts[name] = count(unit, subgroup_size, check=True, statistics=known)
        except PerfModelError as error:
            uncounted[name] = str(error)
    return counts, uncounted


def _made(kernel: Path | None, model: FittedModel) -> dict[str, str]:
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
