"""The gallery: eight kernels of users' kinds, each a page of its code, a picture, and what models say on three devices.

The kernels are files of ``docs/lab/gallery``, as a user would write them. Predictions come from committed weights.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import perfmodel as pm
from perfmodel.calibration.recommended import recommended_weights
from perfmodel.display import interval_text, seconds_text
from perfmodel.io import write_whole
from perfmodel.kernels.files import load_file
from perfmodel.predicting.model import load
from perfmodel.report.drawing import empty_figure, legend_beside, write_figure
from scripts.lab.markdown import markdown_table

DEVICES = {
    "PoCL, AMD EPYC": "pocl-skylake-avx512-amd-epyc",
    "Intel's runtime, AMD EPYC": "intel-amd-epyc",
    "NVIDIA TITAN V": "nvidia-titan-v",
}
STEPS = 13
UNRUN = (
    "Nothing here was run: committed stores hold times of measurement kernels, test kernels and samples, and none of "
    "them is this kernel. `perfmodel time` runs it."
)

Predictions: TypeAlias = Mapping[str, pm.Prediction]  # by variant


@dataclass(frozen=True)
class Example:
    """A kernel file: at which sizes its variants are compared, and how far below and above that they are drawn."""

    name: str
    at: Mapping[str, int]
    across: str = "n"  # the size that the picture varies
    factors: tuple[float, float] = (1 / 16, 4)
    statistics: Mapping[str, float] = field(default_factory=dict)

    @property
    def command(self) -> str:
        """The command that prints a device's ranking."""
        sizes = ",".join(f"{name}={value}" for name, value in self.at.items())
        given = "".join(f" --statistics {name}={value:g}" for name, value in self.statistics.items())
        return f"perfmodel rank {self.name}.py -p {sizes}{given} --device titan-v"

    def sizes(self) -> dict[str, Any]:
        """The sizes that are drawn: one is an array of multiples of 256, as all kernels take them."""
        drawn = self.at[self.across] * np.geomspace(*self.factors, STEPS)
        return {**self.at, self.across: (np.round(drawn / 256) * 256).astype(int)}


EXAMPLES = (
    Example("dg_operator", {"n": 4096}),
    Example("halo_stencil", {"n": 2048}, factors=(1 / 8, 4)),
    Example("gemm", {"n": 1024}, factors=(1 / 4, 2)),
    Example("reduction", {"n": 4096}, factors=(1 / 16, 2)),
    Example("sparse_product", {"n": 262144}, statistics={"j": 16.0}),
    Example("n_body", {"n": 16384}),
    Example("image_filter", {"n": 2048}, factors=(1 / 8, 2)),
    Example("fft_stage", {"m": 4096, "s": 256}, across="m"),
)


def draw_gallery(devices: Path, folder: Path, examples: tuple[Example, ...] = EXAMPLES) -> None:
    """Draw the pages and pictures of examples, whose kernel files are in the folder, and the page that lists them."""
    models = {words: load(weights_of(devices / name)) for words, name in DEVICES.items()}
    rows = [("kernel", *(f"fastest: {words}" for words in models)), ("---",) * (len(models) + 1)]
    for example in examples:
        source = (folder / f"{example.name}.py").read_text(encoding="utf-8")
        counted = counts_of(folder, example)
        points = {words: predicted(model, counted, example.at) for words, model in models.items()}
        curves = {words: predicted(model, counted, example.sizes()) for words, model in models.items()}
        picture(curves, example, folder / f"{example.name}.png")
        write_whole(folder / f"{example.name}.md", page(example, source, points).encode())
        title = title_of(source).partition(":")[0]
        rows.append((f"[{title}]({example.name}.md)", *(fastest(point)[0] for point in points.values())))
    write_whole(folder / "index.md", index(rows, examples).encode())


def weights_of(folder: Path) -> Path:
    """Return the weights of the family that is recommended for a device's folder."""
    path = recommended_weights(folder)
    if path is None:
        raise pm.PerfModelError(f"{folder} holds no weights")
    return path


def counts_of(folder: Path, example: Example) -> Callable[[int], dict[str, pm.KernelCounts]]:
    """Return a function that counts an example's variants for sub-groups of a size."""
    units = load_file(folder / f"{example.name}.py")

    def counted(subgroup_size: int) -> dict[str, pm.KernelCounts]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Loopy says of schedules
            given = dict(example.statistics)
            return {
                name: pm.count(unit, subgroup_size=subgroup_size, statistics=given) for name, unit in units.items()
            }

    return counted


def predicted(
    model: pm.FittedModel, counted: Callable[[int], dict[str, pm.KernelCounts]], sizes: Mapping[str, Any]
) -> Predictions:
    """Predict each variant at sizes; what was never measured costs nothing."""
    every = counted(model.fitted.subgroup_size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # sizes outside of what was measured: intervals say so
        return {name: model.predict(counts, sizes, allow_unmeasured=True) for name, counts in every.items()}


def fastest(point: Predictions) -> tuple[str, float]:
    """Return the variant with the smallest predicted time, and that [s]."""
    name = min(point, key=lambda variant: float(point[variant].seconds))
    return name, float(point[name].seconds)


def picture(curves: Mapping[str, Predictions], example: Example, path: Path) -> None:
    """Draw predicted times against sizes, a device beside the other."""
    figure = empty_figure(4.2 * len(curves) + 1.8, 3.6)
    every = figure.subplots(1, len(curves), squeeze=False)[0]
    for axes, (words, curve) in zip(every, curves.items(), strict=True):
        pm.plot.sizes(curve, axes, parameter=example.across, leads=(), title=words)
        if (legend := axes.get_legend()) is not None:
            legend.remove()
    for axes in every[1:]:
        axes.set_ylabel("")
    legend_beside(every[-1])
    write_figure(figure, path, dpi=90)


def title_of(source: str) -> str:
    """Return the first line of a kernel file's docstring."""
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0].rstrip(".")


def page(example: Example, source: str, points: Mapping[str, Predictions]) -> str:
    """Return an example's page: its words, its code, the picture, and times at its sizes with 90 % intervals."""
    words = (ast.get_docstring(ast.parse(source)) or "").partition("\n\n")[2]
    code = source.partition('"""\n\n')[2].strip()
    table = [("variant", *points), ("---", *("---:" for _ in points))]
    for variant in next(iter(points.values())):
        cells = []
        for point in points.values():
            prediction = point[variant]
            low, high = prediction.interval or (0.0, np.inf)
            text = f"{seconds_text(float(prediction.seconds))} ({interval_text((float(low), float(high)))})"
            cells.append(f"**{text}**" if variant == fastest(point)[0] else text)
        table.append((f"`{variant}`", *cells))
    sizes = ", ".join(f"{name} = {value:,}" for name, value in example.at.items())
    bounds = "; ".join(f"{device}: {bound_of(point)}" for device, point in points.items())
    return "\n\n".join([
        f"# {title_of(source)}", words, f"```python\n# {example.name}.py\n{code}\n```", f"    {example.command}",
        "## What the models say",
        f"Predicted times at {sizes}, with intervals that should hold 90 % of measured times; the fastest variant in "
        f"bold. {UNRUN}", markdown_table(table),
        f"The largest part of the fastest variant's time: {bounds}.",
        f"![Predicted times of the variants against the size, on three devices]({example.name}.png)", "",
    ])  # fmt: skip


def bound_of(point: Predictions) -> str:
    """Return the largest term of the fastest variant, and its share of the time."""
    name, seconds = fastest(point)
    terms = {term: float(value) for term, value in (point[name].terms or {}).items()}
    largest = max(terms, key=lambda term: terms[term])
    return f"`{largest}` ({terms[largest] / seconds:.0%})".replace("%", " %")


def index(rows: list[tuple[str, ...]], examples: tuple[Example, ...]) -> str:
    """Return the page that lists all."""
    entries = "\n".join(example.name for example in examples)
    return "\n\n".join([
        "# A gallery of kernels",
        "What do models say of kernels like mine? Here are eight kernels of different kinds, each in variants that a "
        "tuner would try, with the times that committed weights predict. `scripts/redraw gallery` draws these pages. "
        "[How far to believe a prediction](../../evaluation.md) says how good they are.",
        markdown_table(rows), f"```{{toctree}}\n:hidden:\n\n{entries}\n```", "",
    ])  # fmt: skip
