"""``perfmodel report``: one HTML file on a device, its model and a user's kernels."""

from __future__ import annotations

import platform
import shlex
import sys
from collections.abc import Sequence
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from perfmodel import analyses, calibration, kernels, predicting, report, store, watching
from perfmodel.cli import numbers, options, output, watch
from perfmodel.errors import OptionError, OutputError
from perfmodel.io import check_output_path, write_whole
from perfmodel.progress import task

SCHEMA = "perfmodel.report/1"

Kernel = Annotated[Path | None, Argument(
    metavar="[KERNEL.PY|RECORDING]", help="Python file with kernel() or variants(), or a folder of `perfmodel watch`.",
)]  # fmt: skip
Page = Annotated[Path, Option("--out", metavar="FILE.html", help="Write this file; - is standard output.")]
Source = Annotated[Path | None, Option(
    "--from", metavar="FOLDER",
    help="Folder with measurements.jsonl, test.jsonl and weights; by default the folder of the device in use.",
)]  # fmt: skip
Named = Annotated[str | None, Option(
    "--family", help="The family to show, by its name or its Python file; by default the recommended one.",
)]  # fmt: skip
Kept = Annotated[Path | None, Option(
    "--keep", metavar="FOLDER", help="Store of `time --keep` or `tune --keep`: show its times too.",
)]  # fmt: skip


def report_command(
    kernel: Kernel = None, out: Page = Path("report.html"), source: Source = None, family: Named = None,
    size: options.Sizes = None, statistic: options.Statistics = None, keep: Kept = None, on: watch.On = None,
) -> None:  # fmt: skip
    """Write one HTML file on a device, its model, and your kernels; or on a recorded program.

    The file needs no network and no other file. It takes about 15 seconds, and a few more for each new variant.
    """
    output.one_output(out=out)
    report.html.page.check_extra()
    if out.is_dir():
        raise OutputError(f"cannot write '{out}': it is a folder", "name a file in it")
    check_output_path(out)
    if kernel is not None and kernel.is_dir():
        if source or family or size or statistic or keep:
            problem = "--from, --family, -p, --statistics or --keep was given with a recording"
            raise OptionError(problem, f"give only --on and --out: perfmodel report {kernel}")
        _report_recording(kernel, out, on or ())
        return
    if on:
        raise OptionError("--on was given without a recording", "name its folder: perfmodel report --on h100 RECORDING")
    if kernel is None and (size or statistic or keep):
        problem = "-p, --statistics or --keep was given without a kernel file"
        raise OptionError(problem, "name it first: perfmodel report KERNEL.PY -p n=1024")
    at, known = numbers.sizes(size), numbers.statistics(statistic)
    builders = kernels.load_kernel_file(kernel).builders if kernel else {}
    timed = None if keep is None else store.read(keep)
    folder, model = _folder_and_model(source, family)
    bar = output.CommandBar()
    with task(bar, f"report on {model.device}", analyses.report_data.steps_of(folder)):
        data = analyses.report_data.report_data(
            model, folder, builders, at, statistics=known, timed=timed, advance=bar.advance
        )
    _write(report.html.page.report_page(data, _origin(kernel)), out, {
        "device": data.device, "family": data.family.name, "cases": data.figures.cases,
        "verdict": data.verdict.text if data.verdict else None,
        "variants": [variant.name for variant in data.ranking], "withheld": dict(data.withheld),
    })  # fmt: skip


def _write(page: str, out: Path, about: dict[str, Any]) -> None:
    content = page.encode()
    write_whole(out, content)
    document = {"schema": SCHEMA, "report": str(out), "bytes": len(content), **about}
    output.show_written(out, document, f"report: {out} ({len(content) / 1e6:.1f} MB)")


def _report_recording(folder: Path, out: Path, on: Sequence[str]) -> None:
    from perfmodel.watching.page import recording_page

    models = {name: watch.model_of(name) for name in on}
    explained = watch.explanations(watching.read_recording(folder), models)
    _write(recording_page(*explained, _origin(None)), out, watching.tables.document(*explained))


def _folder_and_model(source: Path | None, family: str | None) -> tuple[Path, predicting.FittedModel]:
    recommended = calibration.recommended
    if source is None:
        weights = recommended.find_weights(None, family)
        folder, source = weights.folder, recommended.data_folder() / weights.folder.name
        if store.paths(folder)[0].is_file():
            output.message(weights.text)
            return folder, predicting.load(weights.path, family)
        if not store.paths(source)[0].is_file():
            problem = f"'{folder}' has weights, but not the measurements for a report"
            advice = "calibrate the device first (perfmodel calibrate --quick), or give a folder with --from"
            raise OptionError(problem, advice)
        output.message(f"the weights in use are installed without measurements, so the report is on {source}")
    return source, predicting.load(recommended.folder_weights(source, family), family)


def _origin(kernel: Path | None) -> dict[str, str]:
    from perfmodel.libraries import installed

    libraries = ("numpy", "loopy", "islpy", "jinja2", "plotly")
    versions = [f"Python {platform.python_version()}", *(f"{name} {installed(name)}" for name in libraries)]
    return {
        "written": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "version of perfmodel": version("perfmodel"), "command": shlex.join(["perfmodel", *sys.argv[1:]]),
        **({"kernels": str(kernel)} if kernel else {}), "libraries of this report": ", ".join(versions),
    }  # fmt: skip
