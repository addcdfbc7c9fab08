"""Options and arguments that several commands share, in groups where they stand together, and what they stand for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Option

from perfmodel import calibration, predicting, processes
from perfmodel.cli import numbers, output
from perfmodel.errors import PerfModelError, VariantError

if TYPE_CHECKING:

    from perfmodel.counts import KernelCounts
    from perfmodel.facts import DeviceFacts, Fact
    from perfmodel.kernels.files import KernelFile as LoadedFile

# A user's kernels.
KernelFile = Annotated[Path, Argument(metavar="KERNEL.PY", help="Python file with kernel() or variants().")]
Variant = Annotated[
    list[str] | None, Option("--variant", help="Only this variant; repeat for more. All of them by default.")
]
Sizes = Annotated[
    list[str] | None,
    Option(
        "--size", "-p", metavar="NAME=SIZE", help="A size parameter: n=1000, n=1e6, n=2**20, n=1Mi; repeat for more."
    ),
]
SizeLists = Annotated[
    list[str] | None,
    Option(
        "--size", "-p", metavar="NAME=SIZES",
        help="A size parameter: n=1000, n=1e6, n=2**20, n=1Mi (1Ki is 1024, 1k is 1000), or several sizes: "
        "n=256..4096 (doubling), n=1000:5000:500 (in steps; ends included), n=100,200; repeat for more.",
    ),
]  # fmt: skip
Paired = Annotated[
    bool, Option("--zip", help="Pair the sizes of several -p, the first with the first; all combinations by default.")
]
Csv = Annotated[bool, Option("--csv", help="Print the table as CSV, complete.")]
Statistics = Annotated[
    list[str] | None,
    Option(
        "--statistics", "--statistic", metavar="KEY=NUMBER",
        help="Mean trip count of a loop that depends on data (j=12.5), probability of a test by its text, or how many "
        "neighbouring indices into an array a work-item uses (x:span=1000); repeat for more.",
    ),
]  # fmt: skip

Jobs = Annotated[
    int | None,
    Option(
        "--jobs", "-j", metavar="N",
        help="Count and predict in N processes, one for each variant at most; -1: one a core.",
    ),
]  # fmt: skip

# A device and what is measured on it.
DeviceName = Annotated[str | None, Option("--device", help="Name, platform or index; PoCL by default.")]
Kernels = Annotated[list[Path] | None, Option("--kernels", help="Folder of kernel classes; repeat for more.")]
Classes = Annotated[
    list[str] | None,
    Option("--class", metavar="NAME|TAG", help="Only this class, or those with this tag; repeat for more."),
]
Quick = Annotated[bool, Option("--quick", help="Three variants of each class, in short runs: 90 seconds.")]
Full = Annotated[bool, Option("--full", help="Every variant, work-group shape and size.")]
Budget = Annotated[
    float | None, Option("--budget", min=0, help="Begin no measurement after so many seconds; each class in turn.")
]
Scheduler = Annotated[
    str | None,
    Option(
        "--scheduler", metavar="ADDRESS",
        help="Measure on the devices of this Dask scheduler's workers (perfmodel worker); on all without --device.",
    ),
]  # fmt: skip
DeviceFile = Annotated[
    str | None,
    Option(
        "--facts", metavar="NAME|FILE.yaml",
        help="Facts of a published device, or of a file; they replace those that are known of the device. In "
        "predict a published device is another one: weights are transferred to it.",
    ),
]  # fmt: skip
Like = Annotated[
    str | None,
    Option(
        "--like", metavar="NAME",
        help="Transfer this device's weights to that of --facts; by default those of a measured device of its type.",
    ),
]  # fmt: skip

# Measurements and models.
Source = Annotated[Path, Option("--from", metavar="FOLDER", help="Folder or .jsonl file with measurements.")]
FamilyName = Annotated[
    str, Option("--family", help="Its name, 'expr:' and seconds from features and weights w_*, or a .py file.")
]
GivenFacts = Annotated[
    bool, Option("--given-facts", help="Refuse a family that needs an unknown fact of the device; do not fit it.")
]
MeasuredFacts = Annotated[
    bool, Option("--measured-facts", help="Fix the facts that can be read off the measurements; do not fit them.")
]
WeightsFile = Annotated[
    Path | None,
    Option(
        "--weights", "-w", metavar="FILE",
        help="Weights that `fit` wrote; by default those of the device, your own before those of fitted_weights/.",
    ),
]  # fmt: skip
OwnFamily = Annotated[
    str | None,
    Option(
        "--family", metavar="NAME|FILE.py",
        help="Take this family's weights, not the recommended one's; a file is run, for weights of a family in it.",
    ),
]  # fmt: skip
AllowUnmeasured = Annotated[
    bool, Option("--allow-unmeasured", help="Count what was never measured, and has no relative that was, as free.")
]
Strict = Annotated[
    bool,
    Option("--strict", help="Refuse what was never measured on the device; do not take its cost from a relative."),
]
ClockName = Annotated[
    Literal["host", "device"],
    Option("--clock", help="Predict times by the host's clock, with the launch, or by the device's, without it."),
]
Level = Annotated[float, Option("--level", help="Probability that intervals should have.")]
Tolerance = Annotated[
    float | None,
    Option(
        "--tolerance", min=0,
        help="Largest relative difference between the outputs of variants; 1e-4 for float32, 1e-8 for float64.",
    ),
]  # fmt: skip
Check = Annotated[
    Literal["outputs", "none"],
    Option("--check", help="Compare the outputs of variants, or nothing, as where their layouts differ."),
]
Anchored = Annotated[
    bool, Option("--anchor", help="Run each variant once at a small size, and scale its prediction by that.")
]


@dataclass(frozen=True)
class KernelOptions:
    """A user's kernel file, which of its variants are meant, and what only the user knows of their data."""

    kernel: KernelFile
    variant: Variant = None
    statistic: Statistics = None

    @property
    def statistics(self) -> dict[str, float]:
        """The statistics by their keys."""
        return numbers.statistics(self.statistic)

    def load(self) -> LoadedFile:
        """Run the kernel file."""
        from perfmodel.kernels.files import load_kernel_file

        return load_kernel_file(self.kernel).only(self.variant or None)


@dataclass(frozen=True)
class ModelOptions:
    """The weights that predict, and the device."""

    weights: WeightsFile = None
    family: OwnFamily = None
    device: DeviceName = None
    strict: Strict = False

    def load(self, told: bool = False) -> predicting.FittedModel:
        """Return the model that these options mean; standard error says which weights, as :func:`weights_in_use`."""
        tell = partial(output.tell, beside_json=told)
        model = calibration.recommended.model_in_use(self.weights, self.family, self.device, tell)
        return replace(model, strict=self.strict)


@dataclass(frozen=True)
class CampaignOptions:
    """What is measured, on which device, and for how long."""

    device: DeviceName = None
    kernels: Kernels = None
    quick: Quick = False
    full: Full = False
    budget: Budget = None
    scheduler: Scheduler = None


def weights_in_use(family: str | None = None) -> calibration.recommended.FoundWeights:
    """Find the weights of the device in use; standard error says which."""
    weights = calibration.recommended.find_weights(None, family)
    output.tell(weights.text)
    return weights


def facts_of(name: str | None) -> DeviceFacts | None:
    """Return the facts of a published device, or those that a YAML file gives."""
    from perfmodel.facts import DeviceFacts, published, read_facts

    if name is None:
        return None
    if is_facts_file(name):
        return DeviceFacts.from_mapping(Path(name).stem, "", "", read_facts(name))
    return published(name)


def is_facts_file(name: str) -> bool:
    """Return whether ``--facts`` names a file, and no published device."""
    return Path(name).suffix in (".yaml", ".yml")


def given_facts_of(name: str | None) -> dict[str, Fact]:
    """Return the facts of ``--facts`` by key."""
    device = facts_of(name)
    return {} if device is None else dict(device.facts)


def counted_variants(
    path: Path, variants: Collection[str] | None, subgroup_size: int = 32, jobs: int | None = None, **options: Any
) -> Mapping[str, KernelCounts]:
    """Return the counts of a kernel file's variants, or of those asked for; options are those of `count`.

    Its ``errors`` say why others have none. If all fail, the first error is raised.
    """
    from perfmodel.counts import count
    from perfmodel.kernels.files import load_kernel_file
    from perfmodel.processes.variants import CountedVariants

    loaded = load_kernel_file(path).only(variants or None)
    if jobs is not None:
        return count_jobs(loaded, jobs, subgroup_size, **options)
    counted: dict[str, KernelCounts] = {}
    errors: dict[str, PerfModelError] = {}
    with output.counting():
        for name, build in loaded.builders.items():
            try:
                counted[name] = count(build(), subgroup_size, check=True, **options)
            except PerfModelError as error:
                errors[name] = error
    if not counted:
        name, first = next(iter(errors.items()))
        with about(name, errors):
            raise first
    return CountedVariants(counted, errors)


def count_jobs(
    loaded: LoadedFile, jobs: int, subgroup_size: int = 32, **options: Any
) -> processes.variants.CountedVariants:
    """Count a kernel file's variants in several processes, behind a progress bar; options are those of `count`."""
    options |= {"subgroup_size": subgroup_size, "check": True}
    return processes.counting.count_all(loaded.builders, jobs, progress=output.CommandBar(), **options)


def errors_of(counted: Mapping[str, KernelCounts]) -> Mapping[str, PerfModelError]:
    """Return by name why other variants have no counts, where :func:`counted_variants` left some out."""
    return getattr(counted, "errors", {})


@contextmanager
def about(name: str, variants: Collection[str]) -> Iterator[None]:
    """Let an error of a block be a VariantError that says which variant it is about, where there are several."""
    try:
        yield
    except PerfModelError as error:
        if len(variants) < 2 or isinstance(error, VariantError):
            raise
        raise VariantError(f"variant '{name}': {error}", name=name) from error
