"""Run the papers' own experiments on a device: tables (CSV), pictures, and each claim next to the findings.

Without --device nothing is measured: what docs/data/experiments holds is used again, and its pictures and pages
are drawn again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from perfmodel.cli.output import CommandBar
from perfmodel.errors import PerfModelError
from perfmodel.facts import DeviceFacts
from perfmodel.measuring import pin_threads
from perfmodel.measuring.supervised import follow_supervisor, supervise
from perfmodel.opencl import find
from scripts.lab import study_pages as pages
from scripts.lab.experiments import studies
from scripts.lab.studies import Study, claims_text
from scripts.lab.study_runs import QUICK_STUDY, STUDY, facts_of, measure_study, study_data, weights_folder

ROOT = Path(__file__).resolve().parents[1]


def main(argv: Sequence[str] | None = None) -> int:
    known = studies()
    parser = argparse.ArgumentParser(prog="scripts/papers", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"experiments ({', '.join(known)}); all by default")
    parser.add_argument("--list", action="store_true", help="list the experiments and run none")
    parser.add_argument("--device", help="measure on this device (part of its name or platform); it needs weights")
    parser.add_argument("--quick", action="store_true", help="fewer sizes and shorter runs: under 10 minutes for all")
    parser.add_argument("--from", dest="slugs", action="append", default=[], help="a device measured before; all")
    parser.add_argument("--out", type=Path, default=ROOT / "docs", help="folder of pages, pictures and data")
    options = parser.parse_args(argv)
    if unknown := [name for name in options.names if name not in known]:
        parser.error(f"no experiment is called '{unknown[0]}'; there are {', '.join(known)}")
    chosen = [known[name] for name in options.names or known]
    if options.list:
        print("\n".join(f"{one.name:10} {one.title}\n{'':10} {one.source}" for one in chosen))
        return 0
    slugs = options.slugs or pages.measured_devices(options.out)
    if options.device is not None and argv is None and not follow_supervisor():  # a kernel may end the process
        return supervise([sys.executable, "-m", "scripts.papers", *sys.argv[1:]], partial(print, file=sys.stderr))
    if not slugs and options.device is None:
        parser.error(f"'{options.out}' holds no experiment that was run; run some with --device NAME")
    try:
        if options.device is not None:
            pin_threads()
            device = find(options.device)
            slugs = [device.slug]
            options.names = [study.name for study in chosen]
            weights_folder(device.slug, options.device)  # before minutes of measuring
            print(f"all experiments take about {7 if options.quick else 17} minutes on two cores", file=sys.stderr)
            for study in chosen:
                measure_study(
                    study, device, pages.data_folder(options.out, device.slug),
                    QUICK_STUDY if options.quick else STUDY, CommandBar(),
                )  # fmt: skip
    except PerfModelError as error:
        print(f"papers: error: {error}", file=sys.stderr)
        return 2
    every = {one: chosen if options.names else pages.examined(options.out, one, chosen) for one in slugs}
    return max([_examine(slug, own, options.out, options.device) for slug, own in every.items()], default=0)


def _examine(slug: str, studies: Sequence[Study], out: Path, device: str | None) -> int:
    """Examine studies on a device, of which facts and weights are found once; return the status."""
    try:
        weights = weights_folder(slug, device)
        facts = facts_of(weights)
    except PerfModelError as error:
        print(f"papers: error: {slug}: {error}", file=sys.stderr)
        return 2
    return max([_examined(study, slug, out, weights, facts) for study in studies], default=0)


def _examined(study: Study, slug: str, out: Path, weights: Path, facts: DeviceFacts) -> int:
    """Examine a study on a device and write what it found; what one cannot do does not end the others."""
    try:
        data = study_data(study, pages.data_folder(out, slug), weights, facts)
        found = study.examine(data)
        written = pages.write(out, slug, study, data, found)
    except PerfModelError as error:
        print(f"papers: error: {study.name} on {slug}: {error}", file=sys.stderr)
        return 2
    print(f"\n{study.title}\n{data.facts.name}\n\n{claims_text(found.claims)}\n\nwrote {written}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
