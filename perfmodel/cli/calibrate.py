"""``perfmodel calibrate``: from a device to fitted weights and a verdict on them."""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perfmodel.cli.options import Budget, DeviceFile, DeviceName, Full, Json, Kernels, Quick, given_facts_of
from perfmodel.cli.output import print_document, print_text
from perfmodel.cli.scheduler import Scheduler, run_for_each_device, target_device
from perfmodel.cli.supervision import supervise_command
from perfmodel.errors import OptionError

if TYPE_CHECKING:
    from perfmodel.calibration.calibrate import FittedDevice
    from perfmodel.facts import Fact
    from perfmodel.kernels import KernelClass
    from perfmodel.measuring import Campaign
    from perfmodel.opencl import Device

SCHEMA = "perfmodel.calibration/1"

Out = Annotated[
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


def command(
    context: typer.Context,
    device: DeviceName = None,
    quick: Quick = False,
    full: Full = False,
    budget: Budget = None,
    out: Out = None,
    kernels: Kernels = None,
    tests: TestKernels = None,
    probes: Probes = False,
    facts: DeviceFile = None,
    scheduler: Scheduler = None,
    json: Json = False,
) -> None:
    """Check a device, probe and measure it, fit model families, and say what the fits are good for.

    On a processor with two cores it takes under 3 minutes with --quick, about 8 without and 50 with --full. Stopped at
    any time, the same command goes on.
    """
    given = given_facts_of(facts)
    if probes and given:
        raise OptionError("--probes and --facts were both given", "give one of them: probes fit nothing")
    run_for_each_device(
        context, scheduler, device, {"--probes": probes, "--facts": facts is not None, "--json": json}
    )
    supervise_command(context)
    from perfmodel import measuring
    from perfmodel.calibration.calibrate import QUICK_S
    from perfmodel.calibration.kernel_choice import TEST_KERNELS, chosen_campaign, discovered

    began, campaign = monotonic(), chosen_campaign(quick, full, QUICK_S if quick and budget is None else budget)
    measured, checked = discovered(kernels), discovered(tests, TEST_KERNELS)
    measuring.pin_threads()
    with target_device(scheduler, device) as target:
        _calibrate(target, campaign, out, (measured, checked), given, probes, json, began)


def _calibrate(
    target: Device, campaign: Campaign, out: Path | None,
    kernels: tuple[tuple[KernelClass, ...], tuple[KernelClass, ...]], given: dict[str, Fact],
    probes: bool, json: bool, began: float,
) -> None:  # fmt: skip
    """Calibrate one device, or only probe it, and print what came out."""
    from perfmodel.calibration.calibrate import calibrate, expected_s, probe_device
    from perfmodel.calibration.recommended import data_folder
    from perfmodel.cli.known_facts import show_facts
    from perfmodel.cli.settings import Bar
    from perfmodel.store import read

    folder = (out or data_folder()) / target.slug
    typer.echo(f"device that builds and runs a kernel: {target.name} ({target.platform})", err=json)
    if probes:
        probe_device(target, folder, campaign, Bar(), again=True)
        show_facts(read(folder), json)
        return
    typer.echo(
        f"campaign '{campaign.name}' into {folder}: about {expected_s(campaign) / 60:.1f} min on a processor with "
        "two cores, less if it goes on from an earlier call",
        err=json,
    )
    found = calibrate(target, folder, campaign, Bar(), *kernels, given)
    if json:
        print_document({**fitted_document(found), "campaign": campaign.name, "seconds": monotonic() - began})
    else:
        print_text(f"\ntest kernels, none of them in the fit:\n\n{found.text}")
        print(f"wrote {folder} in {monotonic() - began:.0f} s")


def fitted_document(found: FittedDevice) -> dict[str, Any]:
    """Return what was fitted to a device, and how good it is, as one document."""
    from perfmodel.report import families_document

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
