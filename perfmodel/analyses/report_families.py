"""The families whose weights lie in a device's folder, side by side on the same measured kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from perfmodel.compare import Comparison, Comparisons, Figures, compare, summarise
from perfmodel.compare.comparison import kernels
from perfmodel.errors import PerfModelError
from perfmodel.predicting.model import load

if TYPE_CHECKING:
    from perfmodel.predicting.model import FittedModel
    from perfmodel.store import Measurements

NO_WEIGHTS = frozenset({"device.json", "recommended.json"})
"""Documents of a device's folder that are no weights."""


@dataclass(frozen=True)
class FamilyLine:
    """A family on the cases that every family predicts.

    Parameters
    ----------
    name, citation
        Of the family.
    weights
        Number of its weights.
    figures
        How good it is; None where there is a problem.
    by_kernel
        Geometric mean of the relative error of each kernel [1].
    withheld
        Cases for which it has no prediction.
    problem
        Why its weights cannot be used.
    """

    name: str
    citation: str = ""
    weights: int = 0
    figures: Figures | None = None
    by_kernel: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    withheld: int = 0
    problem: str = ""


def family_lines(
    model: FittedModel,
    folder: str | Path,
    compared: Measurements,
    level: float = 0.9,
    advance: Callable[[str], None] = lambda note: None,
) -> tuple[FamilyLine, ...]:
    """Return the families of a folder's weights, the one with the smallest error first, unusable ones last.

    Nothing is fitted: the weights are used as they are. `model` stands for its own family; `advance` is called with
    the name of each family that is judged.
    """
    judged: list[tuple[FittedModel, Comparisons]] = []
    problems = []
    for path in weights_files(folder):
        advance(path.stem)
        try:
            one = model if path.stem == model.fitted.family else load(path)
            if one.device != compared.device:
                problems.append(FamilyLine(path.stem, problem=f"its weights are of {one.device}"))
                continue
            judged.append((one, compare(one, compared, level)))
        except PerfModelError as error:
            problems.append(FamilyLine(path.stem, problem=" ".join(str(error).split())))
    if not any(one is model for one, _ in judged):
        judged.append((model, compare(model, compared, level)))
    common = _common(rows for _, rows in judged)
    lines = [_line(one, rows, common) for one, rows in judged]
    return (*sorted(lines, key=lambda line: line.figures.error if line.figures else 0.0), *problems)


def weights_files(folder: str | Path) -> tuple[Path, ...]:
    """Return the files of weights that a folder holds, by name."""
    return tuple(path for path in sorted(Path(folder).glob("*.json")) if path.name not in NO_WEIGHTS)


def _common(every: Iterable[Comparisons]) -> set[tuple[str, str, str]]:
    """Return the cases that all predict."""
    predicted = [{_case(row) for row in rows if row.predicted is not None} for rows in every]
    return set.intersection(*predicted) if predicted else set()


def _line(model: FittedModel, rows: Comparisons, common: set[tuple[str, str, str]]) -> FamilyLine:
    kept = [row for row in rows if _case(row) in common]
    by_kernel = {name: summarise([row for row in kept if row.kernel == name]).error for name in kernels(kept)}
    withheld = sum(row.predicted is None for row in rows)
    return FamilyLine(
        model.fitted.family, model.family.citation, len(model.fitted.weights), summarise(kept),
        MappingProxyType(by_kernel), withheld,
    )  # fmt: skip


def _case(row: Comparison) -> tuple[str, str, str]:
    return row.kernel, row.form, row.sizes
