"""Draw parts of docs/ again from committed data, without a device.

quickstart, isolation, probes, packages, choice and real-gpus (minutes) draw pictures and pages; notebooks executes the
examples again; papers prints tables of two pages, and spt draws others of one of them; transfers (minutes) predicts
kernels by weights of other cards; counters (minutes) predicts the kernels with hardware counters; relatives writes the
weights of all devices into perfmodel/predicting/relatives.json; tuning draws what scripts/bench recorded found; gallery
predicts the kernels of docs/lab/gallery, next to what
scripts/bench gallery measured; watch draws the recording in docs/data/watch; others draws the table of other projects'
kernels; recipes draws the predicted and measured times of recipes; diffs draws the tables of changed kernels; intervals
draws how often intervals of the committed weights contain the times of groups that were left out.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from perfmodel.calibration.recommended import recommended_weights
from perfmodel.compare import compare
from perfmodel.compare.comparison import error_table
from perfmodel.errors import PerfModelError
from perfmodel.fitting.device_folder import measured_folders
from perfmodel.plot import predicted_vs_measured
from perfmodel.predicting.model import fit, load
from perfmodel.report import drawing
from perfmodel.report.evaluation import weights_table
from perfmodel.store import read
from perfmodel.watching import explain, page, read_recording
from scripts.benchmarks.tuner_scores import draw as draw_tuning
from scripts.lab import notebooks
from scripts.lab.diffs.judge import draw_diffs
from scripts.lab.gallery import draw_gallery
from scripts.lab.intervals import draw_intervals
from scripts.lab.isolation import draw_isolation
from scripts.lab.others import draw_others
from scripts.lab.packages import draw_packages
from scripts.lab.pages import draw_choice, draw_probes, draw_spt, write_relatives
from scripts.lab.real_gpus.counters import draw_counters
from scripts.lab.real_gpus.page import real_gpus
from scripts.lab.recipe_times import draw_recipes
from scripts.lab.studies import karsin_tables, printed_times
from scripts.lab.transfers import draw_transfers

ROOT = Path(__file__).resolve().parents[1]
RECORDED = "nvidia-titan-v"
UNASKED = ("quickstart", "isolation", "probes", "packages")
PARTS = (*UNASKED, "choice", "real-gpus", "notebooks", "papers", "spt", "transfers", "counters", "relatives", "tuning",
         "gallery", "watch", "others", "recipes", "diffs", "intervals")  # fmt: skip


def quickstart(data: Path, picture: Path) -> None:
    tests, weights = read(data / "test.jsonl"), recommended_weights(data)
    model = fit(read(data)) if weights is None else load(weights)
    rows = compare(model, tests)
    print(f"{weights_table(model.weights, model.units)}\n\n{error_table(rows)}")
    drawing.write_figure(predicted_vs_measured(rows, title=f"{model.family.name}\n{tests.device}"), picture)
    print(f"\nwrote {picture}")


def draw_watched(recording: Path, picture: Path) -> None:
    """Draw what the kernels of a committed recording would save, and when device and host worked."""
    read = read_recording(recording)
    savings = page.savings(explain(read, jobs=1))
    timeline = page.timeline(read.processes[0])
    figure = drawing.empty_figure(8.5, 4.6)
    upper, lower = figure.subplots(2, 1, height_ratios=(3, 1))
    for axes, drawn in ((upper, savings), (lower, timeline)):
        if drawn is not None:
            drawing.draw(axes, drawn)
    drawing.write_figure(figure, picture)


def print_each(lines: Iterable[str]) -> None:
    for line in lines:
        print(line, flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/redraw", description=__doc__)
    parser.add_argument("part", nargs="?", choices=PARTS, help="by default quickstart, isolation, probes and packages")
    parser.add_argument("--data", type=Path, default=ROOT / "docs" / "data" / "calibrate-quick", help="for quickstart")
    parser.add_argument("--devices", type=Path, default=ROOT / "fitted_weights", help="folder of the devices' folders")
    parser.add_argument("--draws", type=int, default=100, help="for choice: random shares of each size")
    parser.add_argument("--family", action="append", default=[], help="for real-gpus: a model family; all by default")
    parser.add_argument("--jobs", type=int, default=2, help="for real-gpus: processes")
    parser.add_argument("--out", type=Path, default=ROOT / "docs", help="folder of the pages and pictures")
    options = parser.parse_args(argv)
    lab = options.out / "lab"
    draw: dict[str, Callable[[], object]] = {
        "quickstart": lambda: quickstart(options.data, options.out / "quickstart.png"),
        "isolation": lambda: draw_isolation(
            options.devices, lab / "isolation.md", options.out / "data" / "isolation.csv", lab / "isolation.png"
        ),
        "probes": lambda: draw_probes(options.devices, options.out),
        "packages": lambda: draw_packages(ROOT / "perfmodel", options.out / "packages.svg"),
        "choice": lambda: print(draw_choice(
            measured_folders(options.devices), lab / "choice.png", lab / "choosing.md", options.draws
        )),
        "real-gpus": lambda: print_each(
            real_gpus(options.devices / RECORDED, options.out, options.family, options.jobs)
        ),
        "transfers": lambda: draw_transfers(
            options.devices, lab / "transfer.md", options.out / "data" / "transfers.csv.gz"
        ),
        "counters": lambda: draw_counters(options.devices, options.out),
        "relatives": lambda: write_relatives(options.devices),
        "tuning": lambda: draw_tuning(options.out / "data" / "tuner-recorded", lab / "tuning-recorded.md"),
        "watch": lambda: draw_watched(options.out / "data" / "watch", options.out / "watch.png"),
        "gallery": lambda: draw_gallery(options.devices, lab / "gallery", options.out / "data" / "gallery"),
        "others": lambda: draw_others(options.out / "data" / "others.csv", lab / "others.md"),
        "diffs": lambda: draw_diffs(options.out / "data" / "diffs.csv", lab / "diffs.md"),
        "intervals": lambda: draw_intervals(
            options.devices, options.out / "data" / "intervals.csv", lab / "intervals.md"
        ),
        "recipes": lambda: draw_recipes(options.out / "data" / "recipes.csv", options.out / "recipes.png"),
        "notebooks": notebooks.redraw,
        "papers": lambda: print("\n".join([printed_times.table(), "", *karsin_tables.lines()])),
        "spt": lambda: draw_spt(measured_folders(options.devices), lab / "spt.md"),
    }  # fmt: skip
    try:
        for part in [options.part] if options.part else UNASKED:
            draw[part]()
    except PerfModelError as error:
        print(f"redraw: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
