"""Options and arguments that several commands share, and the values that they give."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

import typer
from typer import Argument, Option

from perfmodel import calibration, kernels, measuring, predicting, processes
from perfmodel.cli import numbers, output
from perfmodel.errors import PerfModelError, VariantError
from perfmodel.facts import DeviceFacts, published, read_facts

SCRATCH = "PERFMODEL_SCRATCH"  #: Environment variable: the folder with the records of a command without ``--keep``

# A user's kernels.
KernelFile = Annotated[Path, Argument(metavar="KERNEL.PY", help="Python file with kernel() or variants().")]
Variant = Annotated[list[str] | None, Option(
    "--variant", help="Only this variant; repeat for more. All of them by default.",
)]  # fmt: skip
Sizes = Annotated[list[str] | None, Option(
    "--size", "-p", metavar="NAME=SIZE", help="A size parameter: n=1000, n=1e6, n=2**20, n=1Mi; repeat for more.",
)]  # fmt: skip
SizeLists = Annotated[list[str] | None, Option(
    "--size", "-p", metavar="NAME=SIZES",
    help="A size parameter: n=1000, n=1e6, n=2**20, n=1Mi (1Ki is 1024, 1k is 1000), or several sizes: n=256..4096 "
    "(doubling), n=1000:5000:500 (in steps; ends included), n=100,200; repeat for more.",
)]  # fmt: skip
Paired = Annotated[bool, Option(
    "--zip", help="Pair the sizes of several -p, the first with the first; all combinations by default.",
)]  # fmt: skip
Csv = Annotated[bool, Option("--csv", help="Print the table as CSV, complete.")]
Statistics = Annotated[list[str] | None, Option(
    "--statistics", "--statistic", metavar="KEY=NUMBER",
    help="Mean trip count of a loop that depends on data (j=12.5), probability of a condition, or the range of "
    "indices into an array that a work-item uses (x:span=1000); repeat for more.",
)]  # fmt: skip
Jobs = Annotated[int | None, Option(
    "--jobs", "-j", metavar="N", help="Count and predict in N processes; -1: one for each core.",
)]  # fmt: skip

# A device and what is measured on it.
DeviceName = Annotated[str | None, Option("--device", help="Name, platform or index; PoCL by default.")]
Kernels = Annotated[list[Path] | None, Option("--kernels", help="Folder of kernel classes; repeat for more.")]
Classes = Annotated[list[str] | None, Option(
    "--class", metavar="NAME|TAG", help="Only this class, or those with this tag; repeat for more.",
)]  # fmt: skip
Quick = Annotated[bool, Option("--quick", help="Three variants of each class, in short runs: 90 seconds.")]
Full = Annotated[bool, Option("--full", help="Every variant, work-group shape and size.")]
Budget = Annotated[float | None, Option("--budget", min=0, help="Start no measurement after this many seconds.")]
Scheduler = Annotated[str | None, Option(
    "--scheduler", metavar="ADDRESS",
    help="Measure on the devices of this Dask scheduler's workers, which are their resources; by default on all.",
)]  # fmt: skip
DeviceFile = Annotated[str | None, Option(
    "--facts", metavar="NAME|FILE.yaml",
    help="Facts of a published device, or of a file, which replace the known ones. In predict, weights are "
    "transferred to a published device.",
)]  # fmt: skip
# Measurements and models.
Source = Annotated[Path, Option("--from", metavar="FOLDER", help="Folder or .jsonl file with measurements.")]
FamilyName = Annotated[str, Option(
    "--family", help="Name of the model family, 'expr:' and a formula for the seconds, or a .py file.",
)]  # fmt: skip
WeightsFile = Annotated[Path | None, Option(
    "--weights", "-w", metavar="FILE", help="File of weights that `fit` wrote; by default the device's.",
)]  # fmt: skip
OwnFamily = Annotated[str | None, Option(
    "--family", metavar="NAME|FILE.py",
    help="Use the weights of this family, not of the recommended one; a Python file is run.",
)]  # fmt: skip
Strict = Annotated[bool, Option(
    "--strict", help="Refuse kernels with unmeasured features; do not take costs from related features.",
)]  # fmt: skip
ClockName = Annotated[Literal["host", "device"], Option(
    "--clock", help="Predict times by the host's clock, with the launch, or by the device's, without it.",
)]  # fmt: skip
Level = Annotated[float, Option("--level", help="Probability of the intervals.")]
Tolerance = Annotated[float | None, Option(
    "--tolerance", min=0,
    help="Largest relative difference between the outputs of variants: 1e-4 for float32, 1e-8 for float64; inf: do "
    "not compare them.",
)]  # fmt: skip
Keep = Annotated[Path | None, Option(
    "--keep", metavar="FOLDER", help="Add all runs, and the counts, to the store in this folder, which `fit` reads.",
)]  # fmt: skip
Anchored = Annotated[bool, Option(
    "--anchor", help="Run each variant once at a small size, and scale its predictions by that time.",
)]  # fmt: skip


@dataclass(frozen=True)
class KernelOptions:
    """A user's kernel file, its variants, and statistics of their data."""

    kernel: KernelFile
    variant: Variant = None
    statistic: Statistics = None

    @property
    def statistics(self) -> dict[str, float]:
        """The statistics by key."""
        return numbers.statistics(self.statistic)

    def load(self, points: Sequence[Mapping[str, int]] = ()) -> kernels.files.KernelFile:
        """Run the kernel file, for one point of sizes or for all sizes."""
        return kernels.load_kernel_file(self.kernel, points[0] if len(points) == 1 else {}).only(self.variant or None)


@dataclass(frozen=True)
class ModelOptions:
    """The weights for a prediction, and the device."""

    weights: WeightsFile = None
    device: DeviceName = None

    def load(self, with_json: bool = False, facts: str | None = None) -> predicting.FittedModel:
        """Return the model, and print its weights. With ``--json``, print only if `with_json` is true."""
        message = partial(output.message, with_json=with_json)
        return model_with_facts(facts, self.weights, None, self.device, message, judged=True)


def model_with_facts(
    facts: str | None, weights: Path | None, family: str | None, device: str | None, message: Callable[[str], None],
    judged: bool = False,
) -> predicting.FittedModel:  # fmt: skip
    """Return the model in use, with the facts of a file, or transferred to a published device. Report its weights."""
    recommended, known = calibration.recommended, facts_of(facts)
    if known is None or is_facts_file(str(facts)):
        model = recommended.model_in_use(weights, family, device, message, judged)
        if known is None:
            return model
        predicting.transfer.check_types(model.facts, known)
        return model.with_facts(dict(known.facts))
    if weights is None:
        found = recommended.weights_like(device, known, family)
        message(found.text)
        weights = found.path
    return predicting.transfer.transferred(predicting.load(weights, family), known)


@dataclass(frozen=True)
class CampaignOptions:
    """A measurement campaign: the device, the kernels and the time."""

    device: DeviceName = None
    kernels: Kernels = None
    quick: Quick = False
    full: Full = False
    budget: Budget = None


def supervise_command(context: typer.Context) -> None:
    """Run this command in a child process, which a kernel may crash, and end with its status. In the child, return."""
    if context.obj and not measuring.supervised.follow_supervisor():
        raise typer.Exit(measuring.supervised.supervise(context.obj, partial(typer.echo, err=True)))


def supervised_store(context: typer.Context, keep: Path | None) -> Path | None:
    """Return the store for a child's records. Without ``--keep`` it is a temporary folder, also for the next child."""
    if keep is not None or not context.obj or SCRATCH in os.environ:
        supervise_command(context)
        return keep or (Path(os.environ[SCRATCH]) if context.obj else None)
    with TemporaryDirectory(prefix="perfmodel-") as folder:
        os.environ[SCRATCH] = folder
        supervise_command(context)  # ends this process's command
    return None


def data_at(
    loaded: kernels.files.KernelFile, points: Sequence[Mapping[str, int]], jobs: int | None = None
) -> dict[str, Any]:
    """Return the option of :func:`perfmodel.count` that takes statistics from a file's ``arguments()``, at one size."""
    if loaded.arguments is None or len(points) != 1:
        return {}
    arguments, sizes = loaded.arguments, points[0]
    if jobs is not None:  # other processes cannot call a function of the file
        return {"arrays": {**sizes, **arguments(**sizes)}}
    return {"arrays": lambda: {**sizes, **arguments(**sizes)}}


def weights_in_use() -> calibration.recommended.FoundWeights:
    """Find the weights of the device in use, and print their names."""
    weights = calibration.recommended.find_weights(None, None)
    output.message(weights.text)
    return weights


def facts_of(name: str | None) -> DeviceFacts | None:
    """Return the facts of a published device or of a YAML file, which ``--facts`` names."""
    if name is None:
        return None
    if is_facts_file(name):
        return DeviceFacts.from_mapping(Path(name).stem, "", "", read_facts(name))
    return published(name)


def is_facts_file(name: str) -> bool:
    """Return whether ``--facts`` names a file, not a published device."""
    return Path(name).suffix in (".yaml", ".yml")


def counted_variants(
    loaded: kernels.files.KernelFile, subgroup_size: int = 32, jobs: int | None = None, **options: Any
) -> processes.variants.CountedVariants:
    """Count a kernel file's variants, with `jobs` in several processes. If all fail, raise the first error."""
    alone = jobs is None
    with output.counting(shown=alone), about(next(iter(loaded.builders)), loaded.builders if alone else ()):
        return processes.pool.count_all(
            loaded.builders, 1 if jobs is None else jobs, progress=None if alone else output.CommandBar(),
            subgroup_size=subgroup_size, check=True, **options,
        )  # fmt: skip


@contextmanager
def about(name: str, variants: Collection[str]) -> Iterator[None]:
    """Raise an error of the block as a VariantError with the variant's name if there are several variants."""
    try:
        yield
    except PerfModelError as error:
        if len(variants) < 2 or isinstance(error, VariantError):
            raise
        raise VariantError(f"variant '{name}': {error}", name=name) from error
