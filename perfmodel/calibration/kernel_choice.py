"""What a campaign measures: its settings, and the kernel classes chosen for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from perfmodel.calibration.synthesised_kernels import unmeasured
from perfmodel.errors import OptionError
from perfmodel.kernels import KernelClass, discover
from perfmodel.measuring.campaign import DEFAULT, FULL, QUICK, Campaign
from perfmodel.models import find_family
from perfmodel.store import paths, read

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts

MEASUREMENT_KERNELS, TEST_KERNELS = "measurement_kernels", "test_kernels"


def kernel_folder(name: str) -> Path:
    """Return perfmodel's own folder of kernel classes, whatever the working directory holds: its files are run."""
    return Path(__file__).parents[2] / name


def discovered(folders: Iterable[Path] | None, default: str = MEASUREMENT_KERNELS) -> tuple[KernelClass, ...]:
    """Return the kernel classes of all folders; without folders those of perfmodel's own folder."""
    return tuple(kernel for folder in folders or [kernel_folder(default)] for kernel in discover(folder))


def chosen_campaign(quick: bool, full: bool, budget_s: float | None, seed: int | None = None) -> Campaign:
    """Return the campaign of that size, with a budget [s] and a seed of its own where they are given.

    Raises
    ------
    OptionError
        If it should be both quick and full.

    Examples
    --------
    >>> chosen_campaign(quick=True, full=False, budget_s=30.0).name
    'quick'
    """
    if quick and full:
        raise OptionError("--quick and --full were both given", "give one of them")
    campaign = QUICK if quick else FULL if full else DEFAULT
    return replace(campaign, budget_s=budget_s, seed=campaign.seed if seed is None else seed)


def chosen_classes(
    kernels: tuple[KernelClass, ...], names: Sequence[str] = (), tags: Sequence[str] = ()
) -> tuple[KernelClass, ...]:
    """Return the classes that have one of the names, or a tag of that name, and one of `tags`; none stand for all.

    Raises
    ------
    OptionError
        If a name is no class's and no tag's, or if no class has any of the tags.
    """
    known, labels = {kernel.name for kernel in kernels}, {tag for kernel in kernels for tag in kernel.tags}
    if unknown := set(names) - known - labels:
        allowed = f"choose of {', '.join(sorted(known))}, or of the tags {', '.join(sorted(labels))}"
        raise OptionError(f"no kernel class is called '{min(unknown)}' or has such a tag", allowed)
    if tags and not labels & set(tags):
        allowed = f"choose of {', '.join(sorted(labels))}"
        raise OptionError(f"no kernel class has the tag {' or '.join(tags)}", allowed)
    named = [k for k in kernels if not names or {k.name, *k.tags} & set(names)]
    return tuple(k for k in named if not tags or set(tags) & set(k.tags))


def missing_features(
    counted: Iterable[KernelCounts], sizes: Mapping[str, int], store: Path, family: str = "stevens_kloeckner_2016"
) -> tuple[str, ...]:
    """Return the features that kernels need at some sizes and that a store has no measurement of, sorted."""
    measured = read(store) if paths(store)[0].is_file() else None
    takes = find_family(family).takes
    return tuple(sorted({name for counts in counted for name in unmeasured(counts, sizes, measured, takes)}))
