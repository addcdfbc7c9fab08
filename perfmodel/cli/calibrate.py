"""``perfmodel calibrate`` and ``fit``: weights for a device from measurements."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import Annotated, Any

import typer
from typer import Option

from perfmodel import calibration, compare, display, kernels, measuring, opencl, predicting, report, store
from perfmodel.cli import options, output
from perfmodel.cli.devices import show_facts
from perfmodel.errors import OptionError
from perfmodel.facts import Fact
from perfmodel.io import file_part, is_standard_output

SCHEMA = "perfmodel.calibration/1"

Folders = Annotated[Path | None, Option(
    "--out", metavar="FOLDER", help="Folder for the devices' folders; by default the user's data folder.",
)]  # fmt: skip
TestKernels = Annotated[list[Path] | None, Option("--tests", help="Folder of test kernel classes; repeat for more.")]
Probes = Annotated[bool, Option(
    "--probes", help="Only probe the device again (caches, lanes, barriers, overlap), without a fit.",
)]  # fmt: skip


def calibrate_command(
    context: typer.Context, asked: options.CampaignOptions, out: Folders = None, tests: TestKernels = None,
    probes: Probes = False, scheduler: options.Scheduler = None,
) -> None:  # fmt: skip
    """Probe and measure a device, fit model families, and judge the fits.

    On a processor with two cores it takes under 3 minutes with --quick, under 8 without and about 45 with --full.
    If it is interrupted, run it again: it continues.
    """
    here = scheduler is None
    if here:
        options.supervise_command(context)
    module, choice = calibration.calibrate, calibration.kernel_choice
    # Kernels are made first unless there is a budget, which covers everything, or kernels of a user, which may fail.
    own = not (asked.budget is not None or asked.kernels or tests)
    budget = asked.budget
    if budget is None and asked.quick:
        budget = module.QUICK_S
    elif own and here and not asked.full:
        budget = module.DEFAULT_S
    began, campaign = monotonic(), choice.chosen_campaign(asked.quick, asked.full, budget)
    given = tuple(choice.discovered(folders) if folders else None for folders in (asked.kernels, tests))
    if scheduler is not None:
        _calibrate_on_workers(scheduler, asked.device, out, campaign, given, probes)
        return
    measuring.pin_threads()
    _calibrate_device(opencl.find(asked.device), campaign, out, given, probes, began, own)


def _calibrate_device(
    target: opencl.Device, campaign: measuring.Campaign, out: Path | None,
    kernels: tuple[tuple[kernels.KernelClass, ...] | None, ...], probes: bool, began: float, made_first: bool,
) -> None:  # fmt: skip
    folder = (out or calibration.recommended.data_folder()) / target.slug
    output.wait_until_quiet()
    output.announce(f"device that builds and runs a kernel: {target.name} ({target.platform})")
    if probes:
        calibration.calibrate.probe_device(target, folder, campaign, output.CommandBar(), again=True)
        show_facts(store.read(folder), folder)
        return
    phases = calibration.calibrate.expected_phases(campaign, target, made_first)
    each = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in phases.items() if seconds)
    output.announce(
        f"campaign '{campaign.name}' into {folder}: about {sum(phases.values()) / 60:.1f} min on a processor with two "
        f"cores ({each}), less if it continues an earlier call"
    )
    fitted = calibration.calibrate.calibrate(
        target, folder, campaign, output.CommandBar(), *kernels, made_first=made_first
    )
    seconds = monotonic() - began
    took = "; ".join(f"{phase.name} {phase.seconds:.0f} s" for phase in fitted.phases)
    output.show(
        lambda: {
            **fitted_document(fitted), "campaign": campaign.name, "seconds": seconds, "expected_s": phases,
            "phases": [asdict(phase) for phase in fitted.phases],
        },
        lambda: f"\ntest kernels, none of them in the fit:\n\n{fitted.core}\n"
        f"wrote {folder} in {seconds:.0f} s, {sum(phases.values()):.0f} s expected ({took})\n"
        f"{calibration.calibrate.VERDICT_FILE} has the families side by side",
    )  # fmt: skip


def _calibrate_on_workers(
    address: str, device: str | None, out: Path | None, campaign: measuring.Campaign,
    kernels: tuple[tuple[kernels.KernelClass, ...] | None, ...], probes: bool,
) -> None:  # fmt: skip
    from perfmodel.cluster import connected

    for option, given in (("--probes", probes), ("--json", output.settings().json)):
        if given:
            raise OptionError(f"{option} was given with --scheduler", f"leave {option} out")
    folders, selectors = out or calibration.recommended.data_folder(), () if device is None else (device,)
    with connected(address) as client:
        for folder in calibration.scheduled.measured_devices(
            client, selectors, folders, campaign, output.CommandBar(), *kernels
        ):
            output.print_text(f"\n{calibration.calibrate.fit_measured(folder).core}")
            print(f"wrote {folder}")


def fitted_document(fitted: calibration.calibrate.FittedDevice) -> dict[str, Any]:
    """Return the fits of a device and their errors for JSON."""
    return {
        "schema": SCHEMA, "device": fitted.device, "folder": str(fitted.folder),
        "weights_files": {name: str(path) for name, path in fitted.weights_files.items()},
        "problems": dict(fitted.problems), "notes": list(fitted.notes), "family": fitted.chosen,
        "verdict": {"text": fitted.verdict.text, **asdict(fitted.verdict)},
        "comparison": list(compare.contenders.records(fitted.contenders)),
    }  # fmt: skip


All = Annotated[bool, Option("--all", help="Fit every family, and write all weights files and the verdict.")]
Out = Annotated[Path | None, Option(
    "--out", "--output", "-o", metavar="FILE|FOLDER",
    help="Weights file to write (- prints it), with --all their folder; by default the folder of the measurements.",
)]  # fmt: skip
Driver = Annotated[str | None, Option(
    "--driver", metavar="NAME", help="Use only measurements with this driver version.",
)]  # fmt: skip


def fit_command(
    source: options.Source, family: options.FamilyName = "stevens_kloeckner_2016", every: All = False, out: Out = None,
    facts: options.DeviceFile = None, driver: Driver = None,
) -> None:  # fmt: skip
    """Fit a model family, or all families, to measurements and save the weights.

    The linear model takes seconds, bottleneck half a minute, and --all about two minutes.
    """
    from perfmodel.models import find_family

    device = options.facts_of(facts)
    given = {} if device is None else dict(device.facts)
    if every:
        if family != calibration.calibrate.CORE or driver is not None:
            advice = "give --all with --from, --out and --facts only"
            raise OptionError("--all was given with an option of a single fit", advice)
        _fit_all(source, out, given)
        return
    chosen = find_family(family)
    path = out or (source if source.is_dir() else source.parent) / f"{file_part(chosen.name)}.json"
    if out is None:
        _check_new([path], "--out FILE")
    model = calibration.calibrate.fit_family(source, chosen, given=given, driver=driver)
    model.save(path)
    if not output.settings().json:
        stream = sys.stderr if is_standard_output(path) else sys.stdout
        output.print_text("\n".join(_model_lines(model, path)), stream)
    elif not is_standard_output(path):
        output.print_document(model.fitted.model_dump(mode="json", by_alias=True))


def _fit_all(folder: Path, out: Path | None, given: Mapping[str, Fact]) -> None:
    if not folder.is_dir():
        raise OptionError(f"--all was given with '{folder}', which is not a folder", "give the folder of a device")
    if out is None:
        _check_new(calibration.calibrate.files_of_all(folder), "--out FOLDER")
    fitted = calibration.calibrate.fit_device(folder, out, output.CommandBar(), given=given)
    output.show(lambda: fitted_document(fitted), lambda: f"{fitted.text}\nwrote {fitted.folder}")


def _check_new(paths: Iterable[Path], option: str) -> None:
    for path in paths:
        if path.exists():
            raise OptionError(f"'{path}' exists already", f"give {option}, which may replace it")


def _model_lines(model: predicting.FittedModel, path: Path) -> Iterator[str]:
    fitted, residuals = model.fitted, model.fitted.residuals
    yield f"{model.family.name} on {model.device}, {fitted.rows} measurements"
    yield report.weights_table(model.weights, model.units, width=output.table_width())
    if fitted.launch_s is None:
        yield "times by the host's clock"
    else:
        yield f"times by the device's clock; the host's adds {display.seconds_text(fitted.launch_s)}"
    yield (
        f"relative error of the fit: geometric mean {100 * residuals.geometric_mean:.1f} %, "
        f"median {100 * residuals.median:.1f} %, largest {100 * residuals.largest:.0f} %"
    )
    yield from (f"note: {note}" for note in fitted.notes)
    yield f"wrote {path}"
