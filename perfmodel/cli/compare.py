"""Models held against measurements: ``perfmodel compare``, ``evaluate``, ``roofline`` and ``report``.

They read what was measured before, so that none of them uses a device.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from perfmodel import analyses, calibration, compare, fitting, predicting, report
from perfmodel.cli import numbers, options, output
from perfmodel.errors import OptionError, OutputError, PerfModelError, UnmeasuredFeatureError
from perfmodel.io import check_place, is_standard_output, write_whole

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts
    from perfmodel.facts import DeviceFacts

STORES = Path("fitted_weights")


def _measured_folders() -> list[Path]:
    """Return the folders of measured devices: in the current folder, else the user's own and those of perfmodel."""
    from perfmodel.store import TESTS_FILE

    known = fitting.device_folder
    if STORES.is_dir():
        return known.measured_folders(STORES)
    every = (folder for _, folder, _ in calibration.recommended.fitted_devices())
    found = [folder for folder in every if (folder / TESTS_FILE).is_file() and not known.is_simulated(folder)]
    if not found:
        raise OptionError("no device was measured with test kernels", "measure one (perfmodel calibrate), or give one")
    return found


# {{{ compare

Families = Annotated[
    list[str] | None, Option("--family", help="A model family; repeat for more. All of them by default.")
]
Folders = Annotated[
    list[Path] | None,
    Option(
        "--from", metavar="FOLDER",
        help="Folder with measurements.jsonl and test.jsonl; repeat for more devices. By default those of "
        "fitted_weights/ that have both, or your own, but for simulated ones. Without test.jsonl measured kernels are "
        "left out.",
    ),
]  # fmt: skip
FiguresCsv = Annotated[bool, Option("--csv", help="Print the figures as CSV.")]


def compare_command(source: Folders = None, family: Families = None, csv: FiguresCsv = False) -> None:
    """Fit every model family to the same measurements and print one table of how good each is.

    It takes a minute or two for each device, several devices at once; it says beforehand how long.
    """
    folders, names = source or _measured_folders(), tuple(family or ())
    seconds = compare.contenders.expected_s(folders, names)
    span = f"{seconds / 60:.1f} minutes" if seconds > 90 else f"{max(seconds, 1):.0f} s"
    output.tell(f"this takes about {span}: each family is fitted again and again, groups left out")
    judged = compare.contenders.contenders_of_devices(folders, names, output.CommandBar())
    every = [contender for rivals in judged for contender in rivals]
    if csv and not output.settings().json:
        print(compare.contenders.families_csv(every), end="")
        return
    output.show(
        lambda: compare.contenders.families_document(every),
        lambda: "\n\n".join(compare.contenders.families_table(rivals, output.table_width()) for rivals in judged),
    )

# }}}


# {{{ evaluate

Stores = Annotated[
    list[Path] | None,
    Option(
        "--from", metavar="FOLDER",
        help="Folder with measurements.jsonl and test.jsonl; repeat for more devices. By default that of the device's "
        "weights.",
    ),
]  # fmt: skip
EvaluatedFamily = Annotated[
    str | None,
    Option(
        "--family",
        help="Its name, 'expr:' and seconds from features and weights w_*, or a .py file; by default "
        "stevens_kloeckner_2016, without --from the family that is recommended for the device.",
    ),
]
TableCsv = Annotated[str, Option("--csv", metavar="TABLE", help="Print a table as CSV: predictions or weights.")]
Tests = Annotated[
    str, Option("--tests", metavar="FILE", help="File of the folder with the kernels that are predicted.")
]
Protocols = Annotated[
    list[str] | None,
    Option(
        "--protocol", metavar="NAME",
        help="A, B, sizes, C (one cheap run of each variant), groups, kernels or variants; repeat for more. By default "
        "A, B and sizes; where the folder has no file with tests, the last three.",
    ),
]  # fmt: skip

def evaluate_command(
    source: Stores = None,
    tests: Tests = "test.jsonl",
    family: EvaluatedFamily = None,
    protocol: Protocols = None,
    csv: TableCsv = "",
) -> None:
    """Print predicted and measured times of the test kernels, the weights, and how good the model is.

    A folder without test kernels is judged by measured kernels that are left out of the fit.

    The linear model takes seconds, and bottleneck half a minute for each folder.
    """
    from perfmodel.models import find_family

    if csv not in ("", "predictions", "weights"):
        raise OptionError(f"--csv is '{csv}'", "give predictions or weights")
    if not source:
        weights = options.weights_in_use()
        source, family = [weights.folder], family or weights.path.stem
    fitting.device_folder.refuse_mixture(source)
    chosen, asked = find_family(family or calibration.calibrate.CORE), _protocols(protocol)
    judged = [calibration.calibrate.judge_family(folder, chosen, protocols=asked, tests=tests) for folder in source]
    if output.settings().json or not csv:
        output.show(lambda: report.document(judged), lambda: report.evaluation_text(judged, output.table_width()))
    elif csv == "predictions":
        print(report.predictions_csv([row for each in judged for row in each.evaluations]), end="")
    else:
        print(report.weights_csv([each.model for each in judged]), end="")


def _protocols(names: Iterable[str] | None) -> tuple[str, ...] | None:
    """Return the protocols that ``--protocol`` options name, if any; with C, A and B over its cases follow it."""
    asked: dict[str, None] = {}
    for name in names or ():
        if name not in compare.PROTOCOLS:
            raise OptionError(f"--protocol is '{name}'", f"give one of {', '.join(compare.PROTOCOLS)}")
        asked |= dict.fromkeys((name, "A/C", "B/C") if name == "C" else (name,))
    return tuple(asked) or None

# }}}


# {{{ roofline

RoofSource = Annotated[
    Path | None,
    Option(
        "--from", metavar="FOLDER",
        help="Folder with measurements.jsonl and test.jsonl, and weights for a kernel file; by default that of the "
        "device in use.",
    ),
]  # fmt: skip
RoofKernel = Annotated[
    Path | None, Argument(metavar="[KERNEL.PY]", help="Python file with kernel() or variants(), at predicted times.")
]
RoofPicture = Annotated[
    Path | None, Option("--out", metavar="PNG", help="Draw the picture into this file; - is standard output.")
]


def roofline_command(
    kernel: RoofKernel = None,
    source: RoofSource = None,
    out: RoofPicture = None,
    size: options.Sizes = None,
    statistic: options.Statistics = None,
) -> None:
    """Print how near your kernels, or the test kernels of a device, come to the best that its measurements reached."""
    output.one_output(out=out)
    if kernel is None and (size or statistic):
        raise _no_kernel("roofline")
    if kernel is not None:
        shown, known = _own_points(kernel, source, numbers.sizes(size), numbers.statistics(statistic))
        what = kernel.stem
    else:
        _, tests = fitting.device_folder.measured_folder(source or options.weights_in_use().folder)
        known = tests.known_facts
        shown, what = analyses.roofline.largest(analyses.roofline.roofline_points(tests)), "test kernels"
    if out is not None:
        report.roofline.picture_roofline(shown, known, out, f"{known.slug}: roofs and {what}")
    if output.settings().json:
        output.print_document(report.roofline.roofline_document(shown, known))
    else:
        output.print_text(report.roofline.roofline_table(shown, known, output.table_width()), output.text_stream(out))


def _own_points(
    kernel: Path, source: Path | None, at: Mapping[str, int], known: Mapping[str, float]
) -> tuple[tuple[analyses.roofline.KernelPoint, ...], DeviceFacts]:
    """Return the variants of a kernel file at their predicted times, and the facts with the roofs."""
    _, model = _shown_model(source, None)
    counts = options.counted_variants(kernel, None, model.fitted.subgroup_size, statistics=known)
    predicted = predicting.Predicting(model, spared=UnmeasuredFeatureError).predicted(counts, at).required()
    facts = analyses.roofline.facts_with_roofs(model)
    times = {name: variant.prediction.seconds for name, variant in predicted.variants.items()}
    for name, error in predicted.errors.items():
        output.tell(f"{name}: {error}")
    points = analyses.roofline.points_of(facts, counts, at, times)
    return tuple(replace(point, kernel=kernel.stem, form=name) for name, point in points.items()), facts


def _no_kernel(command: str) -> OptionError:
    problem = "an option is about a kernel file (-p, --statistics, --keep), and none was given"
    return OptionError(problem, f"name it first: perfmodel {command} KERNEL.PY -p n=1024")

# }}}


# {{{ report

REPORT_SCHEMA = "perfmodel.report/1"

Kernel = Annotated[
    Path | None, Argument(metavar="[KERNEL.PY]", help="Python file with kernel() or variants(); these stand first.")
]
Page = Annotated[Path, Option("--out", metavar="FILE.html", help="Write this file; - is standard output.")]
Source = Annotated[
    Path | None,
    Option(
        "--from", metavar="FOLDER",
        help="Folder with measurements.jsonl, test.jsonl and weights; by default that of the device in use.",
    ),
]  # fmt: skip
Named = Annotated[
    str | None,
    Option("--family", help="The family that is shown, of those whose weights the folder holds; by default "
                 "the one that calibration recommends. Its name, or its Python file, which is run."),
]  # fmt: skip


Kept = Annotated[
    Path | None,
    Option("--keep", metavar="FOLDER", help="Store of `time --keep` or `tune --keep`, whose times are shown too."),
]


def report_command(
    kernel: Kernel = None,
    out: Page = Path("report.html"),
    source: Source = None,
    family: Named = None,
    size: options.Sizes = None,
    statistic: options.Statistics = None,
    keep: Kept = None,
) -> None:
    """Write one HTML file on a device, its model, and your kernels: it needs no network and no other file.

    It takes about 15 seconds, and a few more for each variant that has not been counted yet.
    """
    from perfmodel.counts import count
    from perfmodel.kernels.files import load_kernel_file
    from perfmodel.store import read

    output.one_output(out=out)
    report.html.page.check_extra()
    if out.is_dir():
        raise OutputError(f"cannot write '{out}': it is a folder", "name a file in it")
    check_place(out)
    if kernel is None and (size or statistic or keep):
        raise _no_kernel("report")
    at, known = numbers.sizes(size), numbers.statistics(statistic)
    builders = load_kernel_file(kernel).builders if kernel else {}
    timed = None if keep is None else read(keep)
    folder, model = _shown_model(_with_rows() if source is None else source, family)
    counts: dict[str, KernelCounts] = {}
    uncounted: dict[str, str] = {}
    bar = output.CommandBar()
    bar.start(f"report on {model.device}", len(builders) + analyses.report_data.steps_of(folder))
    try:
        for name, build in builders.items():
            try:
                counts[name] = count(build(), model.fitted.subgroup_size, check=True, statistics=known)
            except PerfModelError as error:
                uncounted[name] = str(error)
            bar.advance(name)
        data = analyses.report_data.report_data(
            model, folder, counts, at, uncounted=uncounted, timed=timed, advance=bar.advance
        )
    finally:
        bar.stop()
    content = report.html.page.report_page(data, _made(kernel)).encode()
    write_whole(out, content)
    if output.settings().json:
        output.print_document({
            "schema": REPORT_SCHEMA, "report": str(out), "bytes": len(content), "device": data.device,
            "family": data.family.name, "cases": data.figures.cases,
            "verdict": data.verdict.text if data.verdict else None,
            "variants": [variant.name for variant in data.ranking], "withheld": dict(data.withheld),
        })  # fmt: skip
    elif not is_standard_output(out):
        output.print_text(f"report: {out} ({len(content) / 1e6:.1f} MB)")


def _shown_model(source: Path | None, family: str | None) -> tuple[Path, predicting.FittedModel]:
    """Return the folder of the device and its model."""
    if source is None:
        weights = options.weights_in_use(family)
        return weights.folder, predicting.load(weights.path, family)
    return source, predicting.load(calibration.recommended.folder_weights(source, family), family)


def _with_rows() -> Path | None:
    """Return the user's own folder of the device in use where weights that ship, without measured rows, come first."""
    from perfmodel.store import paths

    folder = calibration.recommended.find_weights().folder
    own = calibration.recommended.data_folder() / folder.name
    if paths(folder)[0].is_file():
        return None
    if paths(own)[0].is_file():
        output.tell(f"the weights in use ship without measurements, so the report is on {own}")
        return own
    problem = f"'{folder}' has weights, and not the measurements that a report shows"
    raise OptionError(problem, "calibrate the device first (perfmodel calibrate --quick), or give a folder with --from")


def _made(kernel: Path | None) -> dict[str, str]:
    """Return when, by which versions and by which command the report is made."""
    import platform
    from datetime import datetime, timezone
    from importlib.metadata import version

    from perfmodel.libraries import installed

    libraries = ("numpy", "loopy", "islpy", "jinja2", "plotly")
    versions = [f"Python {platform.python_version()}", *(f"{name} {installed(name)}" for name in libraries)]
    return {
        "written": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "version of perfmodel": version("perfmodel"),
        "command": shlex.join(["perfmodel", *sys.argv[1:]]),
        **({"kernels": str(kernel)} if kernel else {}),
        "libraries of this report": ", ".join(versions),
    }

# }}}
