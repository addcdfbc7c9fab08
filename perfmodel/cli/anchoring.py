"""Rankings of a kernel file's variants, with ``--anchor`` or without."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfmodel.cli.options import check_anchored, count_units, kernel_file_of, ranked
from perfmodel.cli.output import sizes_text

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts
    from perfmodel.errors import PerfModelError
    from perfmodel.fitting.uncertainty.selection import Scatter
    from perfmodel.kernels.files import KernelFile as LoadedFile
    from perfmodel.predicting.model import FittedModel
    from perfmodel.predicting.predictions import Anchor
    from perfmodel.predicting.ranking import RankedVariant


@dataclass(frozen=True, eq=False)
class AnchoredRanking:
    """Variants of a kernel file, the one predicted fastest first.

    Parameters
    ----------
    counted
        Counts of all variants by name; empty with `jobs`, since processes keep theirs.
    variants
        Those that can be predicted.
    withheld
        Errors of the others by name.
    anchors
        The runs that scale the predictions, by name; empty without them.
    scatter
        How errors scatter between variants; None where the weights do not say.
    """

    counted: Mapping[str, KernelCounts]
    variants: tuple[RankedVariant, ...]
    withheld: Mapping[str, PerfModelError]
    anchors: Mapping[str, Anchor]
    scatter: Scatter | None


def ranked_variants(
    path: Path,
    variant: Collection[str] | str | None,
    model: FittedModel,
    at: Mapping[str, int],
    level: float,
    allow_unmeasured: bool,
    anchored: bool,
    statistics: Mapping[str, float] | None = None,
    jobs: int | None = None,
) -> AnchoredRanking:
    """Rank a kernel file's variants, or the variants asked for; run each once at a small size if they are anchored.

    With `jobs`, several processes count and predict, and what fails is withheld.

    For the errors see :func:`perfmodel.cli.options.counted_variants`, :func:`perfmodel.cli.options.ranked` and
    :func:`perfmodel.tuning.anchor`.
    """
    from perfmodel.predicting.ranking import scatter_of

    loaded = kernel_file_of(path, variant)
    check_anchored(anchored, statistics or {}, loaded)
    counted: Mapping[str, KernelCounts] = {}
    if jobs is None:
        counted = count_units(loaded.variants, model.fitted.subgroup_size, statistics=statistics)

    def again(kept: LoadedFile, anchors: Mapping[str, Anchor] | None = None) -> Any:
        if jobs is not None:
            return ranked_jobs(kept, jobs, model, at, level, allow_unmeasured, anchors, statistics)
        own = {name: counted[name] for name in kept.builders}
        return ranked(own, model, at, level, allow_unmeasured, anchors)

    variants, withheld = again(loaded)
    anchors: dict[str, Anchor] = {}
    if anchored:
        kept = loaded.only([one.name for one in variants])
        anchors = run_anchors(kept, model, at, allow_unmeasured, statistics)
        variants, _ = again(loaded.only(anchors), anchors)
    return AnchoredRanking(counted, variants, withheld, anchors, scatter_of(model, anchored))


def ranked_jobs(
    loaded: LoadedFile,
    jobs: int,
    model: FittedModel,
    at: Mapping[str, int],
    level: float,
    allow_unmeasured: bool,
    anchors: Mapping[str, Anchor] | None,
    statistics: Mapping[str, float] | None,
) -> tuple[tuple[RankedVariant, ...], Mapping[str, PerfModelError]]:
    """Rank a kernel file's variants in several processes, behind a progress bar; return the errors of others too."""
    from perfmodel.cli.settings import CommandBar
    from perfmodel.predicting.ranking import rank_each

    found = rank_each(
        loaded.builders, model, at, jobs, level=level, allow_unmeasured=allow_unmeasured, anchors=anchors,
        progress=CommandBar(), statistics=statistics, check=True,
    )  # fmt: skip
    return found, found.errors


def anchor_lines(anchors: Mapping[str, Anchor]) -> Iterator[str]:
    """Say where each anchor ran, and how far its prediction was off."""
    from perfmodel.display import seconds_text

    for name, one in anchors.items():
        where = f" at {sizes_text(one.sizes)}" * bool(one.sizes)
        times = f"{seconds_text(one.measured)}{where}, predicted {seconds_text(one.predicted)}"
        yield f"anchor: {name} took {times}: all its predictions times {one.factor:.3g}"


def run_anchors(
    loaded: LoadedFile,
    model: FittedModel,
    at: Mapping[str, int],
    allow_unmeasured: bool,
    statistics: Mapping[str, float] | None = None,
) -> dict[str, Anchor]:
    """Run each of a kernel's variants once at a small size; for the errors see :func:`perfmodel.tuning.anchor`."""
    from perfmodel.cli.settings import CommandBar
    from perfmodel.measuring import pin_threads
    from perfmodel.tuning import anchor_variants

    pin_threads()
    asked: dict[str, Any] = {"allow_unmeasured": allow_unmeasured, "progress": CommandBar()}
    return anchor_variants(model, loaded.variants, at, **asked, arguments=loaded.arguments, statistics=statistics)
