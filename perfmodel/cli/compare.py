"""``perfmodel compare``: models and roofs against measured times. The command uses no device."""

from pathlib import Path
from typing import Annotated

from typer import Option

import perfmodel
from perfmodel import analyses, calibration, compare, display, fitting, report, store
from perfmodel.cli import options, output
from perfmodel.errors import OptionError

STORES = Path("fitted_weights")

Folders = Annotated[list[Path] | None, Option(
    "--from", metavar="FOLDER",
    help="Folder with measurements.jsonl and test.jsonl; repeat for more devices. By default the folders of "
    "fitted_weights/ that have both, or your own, except simulated ones; for one model or --roofline the folder of "
    "the device in use. One model also takes FOLDER/FILE.jsonl, another file with test kernels.",
)]  # fmt: skip
Families = Annotated[list[str] | None, Option(
    "--family", help="A model family, an expression after 'expr:', or a .py file; repeat for more families.",
)]  # fmt: skip
Protocols = Annotated[list[str] | None, Option(
    "--protocol", metavar="NAME",
    help="Judge one model by A, B, sizes, C (one cheap run of each variant), groups, kernels or variants; repeat "
    "for more. By default A, B and sizes; the last three without test.jsonl.",
)]  # fmt: skip
Roofline = Annotated[bool, Option("--roofline", help="Compare the test kernels with the roofs of the device instead.")]
Picture = Annotated[Path | None, Option(
    "--picture", metavar="FILE.png|.svg", help="Draw the errors of the families, the times or the roofline.",
)]  # fmt: skip
FiguresCsv = Annotated[bool, Option("--csv", help="Print the figures, or the cases of one model, as CSV.")]


def compare_command(
    source: Folders = None, family: Families = None, protocol: Protocols = None, roofline: Roofline = False,
    picture: Picture = None, csv: FiguresCsv = False,
) -> None:  # fmt: skip
    """Compare models with measured times: all families, one in detail, or the roofs.

    With one --family, or --protocol: predicted and measured times of the test kernels, the weights, and the errors.
    Else a table of all families; it takes a minute or two for each device. One linear model takes seconds.
    """
    report.drawing.check_format(picture)
    if roofline:
        if family or protocol:
            raise OptionError("--roofline was given with --family or --protocol", "give it alone: it uses no model")
        _show_roofline(source, picture, csv)
    elif protocol or len(family or ()) == 1:
        _show_model(source, family, protocol, picture, csv)
    else:
        _show_families(source, tuple(family or ()), picture, csv)


def _show_families(source: list[Path] | None, names: tuple[str, ...], picture: Path | None, csv: bool) -> None:
    folders, contenders = source or _measured_folders(), compare.contenders
    output.message("each family is fitted many times, with groups of kernels left out: a minute or two for each device")
    judged = [contenders.contenders(folder, names, output.CommandBar()) for folder in folders]
    every = [contender for rivals in judged for contender in rivals]
    if picture is not None:
        report.drawing.write_figure(report.pictures.families_figure(judged), picture)
    output.show(
        lambda: {"schema": contenders.SCHEMA, "rows": list(contenders.records(every))},
        lambda: "\n\n".join(contenders.families_table(rivals, output.table_width()) for rivals in judged),
        (lambda: display.csv_text(contenders.COLUMNS, contenders.records(every))) if csv else None,
    )


def _measured_folders() -> list[Path]:
    """Return folders of measured devices in the current folder, or else in the user's own and the shipped folders."""
    known = fitting.device_folder
    if STORES.is_dir():
        return known.measured_folders(STORES)
    every = (folder for _, folder, _ in calibration.recommended.fitted_devices())
    found = [folder for folder in every if (folder / store.TESTS_FILE).is_file() and not known.is_simulated(folder)]
    if not found:
        raise OptionError("no device was measured with test kernels", "measure one (perfmodel calibrate), or give one")
    return found


def _show_model(
    source: list[Path] | None, family: list[str] | None, protocol: list[str] | None, picture: Path | None, csv: bool
) -> None:
    from perfmodel.models import find_family

    if len(family or ()) > 1:
        raise OptionError("--protocol was given with several families", "give one --family")
    name = family[0] if family else None
    if not source:
        weights = options.weights_in_use()
        source, name = [weights.folder], name or weights.path.stem
    fitting.device_folder.refuse_mixture([_folder_and_tests(each)[0] for each in source])
    chosen, asked = find_family(name or calibration.calibrate.CORE), _protocols(protocol)
    judged = [
        calibration.calibrate.judge_family(folder, chosen, protocols=asked, tests=tests)
        for folder, tests in map(_folder_and_tests, source)
    ]
    if picture is not None:
        rows = [row for each in judged for row in each.evaluations[0].rows]
        report.drawing.write_figure(perfmodel.plot.predicted_vs_measured(rows, title=chosen.name), picture)
    evaluations = [evaluation for each in judged for evaluation in each.evaluations]
    output.show(
        lambda: report.document(judged), lambda: report.evaluation_text(judged, output.table_width()),
        (lambda: report.predictions_csv(evaluations)) if csv else None,
    )  # fmt: skip


def _folder_and_tests(source: Path) -> tuple[Path, str]:
    return (source.parent, source.name) if source.suffix == ".jsonl" else (source, store.TESTS_FILE)


def _protocols(names: list[str] | None) -> tuple[str, ...] | None:
    asked: dict[str, None] = {}
    for name in names or ():
        if name not in compare.PROTOCOLS:
            raise OptionError(f"--protocol is '{name}'", f"give one of {', '.join(compare.PROTOCOLS)}")
        asked |= dict.fromkeys((name, "A/C", "B/C") if name == "C" else (name,))
    return tuple(asked) or None


def _show_roofline(source: list[Path] | None, picture: Path | None, csv: bool) -> None:
    if len(source or ()) > 1:
        raise OptionError("--roofline was given with several folders", "give one --from")
    _, tests = fitting.device_folder.measured_folder(source[0] if source else options.weights_in_use().folder)
    facts, points = tests.known_facts, analyses.roofline.roofline_points(tests)
    if picture is not None:
        title = f"{facts.slug}: roofs and test kernels"
        report.drawing.write_figure(perfmodel.plot.roofline(points, facts=facts, title=title), picture)
    output.show(
        lambda: report.evaluation.roofline_document(points, facts),
        lambda: report.evaluation.roofline_text(points, facts, output.table_width()),
        report.evaluation.roofline_table(points).csv if csv else None,
    )
