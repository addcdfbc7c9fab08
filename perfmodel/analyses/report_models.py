"""The models in a device's folder: their errors, and the two models that explain what bounds a kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perfmodel.analyses import balance, benefits
from perfmodel.compare import Comparisons, Figures, compare, summarise
from perfmodel.compare.comparison import kernels
from perfmodel.errors import PerfModelError
from perfmodel.predicting.model import FittedModel, load
from perfmodel.store import Measurements

NO_WEIGHTS = ("device.json", "recommended.json")  # documents of a device's folder other than weights


@dataclass(frozen=True)
class FamilyLine:
    """The figures of a family, on the cases that every family predicts."""

    name: str
    citation: str = ""
    weights: int = 0  # their number
    figures: Figures | None = None  # how good it is; None where there is a problem
    withheld: int = 0  # cases without a prediction
    problem: str = ""  # why its weights cannot be used
    errors: Mapping[str, float] = field(default_factory=dict, hash=False)
    """Errors by kernel, and over all kernels."""


def weights_files(folder: str | Path) -> tuple[Path, ...]:
    """Return the files of weights that a folder holds, by name."""
    return tuple(path for path in sorted(Path(folder).glob("*.json")) if path.name not in NO_WEIGHTS)


def family_lines(
    model: FittedModel, folder: str | Path, compared: Measurements, level: float = 0.9,
    advance: Callable[[str], None] = lambda note: None,
) -> tuple[FamilyLine, ...]:  # fmt: skip
    """Return the families of a folder's weights. The smallest error is first, and unusable families are last."""
    judged: list[tuple[FittedModel, Comparisons]] = []
    problems = []
    for path in weights_files(folder):
        advance(path.stem)
        try:
            of_path = model if path.stem == model.fitted.family else load(path)
            if of_path.device == compared.device:
                judged.append((of_path, compare(of_path, compared, level)))
            else:
                problems.append(FamilyLine(path.stem, problem=f"its weights are of {of_path.device}"))
        except PerfModelError as error:
            problems.append(FamilyLine(path.stem, problem=_one_line(error)))
    if not any(known is model for known, _ in judged):
        judged.append((model, compare(model, compared, level)))
    common = set.intersection(*({row.case for row in rows if row.predicted is not None} for _, rows in judged))
    lines = []
    for known, rows in judged:
        shared = [row for row in rows if row.case in common]
        parts = {name: [row for row in shared if row.kernel == name] for name in kernels(shared)} | {"all": shared}
        errors = {name: summarise(part).error for name, part in parts.items()}
        withheld = sum(row.predicted is None for row in rows)
        fitted = known.fitted
        lines.append(FamilyLine(
            fitted.family, known.family.citation, len(fitted.weights), summarise(shared), withheld, errors=errors
        ))  # fmt: skip
    return (*sorted(lines, key=lambda line: line.figures.error if line.figures else 0.0), *problems)


def _one_line(error: PerfModelError) -> str:
    return " ".join(str(error).split())


@dataclass(frozen=True)
class KernelBounds:
    """What bounds a kernel, and what could be saved. A value is None if a model cannot predict the kernel."""

    balance: balance.Balance | None = None
    benefits: benefits.Benefits | None = None


@dataclass(frozen=True)
class BoundModels:
    """Weights of the two models. A model is None if the folder has no usable weights of this device."""

    balance: FittedModel | None = None  # of the family ``work_depth``
    benefits: FittedModel | None = None  # of the family ``gpuperf``
    problems: tuple[str, ...] = ()  # why one of them is missing, in words

    def bounds(self, counts: Any, sizes: Mapping[str, int]) -> KernelBounds:
        """Return what bounds a counted kernel at given sizes. A model with an error is left out."""
        known: dict[str, Any] = {}
        for name, model, judge in (
            ("balance", self.balance, balance.judge_balance), ("benefits", self.benefits, benefits.potential_benefits),
        ):  # fmt: skip
            if model is not None:
                with suppress(PerfModelError):  # a fact that is not known, for example
                    known[name] = judge(model, counts, sizes)
        return KernelBounds(**known)


def bound_models(folder: str | Path | None, device: str) -> BoundModels:
    """Return the weights of both models in a folder for a device. The model of benefits is for GPUs only."""
    if folder is None:
        return BoundModels()
    known: dict[str, Any] = {}
    problems = []
    for name, family in (("balance", balance.FAMILY), ("benefits", benefits.FAMILY)):
        path = Path(folder) / f"{family}.json"
        if not path.is_file():
            problems.append(f"the folder has no weights of {family}")
            continue
        try:
            model = load(path)
        except PerfModelError as error:
            problems.append(_one_line(error))
            continue
        if name == "benefits" and model.facts and model.facts.known("device_type") == "cpu":
            problems.append(f"{family} assumes that work-items hide each other's latency, as on GPUs; this is a CPU")
        elif model.device == device:
            known[name] = model
        else:
            problems.append(f"the weights of {family} are of {model.device}")
    return BoundModels(**known, problems=tuple(problems))
