"""The gallery: eight kernels of users' kinds, each a page of its code, a picture, and what models say on three devices.

The kernels are files of ``docs/lab/gallery``, as a user would write them. Predictions come from committed weights.
Measured times are those of ``perfmodel time``, in a store for each device that was at hand.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import run
from typing import Any, NamedTuple, TypeAlias

import numpy as np

import perfmodel as pm
from perfmodel.calibration.recommended import recommended_weights
from perfmodel.display import interval_text, seconds_text
from perfmodel.io import write_whole
from perfmodel.kernels.files import load_kernel_file
from perfmodel.predicting.model import load
from perfmodel.report.drawing import empty_figure, legend_beside, write_figure
from perfmodel.store import pack, read
from scripts.lab.markdown import markdown_table

DEVICES = {
    "PoCL, Intel Xeon": "pocl-skylake-avx512-intel-xeon",
    "Intel's runtime, Intel Xeon": "intel-xeon",
    "NVIDIA TITAN V": "nvidia-titan-v",
}
STEPS = 13
UNRUN = (
    "Nothing here was run: committed stores hold times of measurement kernels, test kernels and samples, and none of "
    "them is this kernel. `perfmodel time` runs it."
)

Predictions: TypeAlias = Mapping[str, pm.Prediction]  # by variant
Times: TypeAlias = Mapping[str, Mapping[int, float]]
"""Measured times [s] by variant and by the size that varies."""


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
        return self._across(np.geomspace(*self.factors, STEPS))

    def timed_sizes(self) -> dict[str, Any]:
        """The three sizes that are measured: the smallest that is drawn, the one of the table, and one between them."""
        return self._across(np.geomspace(self.factors[0], 1.0, 3))

    def timing(self, folder: Path, device: str, keep: Path) -> list[str]:
        """Return the arguments of the command that measures it on a device into a store."""
        given = [f"--statistics={name}={value:g}" for name, value in self.statistics.items()]
        sizes = [f"-p{name}={','.join(map(str, np.ravel(size)))}" for name, size in self.timed_sizes().items()]
        return ["time", str(folder / f"{self.name}.py"), *sizes, *given, f"--device={device}", f"--keep={keep}"]

    def _across(self, factors: np.ndarray) -> dict[str, Any]:
        return {**self.at, self.across: (np.round(self.at[self.across] * factors / 256) * 256).astype(int)}


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


def measure_gallery(
    folder: Path, device: str, store: Path, examples: tuple[Example, ...] = EXAMPLES, command: Sequence[str] = ()
) -> None:
    """Measure examples, whose kernel files are in the folder, on a device of this machine, into a store.

    Each is a ``perfmodel time`` of its own; `command` runs it, by default this Python. It raises CalledProcessError
    where one fails.
    """
    for example in examples:
        run([*(command or (sys.executable, "-m", "perfmodel")), *example.timing(folder, device, store)], check=True)
    pack(store)


def draw_gallery(devices: Path, folder: Path, times: Path, examples: tuple[Example, ...] = EXAMPLES) -> None:
    """Draw the pages and pictures of examples, whose kernel files are in the folder, and the page that lists them.

    `times` has the stores of the devices that were measured, in folders of their names.
    """
    models = {words: load(weights_of(devices / name)) for words, name in DEVICES.items()}
    rows = [("kernel", *(f"fastest: {words}" for words in models)), ("---",) * (len(models) + 1)]
    found: dict[str, list[Pair]] = {words: [] for words in models}
    for example in examples:
        source = (folder / f"{example.name}.py").read_text(encoding="utf-8")
        counted = counts_of(folder, example)
        measured = {words: times_of(times / name, example) for words, name in DEVICES.items()}
        points = {words: predicted(model, counted, example.at) for words, model in models.items()}
        curves = {words: predicted(model, counted, example.sizes()) for words, model in models.items()}
        pairs = {words: pairs_of(model, counted, example, measured[words]) for words, model in models.items()}
        picture(curves, example, folder / f"{example.name}.png", measured)
        write_whole(folder / f"{example.name}.md", page(example, source, points, pairs).encode())
        title = title_of(source).partition(":")[0]
        best = (fastest_text(point, at_the_table(pairs[words], example)) for words, point in points.items())
        rows.append((f"[{title}]({example.name}.md)", *best))
        for words, here in pairs.items():
            found[words] += here
    write_whole(folder / "index.md", index(rows, examples, found).encode())


class Pair(NamedTuple):
    """A measured time next to its prediction [s], and whether it lies in the interval."""

    variant: str
    size: int  # the one that varies
    measured: float
    predicted: float
    inside: bool

    @property
    def off(self) -> float:
        """The larger of both times over the smaller one [1]."""
        return max(self.measured / self.predicted, self.predicted / self.measured)


def times_of(store: Path, example: Example) -> Times:
    """Return the measured times of an example at the sizes that are timed; empty if its device was not measured."""
    if not store.is_dir():
        return {}
    times: dict[str, dict[int, float]] = {}
    sizes = example.timed_sizes()
    wanted = {int(size) for size in sizes[example.across]}
    for row in read(store).of_kernels(example.name):
        at = dict(row.parameters)
        size = at.pop(example.across)
        if size in wanted and all(sizes[name] == value for name, value in at.items()):
            times.setdefault(str(row.variant["variant"]), {})[size] = row.seconds
    return times


def pairs_of(
    model: pm.FittedModel, counted: Callable[[int], dict[str, pm.KernelCounts]], example: Example, times: Times
) -> list[Pair]:
    """Return measured times next to their predictions, in the order of variants and sizes."""
    if not times:
        return []
    sizes = example.timed_sizes()
    pairs = []
    for variant, prediction in predicted(model, counted, sizes).items():
        low, high = prediction.interval or (0.0, np.inf)
        bounds = np.broadcast_arrays(sizes[example.across], prediction.seconds, low, high)
        for size, seconds, least, most in zip(*map(np.ravel, bounds), strict=True):
            if (measured := times.get(variant, {}).get(int(size))) is not None:
                inside = bool(least <= measured <= most)
                pairs.append(Pair(variant, int(size), measured, float(seconds), inside))
    return pairs


def at_the_table(pairs: Sequence[Pair], example: Example) -> list[Pair]:
    """Return the pairs at the sizes of the page's table."""
    return [pair for pair in pairs if pair.size == example.at[example.across]]


def fastest_text(point: Predictions, pairs: Sequence[Pair]) -> str:
    """Return the variant predicted fastest; where it was measured, which one was, and by how much."""
    name = fastest(point)[0]
    times = {pair.variant: pair.measured for pair in pairs}
    if name not in times:
        return name
    best = min(times, key=lambda variant: times[variant])
    if best == name:
        return f"{name}, as measured"
    return f"{name}; measured: {best}, {times[name] / times[best]:.2f} times as fast"


def summary(pairs: Sequence[Pair], words: str) -> str:
    """Return in a sentence how far predictions of a device are from what was measured."""
    off = float(np.exp(np.mean([np.log(pair.off) for pair in pairs])))
    inside = sum(pair.inside for pair in pairs)
    return (
        f"{words}: {len(pairs)} measured times, {inside} of them inside of the interval; predictions are off by a "
        f"factor of {off:.2f} (geometric mean) and at most {max(pair.off for pair in pairs):.2f}."
    )


def weights_of(folder: Path) -> Path:
    """Return the weights of the family that is recommended for a device's folder."""
    path = recommended_weights(folder)
    if path is None:
        raise pm.PerfModelError(f"{folder} holds no weights")
    return path


def counts_of(folder: Path, example: Example) -> Callable[[int], dict[str, pm.KernelCounts]]:
    """Return a function that counts an example's variants for sub-groups of a size."""
    units = load_kernel_file(folder / f"{example.name}.py").variants

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
        warnings.simplefilter("ignore")  # on sizes outside the measured ones: the intervals show that
        return {name: model.predict(counts, sizes, allow_unmeasured=True) for name, counts in every.items()}


def fastest(point: Predictions) -> tuple[str, float]:
    """Return the variant with the smallest predicted time, and that [s]."""
    name = min(point, key=lambda variant: float(point[variant].seconds))
    return name, float(point[name].seconds)


def picture(
    curves: Mapping[str, Predictions], example: Example, path: Path, measured: Mapping[str, Times] | None = None
) -> None:
    """Draw predicted times against sizes, and measured ones where there are some, a device next to the other."""
    figure = empty_figure(3.1 * len(curves) + 1.4, 3.2)
    every = figure.subplots(1, len(curves), squeeze=False)[0]
    known = measured and any(measured.values())
    for axes, (words, curve) in zip(every, curves.items(), strict=True):
        # An unmeasured device has markers too, though no points: the legend next to the last one is for all.
        times = {name: measured[words].get(name, {}) for name in curve} if measured and known else {}
        spots = {name: ([*found], [*found.values()]) for name, found in times.items()}
        pm.plot.sizes(curve, axes, parameter=example.across, leads=(), title=words, measured=spots or None)
        if (legend := axes.get_legend()) is not None:
            legend.remove()
    for axes in every[1:]:
        axes.set_ylabel("")
    legend_beside(every[-1])
    write_figure(figure, path, dpi=110)


def title_of(source: str) -> str:
    """Return the first line of a kernel file's docstring."""
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0].rstrip(".")


def page(
    example: Example, source: str, points: Mapping[str, Predictions], pairs: Mapping[str, Sequence[Pair]] | None = None
) -> str:
    """Return an example's page: its words, its code, the picture, and times at its sizes with 90 % intervals."""
    words = (ast.get_docstring(ast.parse(source)) or "").partition("\n\n")[2]
    code = source.partition('"""\n\n')[2].strip()
    table = [("variant", *points), ("---", *("---:" for _ in points))]
    for variant in next(iter(points.values())):
        cells = []
        for point in points.values():
            prediction = point[variant]
            low, high = prediction.interval or (0.0, np.inf)
            text = seconds_text(float(prediction.seconds))
            bold = f"**{text}**" if variant == fastest(point)[0] else text
            cells.append(f"{bold}<br>{interval_text((float(low), float(high)))}")
        table.append((f"`{variant}`", *cells))
    sizes = ", ".join(f"{name} = {value:,}" for name, value in example.at.items())
    bounds = "; ".join(f"{device}: {bound_of(point)}" for device, point in points.items())
    return "\n\n".join([
        f"# {title_of(source)}", words, f"```python\n# {example.name}.py\n{code}\n```", f"    {example.command}",
        "## Predictions",
        f"Predicted times at {sizes}, with intervals that should hold 90 % of measured times; the fastest variant in "
        f"bold.{'' if any((pairs or {}).values()) else ' ' + UNRUN}", markdown_table(table),
        f"The largest part of the fastest variant's time: {bounds}.",
        f"![Times of the variants against the size, on three devices]({example.name}.png)",
        *measured_part(example, pairs or {}), "",
    ])  # fmt: skip


def measured_part(example: Example, pairs: Mapping[str, Sequence[Pair]]) -> list[str]:
    """Return the part of a page with the measured times at the sizes of its table; nothing where there are none."""
    known = {words: here for words, here in pairs.items() if here}
    if not known:
        return []
    rows = [("device", "variant", "measured", "predicted", "predicted / measured", "in the interval"),
            ("---", "---", "---:", "---:", "---:", "---")]  # fmt: skip
    for words, here in known.items():
        for pair in sorted(at_the_table(here, example), key=lambda pair: pair.measured):
            times = (seconds_text(pair.measured), seconds_text(pair.predicted))
            factor = f"{pair.predicted / pair.measured:.2f}"
            rows.append((words, f"`{pair.variant}`", *times, factor, "yes" if pair.inside else "no"))
    sizes = ", ".join(map(str, example.timed_sizes()[example.across]))
    return [
        "## Measurements", "By `perfmodel time` on a quiet machine, the fastest variant first.",
        markdown_table(rows), f"At all three sizes, {example.across} = {sizes} (hollow markers in the picture):",
        "\n".join(f"- {summary(here, words)}" for words, here in known.items()),
    ]  # fmt: skip


def bound_of(point: Predictions) -> str:
    """Return the largest term of the fastest variant, and its share of the time."""
    name, seconds = fastest(point)
    terms = {term: float(value) for term, value in (point[name].terms or {}).items()}
    largest = max(terms, key=lambda term: terms[term])
    return f"`{largest}` ({terms[largest] / seconds:.0%})".replace("%", " %")


def index(
    rows: list[tuple[str, ...]], examples: tuple[Example, ...], found: Mapping[str, Sequence[Pair]] | None = None
) -> str:
    """Return the page that lists all, with the figures of all measured times."""
    entries = "\n".join(example.name for example in examples)
    known = [summary(pairs, words) for words, pairs in (found or {}).items() if pairs]
    figures = ["Of all kernels, each at three sizes:", "\n".join(f"- {line}" for line in known)] if known else []
    return "\n\n".join([
        "# A gallery of kernels",
        "What do models predict for kernels like mine? These are eight kernels of different kinds, each in variants "
        "that a tuner would try, with the times that committed weights predict. `scripts/redraw gallery` draws these "
        "pages, and `scripts/bench gallery --device pocl` measures the kernels. [How reliable a "
        "prediction is](../../evaluation.md) has the errors.",
        markdown_table(rows), *figures, f"```{{toctree}}\n:hidden:\n\n{entries}\n```", "",
    ])  # fmt: skip
