"""What bounds a kernel by the two models that say it, with the weights that lie in a device's folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfmodel.analyses import balance, benefits
from perfmodel.analyses.balance import Balance, judge_balance
from perfmodel.analyses.benefits import Benefits, potential_benefits
from perfmodel.errors import PerfModelError
from perfmodel.predicting.model import load

if TYPE_CHECKING:
    from perfmodel.predicting.model import FittedModel


@dataclass(frozen=True)
class KernelBounds:
    """What bounds a kernel, and what could be saved; None where the model says nothing of it."""

    balance: Balance | None = None
    benefits: Benefits | None = None


@dataclass(frozen=True)
class BoundModels:
    """Weights of the two models; None where the folder has none of this device that can be read.

    Parameters
    ----------
    balance, benefits
        Of the families ``work_depth`` and ``gpuperf``.
    problems
        Why one of them is missing, in words.
    """

    balance: FittedModel | None = None
    benefits: FittedModel | None = None
    problems: tuple[str, ...] = ()

    def bounds(self, counts: Any, sizes: Mapping[str, int]) -> KernelBounds:
        """Return what bounds a counted kernel at given sizes; what a model cannot tell is left out."""
        found: dict[str, Any] = {}
        for name, model, judge in (
            ("balance", self.balance, judge_balance), ("benefits", self.benefits, potential_benefits),
        ):  # fmt: skip
            if model is None:
                continue
            try:
                found[name] = judge(model, counts, sizes)
            except PerfModelError:  # a fact that is not known, for example
                continue
        return KernelBounds(**found)


def bound_models(folder: str | Path, device: str) -> BoundModels:
    """Return the weights of both models that a folder holds for a device."""
    found: dict[str, Any] = {}
    problems = []
    for name, family in (("balance", balance.FAMILY), ("benefits", benefits.FAMILY)):
        path = Path(folder) / f"{family}.json"
        if not path.is_file():
            problems.append(f"there are no weights of {family} in the folder")
            continue
        try:
            model = load(path)
        except PerfModelError as error:
            problems.append(" ".join(str(error).split()))
            continue
        if model.device == device:
            found[name] = model
        else:
            problems.append(f"the weights of {family} are of {model.device}")
    return BoundModels(**found, problems=tuple(problems))
