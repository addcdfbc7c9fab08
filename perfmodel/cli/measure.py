"""``perfmodel measure`` and ``isolate``: run the measurement kernels on a device and keep their times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perfmodel.cli.options import CampaignOptions, Classes, DeviceName, Kernels, Sizes, counted_variants, share, sizes
from perfmodel.cli.output import print_document, print_text
from perfmodel.cli.settings import table_width
from perfmodel.cli.streams import supervise_command
from perfmodel.cli.worker import run_for_each_device, target_device
from perfmodel.errors import OptionError

if TYPE_CHECKING:
    from perfmodel.kernels import KernelClass
    from perfmodel.measuring import Campaign
    from perfmodel.opencl import Device
    from perfmodel.store import Measurements

Store = Annotated[
    Path | None,
    typer.Option("--store", help="Folder or .jsonl file; fitted_weights/<device> by default."),
]
For = Annotated[
    Path | None,
    typer.Option("--for", help="Only what this kernel file needs (at the sizes -p) and the store does not have."),
]
Choose = Annotated[
    str | None,
    typer.Option("--choose", help="Only this share of the configurations, as in 25%: those that tell the most."),
]


@dataclass(frozen=True)
class _Job:
    """What is measured, where and how."""

    kernels: tuple[KernelClass, ...]
    device: Device
    campaign: Campaign


def measure_command(
    context: typer.Context,
    asked: CampaignOptions,
    store: Store = None,
    classes: Classes = None,
    wanted: For = None,
    choose: Choose = None,
    size: Sizes = None,
    json: bool = False,
) -> None:
    """Measure what the store does not hold yet; stopped at any time, it resumes.

    On a processor with two cores it takes about 90 seconds with --quick, 4 minutes without and 40 with --full.
    """
    if size and wanted is None:
        raise OptionError("-p was given without --for", "give --for KERNEL.PY too: -p are the sizes of its kernels")
    part = share(choose)
    run_for_each_device(context, asked.scheduler, asked.device, {"--store": store is not None, "--json": json})
    supervise_command(context)
    from perfmodel.calibration.kernel_choice import chosen_campaign, chosen_classes, discovered
    from perfmodel.measuring import pin_threads

    campaign = chosen_campaign(asked.quick, asked.full, asked.budget)
    if classes or wanted:
        campaign = replace(campaign, tags=())
    chosen = chosen_classes(discovered(asked.kernels), classes or (), campaign.tags)
    pin_threads()
    with target_device(asked.scheduler, asked.device) as target:
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
    from perfmodel.cli.settings import CommandBar
    from perfmodel.fitting.choice import chooser

    began = monotonic()
    choice = None if part is None else chooser(part)
    found = measuring.measure(job.kernels, job.device, path, CommandBar(), job.campaign, choice)
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


SCHEMA = "perfmodel.measure/1"

#: What the flags of a record mean.
FLAGS = {
    "spread": "their runs differ widely; measure on a quieter machine",
    "clock": "the device's clock and the host's do not agree",
    "bound": "faster than the device can be: the compiler dropped work that was counted",
    "visits": "their two lowest visits differ by more than 5 %; they weigh less in fits",
}


def campaign_document(found: Measurements, path: Path, campaign: str, seconds: float) -> dict[str, Any]:
    """Return the results of a campaign as one document."""
    return {
        "schema": SCHEMA,
        "device": found.device,
        "campaign": campaign,
        "store": str(path),
        "seconds": seconds,
        "statuses": dict(Counter(row.status for row in found.current)),
        "flags": dict(Counter(flag for row in found for flag in row.flags)),
        "visits": sum(len(row.every_visit) for row in found),
        "set_aside": [*found.set_aside, *found.notes],
        "rows": [
            {
                "kernel": row.kernel,
                "variant": row.variant,
                "parameters": row.parameters,
                "status": row.status,
                "message": row.message,
                "seconds": row.seconds if row.status == "ok" else None,
                "spread": row.spread if row.status == "ok" else None,
                "visits": len(row.every_visit) if row.status == "ok" else 0,
                "flags": list(row.flags),
            }
            for row in found.current
        ],
    }


def campaign_lines(document: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of its summary."""
    counted = [f"{number} {status}" for status, number in sorted(document["statuses"].items()) if status != "ok"]
    failed = f" ({', '.join(counted)})" if counted else ""
    yield (
        f"{document['device']}: {document['statuses'].get('ok', 0)} configurations measured{failed} "
        f"in {document['visits']} visits, in {document['store']}, after {document['seconds']:.0f} s"
    )
    for row in document["rows"]:
        if row["status"] != "ok":
            yield f"{row['status']}: {row['kernel']} {row['variant']} {row['parameters']}: {row['message']}"
    for flag, number in sorted(document["flags"].items()):
        yield f"note: {number} flagged '{flag}': {FLAGS.get(flag, 'see docs/measuring.md')}"


ISOLATIONS_SCHEMA = "perfmodel.isolations/1"

Proofs = Annotated[
    Path | None,
    typer.Option("--out", metavar="FOLDER", help="Store that keeps the proofs; fitted_weights/<device> by default."),
]


def isolate_command(
    device: DeviceName = None, kernels: Kernels = None, classes: Classes = None, out: Proofs = None, json: bool = False
) -> None:
    """Double each isolated count on a device, and see by how much the time rises.

    It takes a few minutes. A class that fails stays in the table, as not proved; docs/lab/isolation.md has the details.
    """
    from perfmodel.calibration.kernel_choice import chosen_classes, discovered
    from perfmodel.cli.settings import CommandBar
    from perfmodel.measuring import pin_threads
    from perfmodel.measuring.isolation import prove_isolation
    from perfmodel.opencl import find
    from perfmodel.report.memory_hierarchy import isolation_table
    from perfmodel.store.isolation import isolation_path

    chosen = chosen_classes(discovered(kernels), classes or ())
    pin_threads()
    target = find(device)
    path = out or Path("fitted_weights") / target.slug
    proofs = prove_isolation(chosen, target, path, CommandBar())
    if json:
        rows = [{**proof.model_dump(mode="json", by_alias=True), "proved": proof.proved} for proof in proofs]
        head = {"schema": ISOLATIONS_SCHEMA, "device": target.name, "file": str(isolation_path(path))}
        print_document({**head, "proofs": rows})
    else:
        print_text(f"{isolation_table(proofs, table_width())}\n\nproofs are in {isolation_path(path)}")
