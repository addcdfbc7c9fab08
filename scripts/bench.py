"""Measure how fast perfmodel is, next to the library that it replaces and next to running kernels.

`counts` times counting by perfmodel and by loopy.statistics, in total and without Loopy's preprocessing and scheduling;
`scale` times the ranking of many variants in several processes, next to a plain loop (an hour on two idle cores).
`repeatability` measures a sample of a device's kernels twice and shows how far the times differ; nothing is kept.
`tuner` counts what tuners try until they are near the best of a measured space (4 minutes a space; needs Kernel Tuner).
`recorded` does so on spaces that others recorded on GPUs, without a device (minutes a space; needs Kernel Tuner).
`watch` times a program with and without recording, which includes the writing of its kernels' programs at the end.
`gallery` measures the kernels of docs/lab/gallery on a quiet device, for the pages there (minutes).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    counts = commands.add_parser("counts", help="time counting, evaluation and memory")
    counts.add_argument("kernels", nargs="*", help="names; all by default, or all captured ones")
    counts.add_argument("--repeats", type=int, default=3, help="cold runs of each side")
    counts.add_argument("--add", action="append", default=[], help="a module: its kernels() gives names and builders")
    counts.add_argument("--captured", action="append", type=Path, default=[], help="a folder of captured kernels")
    tuner = commands.add_parser("tuner", help="compare ways to search a space of configurations")
    tuner.add_argument("--from", dest="folder", type=Path, default="docs/data/tuner", help="measured spaces")
    tuner.add_argument("--measure", action="append", default=[], help="first measure this space (matmul, stencil)")
    tuner.add_argument("--predict", action="store_true", help="first predict the spaces again, with these weights")
    tuner.add_argument("--repeats", type=int, default=30, help="runs of each tuner; 0 runs perfmodel's alone")
    recorded = commands.add_parser("recorded", help="compare ways to search spaces that others recorded on GPUs")
    recorded.add_argument("spaces", nargs="*", help="as titan-v-1, or convolution15-a100; all by default")
    recorded.add_argument("--from", dest="folder", type=Path, default="docs/data/tuner-recorded", help="their tables")
    recorded.add_argument("--predict", action="append", default=[], help="first predict this space (titan-v, gemm)")
    recorded.add_argument("--repeats", type=int, default=30, help="runs of each tuner; 0 searches nothing")
    recorded.add_argument("--alone", action="store_true", help="leave Kernel Tuner's strategies as they were")
    scale = commands.add_parser("scale", help="time the ranking of many variants, with several processes")
    scale.add_argument("--variants", type=int, nargs="+", default=[64, 512, 4096], help="numbers of variants")
    scale.add_argument("--repeats", type=int, default=3, help="runs of each; the median counts")
    scale.add_argument("--from", dest="recorded", type=Path, help="print this result of --json, and time nothing")
    repeat = commands.add_parser("repeatability", help="measure a sample of kernels twice")
    repeat.add_argument("--device", help="part of the device's name; the first of all by default")
    repeat.add_argument("--kernels", type=Path, help="folder of kernel classes; the measurement kernels by default")
    repeat.add_argument("--quick", action="store_true", help="with shorter runs")
    gallery = commands.add_parser("gallery", help="measure the gallery's kernels")
    gallery.add_argument("--device", required=True, help="part of the device's name")
    gallery.add_argument("--kernels", type=Path, default="docs/lab/gallery", help="folder of their files")
    gallery.add_argument("--out", type=Path, default="docs/data/gallery", help="folder of the devices' stores")
    watch = commands.add_parser("watch", help="time a program with and without recording")
    watch.add_argument("--repeats", type=int, default=5, help="runs of each; the median counts")
    watch.add_argument("program", nargs=argparse.REMAINDER, help="APP.PY ARGS...")
    for command in (counts, tuner, recorded, scale, repeat, gallery, watch):
        command.add_argument("--json", action="store_true", help="print one JSON document instead")
    arguments = parser.parse_args(argv)
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")  # before what starts threads is imported
    commands_by_name = {"counts": _counts, "repeatability": _repeatability, "scale": _scale}
    commands_by_name |= {"tuner": _tuner, "recorded": _recorded, "gallery": _gallery, "watch": _watch}
    result, text = commands_by_name[arguments.command](arguments, parser)
    print(json.dumps(result, indent=1) if arguments.json else text)
    return 0


def _counts(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> tuple[object, str]:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        from scripts.benchmarks import counts, kernel_sets, table

        try:
            kernels = kernel_sets.chosen(arguments.kernels, arguments.add, arguments.captured)
        except KeyError as error:
            parser.error(f"no kernel is called {error}; measurement_kernels and test_kernels hold them")
        result = counts.measure(kernels, arguments.repeats, sys.stderr)
    return result, table.table(result)


def _watch(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> tuple[object, str]:
    from scripts.benchmarks import watched

    if not arguments.program:
        parser.error("name a program, as scripts/bench watch app.py")
    result = watched.measure(arguments.program, arguments.repeats)
    return result, watched.text(result)


def _repeatability(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> tuple[object, str]:
    from perfmodel.calibration.kernel_choice import chosen_campaign, discovered
    from perfmodel.cli.output import CommandBar
    from perfmodel.errors import PerfModelError
    from perfmodel.measuring import pin_threads
    from perfmodel.opencl import find
    from scripts.lab import repeatability

    try:
        campaign, kernels = chosen_campaign(arguments.quick, False, None), discovered(arguments.kernels)
        pin_threads()
        device = find(arguments.device)
        twice = repeatability.measure_twice(kernels, device, CommandBar(), campaign)
    except PerfModelError as error:
        parser.error(str(error))
    result = repeatability.document_of(twice, device.name, campaign.name)
    return result, "\n".join(repeatability.lines_of(result))


def _gallery(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> tuple[object, str]:
    from subprocess import CalledProcessError

    from perfmodel.errors import PerfModelError
    from perfmodel.opencl import find
    from scripts.lab.gallery import measure_gallery

    try:
        store = arguments.out / find(arguments.device).facts.slug
        measure_gallery(arguments.kernels, arguments.device, store)
    except (PerfModelError, CalledProcessError) as error:
        parser.error(str(error))
    return {"store": str(store)}, f"{store}: now draw the pages by scripts/redraw gallery"


def _scale(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> tuple[object, str]:
    from scripts.benchmarks import scale

    try:
        if arguments.recorded is not None:
            result = json.loads(arguments.recorded.read_text())
        else:
            result = scale.measure(sorted(arguments.variants), arguments.repeats, sys.stderr)
    except (OSError, RuntimeError, ValueError) as error:
        parser.error(str(error))
    return result, scale.text(result)


def _tuner(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> tuple[object, str]:
    from perfmodel.errors import PerfModelError
    from scripts.benchmarks import tuner

    try:
        result = tuner.measured(arguments.folder, arguments.measure, arguments.predict, arguments.repeats)
    except (PerfModelError, KeyError) as error:
        parser.error(str(error))
    return result, tuner.text(result)


def _recorded(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> tuple[object, str]:
    from perfmodel.errors import PerfModelError
    from scripts.benchmarks import tuner_recorded, tuner_scores

    try:
        for space in arguments.predict:
            tuner_recorded.predict(arguments.folder, space)
        others = () if arguments.alone else tuner_scores.STRATEGIES
        asked = (arguments.folder, arguments.spaces, arguments.repeats, others)
        result = tuner_scores.search(*asked) if arguments.repeats else {}
    except (PerfModelError, FileNotFoundError, KeyError) as error:
        parser.error(str(error))
    return result, tuner_scores.text(result) if result else ""


if __name__ == "__main__":
    sys.exit(main())
