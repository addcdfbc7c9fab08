"""``perfmodel measure``: run the measurement kernels on a device and keep their times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perfmodel.cli.measure_summary import campaign_document, campaign_lines
from perfmodel.cli.options import (
    Budget,
    Classes,
    DeviceName,
    Full,
    Json,
    Kernels,
    Quick,
    Sizes,
    counted_variants,
    share,
    sizes,
)
from perfmodel.cli.output import print_document, print_text
from perfmodel.cli.scheduler import Scheduler, run_for_each_device, target_device
from perfmodel.cli.supervision import supervise_command
from perfmodel.errors import OptionError

if TYPE_CHECKING:
    from perfmodel.kernels import KernelClass
    from perfmodel.measuring import Campaign
    from perfmodel.opencl import Device

Store = Annotated[
    Path | None,
    typer.Option("--store", help="Folder or .jsonl file; fitted_weights/<device> by default."),
]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="Only classes with this tag; repeat for more.")]
For = Annotated[
    Path | None,
    typer.Option("--for", help="Only what this kernel file needs (at the sizes -p) and the store does not have."),
]
Choose = Annotated[
    str | None,
    typer.Option("--choose", help="Only this share of the configurations, as in 25%: those that tell the most."),
]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Seed of the order and of the arrays' contents.")]


@dataclass(frozen=True)
class _Job:
    """What is measured, where and how."""

    kernels: tuple[KernelClass, ...]
    device: Device
    campaign: Campaign


def command(
    context: typer.Context,
    device: DeviceName = None,
    store: Store = None,
    kernels: Kernels = None,
    quick: Quick = False,
    full: Full = False,
    budget: Budget = None,
    classes: Classes = None,
    tags: Tags = None,
    seed: Seed = None,
    wanted: For = None,
    choose: Choose = None,
    size: Sizes = None,
    scheduler: Scheduler = None,
    json: Json = False,
) -> None:
    """Measure what the store does not hold yet; stopped at any time, it resumes.

    On a processor with two cores it takes about 90 seconds with --quick, 4 minutes without and 40 with --full.
    """
    if size and wanted is None:
        raise OptionError("-p was given without --for", "give --for KERNEL.PY too: -p are the sizes of its kernels")
    part = share(choose)
    run_for_each_device(context, scheduler, device, {"--store": store is not None, "--json": json})
    supervise_command(context)
    from perfmodel.calibration.kernel_choice import chosen_campaign, chosen_classes, discovered
    from perfmodel.measuring import pin_threads

    campaign = chosen_campaign(quick, full, budget, seed)
    if classes or tags or wanted:
        campaign = replace(campaign, tags=())
    chosen = chosen_classes(discovered(kernels), classes or (), tags or campaign.tags)
    pin_threads()
    with target_device(scheduler, device) as target:
        job, path = _Job(chosen, target, campaign), store or Path("fitted_weights") / target.slug
        if wanted is not None:
            job = _needed(job, wanted, sizes(size), path)
            if not job.kernels:
                _show({"needed": []}, json, lambda _: iter(["everything that the kernel needs has been measured"]))
                return
        _show(_measured(job, path, part), json, campaign_lines)


def _measured(job: _Job, path: Path, part: float | None) -> dict[str, Any]:
    """Run the campaign, on a share of its configurations if that is given."""
    from perfmodel import measuring
    from perfmodel.cli.settings import Bar
    from perfmodel.fitting.choice.candidates import chooser

    began = monotonic()
    choice = None if part is None else chooser(part)
    found = measuring.measure(job.kernels, job.device, path, Bar(), job.campaign, choice)
    return campaign_document(found, path, job.campaign.name, monotonic() - began)


def _needed(job: _Job, file: Path, at: dict[str, int], store: Path) -> _Job:
    """Keep the classes that exercise what the kernels of a file need and the store does not have."""
    from perfmodel.calibration.kernel_choice import classes_for, missing_features

    counted = counted_variants(file, None, int(job.device.facts.value("subgroup_size")))
    missing = missing_features(counted.values(), at, store)
    if missing:
        typer.echo(f"not measured yet: {', '.join(missing)}", err=True)
    return replace(job, kernels=classes_for(missing, job.kernels))


def _show(document: dict[str, Any], json: bool, lines: Callable[[dict[str, Any]], Iterator[str]]) -> None:
    if json:
        print_document(document)
    else:
        print_text("\n".join(lines(document)))
