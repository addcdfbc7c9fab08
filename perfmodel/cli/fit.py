"""``perfmodel fit`` and ``calibrate``: weights from measurements, and all the way from a device to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perfmodel.cli.options import (
    CampaignOptions,
    DeviceFile,
    FamilyName,
    GivenFacts,
    MeasuredFacts,
    Source,
    given_facts_of,
)
from perfmodel.cli.output import print_document, print_text, text_stream
from perfmodel.cli.settings import table_width
from perfmodel.cli.streams import supervise_command
from perfmodel.cli.worker import run_for_each_device, target_device
from perfmodel.errors import OptionError

if TYPE_CHECKING:
    from perfmodel.calibration.calibrate import FittedDevice
    from perfmodel.facts import Fact
    from perfmodel.kernels import KernelClass
    from perfmodel.measuring import Campaign
    from perfmodel.opencl import Device
    from perfmodel.predicting.model import FittedModel

All = Annotated[bool, typer.Option("--all", help="Fit every family, write all weights files and the verdict.")]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", "--output", "-o", metavar="FILE|FOLDER",
        help="Weights file to write (- prints it), with --all the folder for all of them; beside the measurements "
        "by default.",
    ),
]  # fmt: skip
Nonnegative = Annotated[bool, typer.Option("--nonnegative", help="Rule out weights below zero.")]
Driver = Annotated[
    str | None, typer.Option("--driver", metavar="NAME", help="Fit only what was measured with this driver version.")
]


def fit_command(
    source: Source,
    family: FamilyName = "stevens_kloeckner_2016",
    every: All = False,
    out: Out = None,
    nonnegative: Nonnegative = False,
    given_facts: GivenFacts = False,
    measured_facts: MeasuredFacts = False,
    facts: DeviceFile = None,
    driver: Driver = None,
    json: bool = False,
) -> None:
    """Fit a model family, or all of them, to measurements and save the weights.

    The linear model takes seconds, bottleneck half a minute, and --all about two minutes.
    """
    from perfmodel.calibration.calibrate import CORE, fit_family
    from perfmodel.fitting import FitOptions
    from perfmodel.io import file_part, is_standard_output
    from perfmodel.models import find_family

    if every:
        if family != CORE or nonnegative or given_facts or measured_facts or driver is not None:
            advice = "give --all with --from, --out and --facts only"
            raise OptionError("--all was given with an option of a single fit", advice)
        _fit_all(source, out, given_facts_of(facts), json)
        return
    chosen = find_family(family)
    path = out or (source if source.is_dir() else source.parent) / f"{file_part(chosen.name)}.json"
    if out is None:
        _check_new([path], "--out FILE")
    options = FitOptions(nonnegative=nonnegative, fit_facts=not given_facts)
    model = fit_family(source, chosen, options, measured_facts, given_facts_of(facts), driver)
    model.save(path)
    if json and not is_standard_output(path):
        print_document(model.fitted.model_dump(mode="json", by_alias=True))
    elif not json:
        with redirect_stdout(text_stream(path)):
            _print_model(model, path)


def _fit_all(folder: Path, out: Path | None, given: Mapping[str, Fact], json: bool) -> None:
    from perfmodel.calibration.calibrate import files_of_all, fit_device
    from perfmodel.cli.settings import CommandBar

    if not folder.is_dir():
        raise OptionError(f"--all was given with '{folder}', which is no folder", "give a device's folder with --from")
    if out is None:
        _check_new(files_of_all(folder), "--out FOLDER")
    found = fit_device(folder, out, CommandBar(), given=given)
    if json:
        print_document(fitted_document(found))
    else:
        print(f"{found.text}\nwrote {found.folder}")


def _check_new(paths: Iterable[Path], option: str) -> None:
    """Refuse to replace a file that no option names."""
    for path in paths:
        if path.exists():
            raise OptionError(f"'{path}' exists already", f"give {option}, which may replace it")


def _print_model(model: FittedModel, path: Path) -> None:
    from perfmodel.report.evaluation import weights_table

    fitted = model.fitted
    print_text(f"{model.family.name} on {model.device}, {fitted.rows} measurements")
    print_text(weights_table(model.weights, model.units, width=table_width()))
    print_text(
        f"relative error of the fit: geometric mean {100 * fitted.residuals.geometric_mean:.1f} %, "
        f"median {100 * fitted.residuals.median:.1f} %, largest {100 * fitted.residuals.largest:.0f} %"
    )
    for note in fitted.notes:
        print_text(f"note: {note}")
    print_text(f"wrote {path}")


SCHEMA = "perfmodel.calibration/1"

Folders = Annotated[
    Path | None,
    typer.Option("--out", metavar="FOLDER", help="Folder of the devices' folders; the user's data folder by default."),
]

TestKernels = Annotated[
    list[Path] | None, typer.Option("--tests", help="Folder of test kernel classes; repeat for more.")
]

Probes = Annotated[
    bool,
    typer.Option("--probes", help="Only probe the device again (caches, lanes, barriers, overlap); fit nothing."),
]


def calibrate_command(
    context: typer.Context,
    asked: CampaignOptions,
    out: Folders = None,
    tests: TestKernels = None,
    probes: Probes = False,
    json: bool = False,
) -> None:
    """Check a device, probe and measure it, fit model families, and say what the fits are good for.

    On a processor with two cores it takes under 3 minutes with --quick, about 8 without and 50 with --full. Stopped at
    any time, the same command goes on.
    """
    run_for_each_device(context, asked.scheduler, asked.device, {"--probes": probes, "--json": json})
    supervise_command(context)
    from perfmodel import measuring
    from perfmodel.calibration.calibrate import QUICK_S
    from perfmodel.calibration.kernel_choice import TEST_KERNELS, chosen_campaign, discovered

    budget = QUICK_S if asked.quick and asked.budget is None else asked.budget
    began, campaign = monotonic(), chosen_campaign(asked.quick, asked.full, budget)
    kernels = discovered(asked.kernels), discovered(tests, TEST_KERNELS)
    measuring.pin_threads()
    with target_device(asked.scheduler, asked.device) as target:
        _calibrate_device(target, campaign, out, kernels, probes, json, began)


def _calibrate_device(
    target: Device, campaign: Campaign, out: Path | None,
    kernels: tuple[tuple[KernelClass, ...], tuple[KernelClass, ...]], probes: bool, json: bool, began: float,
) -> None:  # fmt: skip
    """Calibrate one device, or only probe it, and print what came out."""
    from perfmodel.calibration.calibrate import calibrate, expected_s, probe_device
    from perfmodel.calibration.recommended import data_folder
    from perfmodel.cli.devices import show_facts
    from perfmodel.cli.settings import CommandBar
    from perfmodel.store import read

    folder = (out or data_folder()) / target.slug
    typer.echo(f"device that builds and runs a kernel: {target.name} ({target.platform})", err=json)
    if probes:
        probe_device(target, folder, campaign, CommandBar(), again=True)
        show_facts(read(folder), json)
        return
    typer.echo(
        f"campaign '{campaign.name}' into {folder}: about {expected_s(campaign) / 60:.1f} min on a processor with "
        "two cores, less if it goes on from an earlier call",
        err=json,
    )
    found = calibrate(target, folder, campaign, CommandBar(), *kernels)
    if json:
        print_document({**fitted_document(found), "campaign": campaign.name, "seconds": monotonic() - began})
    else:
        print_text(f"\ntest kernels, none of them in the fit:\n\n{found.text}")
        print(f"wrote {folder} in {monotonic() - began:.0f} s")


def fitted_document(found: FittedDevice) -> dict[str, Any]:
    """Return what was fitted to a device, and how good it is, as one document."""
    from perfmodel.compare.contenders import families_document

    verdict = found.verdict
    return {
        "schema": SCHEMA,
        "device": found.device,
        "folder": str(found.folder),
        "weights_files": {name: str(path) for name, path in found.weights_files.items()},
        "problems": dict(found.problems),
        "notes": list(found.notes),
        "family": found.chosen,
        "verdict": {
            "text": verdict.text,
            "to_time": verdict.to_time,
            "to_rank": verdict.to_rank,
            "reasons": list(verdict.reasons),
        },
        "comparison": families_document(found.contenders)["rows"],
    }
