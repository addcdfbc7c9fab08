"""``perfmodel predict --why``: what bounds a kernel's variants, by the two models that say it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfmodel.cli.output import of_variant
from perfmodel.errors import OptionError

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts
    from perfmodel.predicting.model import FittedModel


def bounds_of(
    model: FittedModel, variants: Mapping[str, KernelCounts], sizes: Mapping[str, int], picture: Path | None = None
) -> dict[str, dict[str, Any]]:
    """Return for each variant its text and its numbers; `picture` is drawn with ``gpuperf`` weights.

    Raises
    ------
    OptionError
        If the weights are of a model that has no such analysis.
    """
    from perfmodel.analyses import balance, benefits
    from perfmodel.report.bounds import balance_text, benefits_text, picture_benefits

    family = model.family.name
    if family == balance.FAMILY:
        found = {name: balance.judge_balance(model, counts, sizes) for name, counts in variants.items()}
        return {name: {"text": balance_text(one), **asdict(one)} for name, one in found.items()}
    if family == benefits.FAMILY:
        saved = {name: benefits.potential_benefits(model, counts, sizes) for name, counts in variants.items()}
        if picture is not None:
            for name, one in saved.items():
                picture_benefits(one, of_variant(picture, name, len(saved) > 1), name)
        return {name: {"text": benefits_text(one), **asdict(one)} for name, one in saved.items()}
    needed = f"give the weights of {balance.FAMILY} or {benefits.FAMILY}, which lie beside these"
    raise OptionError(f"--why cannot use the weights of {family}", needed)
