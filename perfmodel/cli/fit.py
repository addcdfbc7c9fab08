"""``perfmodel fit`` and ``calibrate``: weights from measurements, and all the way from a device to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perfmodel.cli import options, output
from perfmodel.cli.devices import show_facts
from perfmodel.cli.streams import supervise_command
from perfmodel.cli.worker import run_for_each_device, target_device
from perfmodel.errors import OptionError
from perfmodel.io import file_part, is_standard_output

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
    source: options.Source,
    family: options.FamilyName = "stevens_kloeckner_2016",
    every: All = False,
    out: Out = None,
    nonnegative: Nonnegative = False,
    given_facts: options.GivenFacts = False,
    measured_facts: options.MeasuredFacts = False,
    facts: options.DeviceFile = None,
    driver: Driver = None,
) -> None:
    """Fit a model family, or all of them, to measurements and save the weights.

    The linear model takes seconds, bottleneck half a minute, and --all about two minutes.
    """
    from perfmodel.calibration.calibrate import CORE, fit_family
    from perfmodel.fitting import FitOptions
    from perfmodel.models import find_family

    if every:
        if family != CORE or nonnegative or given_facts or measured_facts or driver is not None:
            advice = "give --all with --from, --out and --facts only"
            raise OptionError("--all was given with an option of a single fit", advice)
        _fit_all(source, out, options.given_facts_of(facts))
        return
    chosen = find_family(family)
    path = out or (source if source.is_dir() else source.parent) / f"{file_part(chosen.name)}.json"
    if out is None:
        _check_new([path], "--out FILE")
    fitting = FitOptions(nonnegative=nonnegative, fit_facts=not given_facts)
    model = fit_family(source, chosen, fitting, measured_facts, options.given_facts_of(facts), driver)
    model.save(path)
    if not output.settings().json:
        output.print_text("\n".join(_model_lines(model, path)), output.text_stream(path))
    elif not is_standard_output(path):
        output.print_document(model.fitted.model_dump(mode="json", by_alias=True))


def _fit_all(folder: Path, out: Path | None, given: Mapping[str, Fact]) -> None:
    from perfmodel.calibration.calibrate import files_of_all, fit_device

    if not folder.is_dir():
        raise OptionError(f"--all was given with '{folder}', which is no folder", "give a device's folder with --from")
    if out is None:
        _check_new(files_of_all(folder), "--out FOLDER")
    fitted = fit_device(folder, out, output.CommandBar(), given=given)
    if output.settings().json:
        output.print_document(fitted_document(fitted))
    else:
        print(f"{fitted.text}\nwrote {fitted.folder}")


def _check_new(paths: Iterable[Path], option: str) -> None:
    """Refuse to replace a file that no option names."""
    for path in paths:
        if path.exists():
            raise OptionError(f"'{path}' exists already", f"give {option}, which may replace it")


def _model_lines(model: FittedModel, path: Path) -> Iterator[str]:
    from perfmodel.report.evaluation import weights_table

    fitted, residuals = model.fitted, model.fitted.residuals
    yield f"{model.family.name} on {model.device}, {fitted.rows} measurements"
    yield weights_table(model.weights, model.units, width=output.table_width())
    yield (
        f"relative error of the fit: geometric mean {100 * residuals.geometric_mean:.1f} %, "
        f"median {100 * residuals.median:.1f} %, largest {100 * residuals.largest:.0f} %"
    )
    yield from (f"note: {note}" for note in fitted.notes)
    yield f"wrote {path}"


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
    asked: options.CampaignOptions,
    out: Folders = None,
    tests: TestKernels = None,
    probes: Probes = False,
) -> None:
    """Check a device, probe and measure it, fit model families, and say what the fits are good for.

    On a processor with two cores it takes under 3 minutes with --quick, about 8 without and 50 with --full. Stopped at
    any time, the same command goes on.
    """
    single = {"--probes": probes, "--json": output.settings().json}
    run_for_each_device(context, asked.scheduler, asked.device, single)
    supervise_command(context)
    from perfmodel import measuring
    from perfmodel.calibration.calibrate import QUICK_S
    from perfmodel.calibration.kernel_choice import TEST_KERNELS, chosen_campaign, discovered

    budget = QUICK_S if asked.quick and asked.budget is None else asked.budget
    began, campaign = monotonic(), chosen_campaign(asked.quick, asked.full, budget)
    kernels = discovered(asked.kernels), discovered(tests, TEST_KERNELS)
    measuring.pin_threads()
    with target_device(asked.scheduler, asked.device) as target:
        _calibrate_device(target, campaign, out, kernels, probes, began)


def _calibrate_device(
    target: Device, campaign: Campaign, out: Path | None,
    kernels: tuple[tuple[KernelClass, ...], tuple[KernelClass, ...]], probes: bool, began: float,
) -> None:  # fmt: skip
    """Calibrate one device, or only probe it, and print what came out."""
    from perfmodel.calibration.calibrate import calibrate, expected_s, probe_device
    from perfmodel.calibration.recommended import data_folder
    from perfmodel.store import read

    folder, json = (out or data_folder()) / target.slug, output.settings().json
    typer.echo(f"device that builds and runs a kernel: {target.name} ({target.platform})", err=json)
    if probes:
        probe_device(target, folder, campaign, output.CommandBar(), again=True)
        show_facts(read(folder))
        return
    typer.echo(
        f"campaign '{campaign.name}' into {folder}: about {expected_s(campaign) / 60:.1f} min on a processor with "
        "two cores, less if it goes on from an earlier call",
        err=json,
    )
    fitted = calibrate(target, folder, campaign, output.CommandBar(), *kernels)
    if json:
        output.print_document({**fitted_document(fitted), "campaign": campaign.name, "seconds": monotonic() - began})
    else:
        output.print_text(f"\ntest kernels, none of them in the fit:\n\n{fitted.text}")
        print(f"wrote {folder} in {monotonic() - began:.0f} s")


def fitted_document(fitted: FittedDevice) -> dict[str, Any]:
    """Return what was fitted to a device, and how good it is, as one document."""
    from perfmodel.compare.contenders import families_document

    return {
        "schema": SCHEMA,
        "device": fitted.device,
        "folder": str(fitted.folder),
        "weights_files": {name: str(path) for name, path in fitted.weights_files.items()},
        "problems": dict(fitted.problems),
        "notes": list(fitted.notes),
        "family": fitted.chosen,
        "verdict": {"text": fitted.verdict.text, **asdict(fitted.verdict)},
        "comparison": families_document(fitted.contenders)["rows"],
    }
