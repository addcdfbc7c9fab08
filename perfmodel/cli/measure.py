"""``perfmodel measure``: run the measurement kernels on a device and keep their times."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perfmodel.cli.kernel_file import Json, Sizes, counted_variants, sizes
from perfmodel.cli.measured import (
    campaign_document,
    campaign_lines,
    repeatability_document,
    repeatability_lines,
)
from perfmodel.errors import OptionError

if TYPE_CHECKING:
    from perfmodel.kernels import KernelClass
    from perfmodel.measuring import Campaign

DeviceName = Annotated[str | None, typer.Option("--device", help="Name, platform or index; PoCL by default.")]
Store = Annotated[
    Path | None,
    typer.Option("--store", help="Folder or .jsonl file; fitted_weights/<device> by default."),
]
Kernels = Annotated[
    list[Path] | None,
    typer.Option("--kernels", help="Folder of kernel classes; repeat for more."),
]
Quick = Annotated[bool, typer.Option("--quick", help="The paper's classes in short runs: under a minute.")]
Full = Annotated[bool, typer.Option("--full", help="Every variant, work-group shape and size.")]
Budget = Annotated[
    float | None,
    typer.Option("--budget", min=0, help="Begin nothing later than so many seconds; each class in turn."),
]
Repeat = Annotated[
    bool,
    typer.Option("--repeatability", help="Measure a sample twice and say how far the times differ; keep nothing."),
]
Classes = Annotated[list[str] | None, typer.Option("--class", help="Only this class; repeat for more.")]
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


def command(
    context: typer.Context,
    device: DeviceName = None,
    store: Store = None,
    kernels: Kernels = None,
    quick: Quick = False,
    full: Full = False,
    budget: Budget = None,
    repeatability: Repeat = False,
    classes: Classes = None,
    tags: Tags = None,
    seed: Seed = None,
    wanted: For = None,
    choose: Choose = None,
    size: Sizes = None,
    json: Json = False,
) -> None:
    """Measure what the store does not hold yet; stopped at any time, it resumes."""
    from perfmodel import measuring
    from perfmodel.cli.progress import Bar
    from perfmodel.fitting.choice.candidates import chooser
    from perfmodel.measuring.supervised import follow_supervisor, supervise
    from perfmodel.opencl import find

    if context.obj and not follow_supervisor():
        raise typer.Exit(supervise(context.obj, partial(typer.echo, err=True)))
    began = monotonic()
    share = None if choose is None else _share(choose)
    if share is not None and repeatability:
        raise OptionError("--choose and --repeatability were both given", "give one of them")
    campaign = _campaign(quick, full, budget, seed, by_choice=bool(classes or tags or wanted))
    chosen = _choice(_classes(kernels or [_default_folder()]), classes or [], tags or campaign.tags)
    measuring.pin_threads()
    target = find(device)
    if repeatability:
        repeated = measuring.measure_twice(chosen, target, Bar(), campaign)
        _print(repeatability_document(repeated, target.name, campaign.name), json, repeatability_lines)
        return
    path = store or Path("fitted_weights") / target.slug
    if wanted is not None:
        chosen = _needed(wanted, sizes(size), chosen, path, int(target.facts.value("subgroup_size")))
        if not chosen:
            _print({"needed": []}, json, lambda _: iter(["everything that the kernel needs has been measured"]))
            return
    found = measuring.measure(chosen, target, path, Bar(), campaign, None if share is None else chooser(share))
    _print(campaign_document(found, path, campaign.name, monotonic() - began), json, campaign_lines)


def _share(text: str) -> float:
    """The share that ``25%`` or ``0.25`` stands for."""
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = math.nan
    if not 0 < share <= 1:
        raise OptionError(f"--choose '{text}' is no share", "give more than 0 and at most 100%, as in 25%")
    return share


def _campaign(quick: bool, full: bool, budget: float | None, seed: int | None, by_choice: bool) -> Campaign:
    from perfmodel.measuring import DEFAULT, FULL, QUICK

    if quick and full:
        raise OptionError("--quick and --full were both given", "give one of them")
    campaign = QUICK if quick else FULL if full else DEFAULT
    return replace(
        campaign,
        budget_s=budget,
        seed=campaign.seed if seed is None else seed,
        tags=() if by_choice else campaign.tags,
    )


def _choice(kernels: tuple[KernelClass, ...], names: Sequence[str], tags: Sequence[str]) -> tuple[KernelClass, ...]:
    """Classes of these names (any, if there are none) that have one of these tags (likewise)."""
    known, labels = {k.name for k in kernels}, {tag for k in kernels for tag in k.tags}
    if unknown := set(names) - known:
        raise OptionError(f"no kernel class is called '{min(unknown)}'", f"choose of {', '.join(sorted(known))}")
    if tags and not labels & set(tags):
        allowed = f"choose of {', '.join(sorted(labels))}"
        raise OptionError(f"no kernel class has the tag {' or '.join(tags)}", allowed)
    return tuple(k for k in kernels if (not names or k.name in names) and (not tags or set(tags) & set(k.tags)))


def _needed(
    file: Path, at: dict[str, int], library: tuple[KernelClass, ...], store: Path, subgroup_size: int
) -> tuple[KernelClass, ...]:
    """Classes that exercise what the kernels of a file need and the store has no measurement of."""
    from perfmodel.calibration.synthesised_kernels import classes_for, unmeasured
    from perfmodel.models import find_family
    from perfmodel.store import paths, read

    measured = read(store) if paths(store)[0].is_file() else None
    takes = find_family("stevens_kloeckner_2016").takes
    counted = counted_variants(file, None, subgroup_size).values()
    missing = {name for counts in counted for name in unmeasured(counts, at, measured, takes)}
    if missing:
        typer.echo(f"not measured yet: {', '.join(sorted(missing))}", err=True)
    return classes_for(missing, library)


def _default_folder() -> Path:
    """``measurement_kernels`` here, else beside the package as in its repository."""
    here = Path("measurement_kernels")
    return here if here.is_dir() else Path(__file__).parents[2] / here


def _classes(folders: list[Path]) -> tuple[KernelClass, ...]:
    from perfmodel.kernels import discover

    return tuple(kernel for folder in folders for kernel in discover(folder))


def _print(document: dict[str, Any], json: bool, lines: Callable[[dict[str, Any]], Iterator[str]]) -> None:
    from json import dumps

    print(dumps(document, indent=2) if json else "\n".join(lines(document)))
