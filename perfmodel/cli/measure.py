"""``perfmodel measure``: run the measurement kernels on a device and keep their times."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perfmodel.cli.kernel_file import Json

if TYPE_CHECKING:
    from perfmodel.kernels import KernelClass
    from perfmodel.store import Measurements

SCHEMA = "perfmodel.measure/1"

DeviceName = Annotated[str | None, typer.Option("--device", help="Name, platform or index; PoCL by default.")]
Store = Annotated[
    Path | None,
    typer.Option("--store", help="Folder or .jsonl file; fitted_weights/<device> by default."),
]
Kernels = Annotated[
    list[Path] | None,
    typer.Option("--kernels", help="Folder of kernel classes; repeat for more."),
]
Quick = Annotated[bool, typer.Option("--quick", help="Every class, but few and short runs.")]


def command(
    device: DeviceName = None,
    store: Store = None,
    kernels: Kernels = None,
    quick: Quick = False,
    json: Json = False,
) -> None:
    """Measure what the store does not hold yet; stopped at any time, it resumes."""
    from perfmodel.cli.progress import Bar
    from perfmodel.devices import find
    from perfmodel.measure import DEFAULT, QUICK, run

    classes = _classes(kernels or [_default_folder()])
    chosen = find(device)
    path = store or Path("fitted_weights") / chosen.slug
    campaign = QUICK if quick else DEFAULT
    found = run(classes, chosen, path, Bar(), campaign)
    if json:
        from json import dumps

        print(dumps(_document(found, path, campaign.name), indent=2))
    else:
        _print_summary(found, path)


def _default_folder() -> Path:
    """``measurement_kernels`` here, else beside the package as in its repository."""
    here = Path("measurement_kernels")
    return here if here.is_dir() else Path(__file__).parents[2] / here


def _classes(folders: list[Path]) -> tuple[KernelClass, ...]:
    from perfmodel.kernels import discover

    return tuple(kernel for folder in folders for kernel in discover(folder))


def _document(found: Measurements, path: Path, campaign: str) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "device": found.device,
        "campaign": campaign,
        "store": str(path),
        "statuses": dict(Counter(row.status for row in found.current)),
        "set_aside": list(found.set_aside),
        "rows": [
            {
                "kernel": row.kernel,
                "variant": row.variant,
                "parameters": row.parameters,
                "status": row.status,
                "message": row.message,
                "seconds": row.seconds if row.status == "ok" else None,
                "spread": row.spread if row.status == "ok" else None,
            }
            for row in found.current
        ],
    }


def _print_summary(found: Measurements, path: Path) -> None:
    print(f"{found.device}: {len(found)} configurations measured, in {path}")
    for row in found.current:
        if row.status != "ok":
            print(f"{row.status}: {row.kernel} {row.variant} {row.parameters}: {row.message}")
    for note in found.set_aside:
        print(f"note: {note}")
