"""Options and arguments that several commands share, in groups where they stand together, and what they stand for."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from warnings import warn

import typer
from typer import Argument, Option

from perfmodel.cli.output import CommandBar, settings
from perfmodel.cli.size_grammar import MOST, parse_sizes
from perfmodel.errors import ForeignWeightsWarning, OptionError, PerfModelError, UnknownVariantError, VariantError

if TYPE_CHECKING:
    from loopy import TranslationUnit

    from perfmodel.calibration.recommended import FoundWeights
    from perfmodel.counts import KernelCounts
    from perfmodel.facts import DeviceFacts, Fact
    from perfmodel.kernels.files import KernelFile as LoadedFile
    from perfmodel.predicting.model import FittedModel
    from perfmodel.processes.variants import CountedVariants

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
        help="Mean trip count of a loop that depends on data, or probability of a test by its text; repeat for more.",
    ),
]  # fmt: skip

Jobs = Annotated[
    int | None,
    Option(
        "--jobs", "-j", metavar="N",
        help="Count and predict in N processes, one for each variant at most; -1: one a core. Failures are left out.",
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
        help="Facts of a published device, or of a file; they replace those that are known of the device.",
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
AllowUnmeasured = Annotated[bool, Option("--allow-unmeasured", help="Count features that were never measured as free.")]
Level = Annotated[float, Option("--level", help="Probability that intervals should have.")]
Tolerance = Annotated[
    float | None,
    Option(
        "--tolerance", min=0,
        help="Largest relative difference between the outputs of variants; 1e-4 for float32, 1e-8 for float64.",
    ),
]  # fmt: skip
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
        return statistics(self.statistic)

    def load(self) -> LoadedFile:
        """Run the kernel file."""
        return kernel_file_of(self.kernel, self.variant)


@dataclass(frozen=True)
class ModelOptions:
    """The weights that predict, and the device."""

    weights: WeightsFile = None
    family: OwnFamily = None
    device: DeviceName = None

    def load(self, facts: str | None = None, told: bool = False) -> FittedModel:
        """Return the model of ``--weights``, else that of the device in use, with the facts of ``--facts``.

        Standard error says which weights were found (:func:`weights_in_use`), and what tells the device of given ones
        from the one in use.
        """
        from perfmodel.calibration.recommended import foreign
        from perfmodel.predicting.model import load

        given = given_facts_of(facts)
        if self.weights is None:
            model = load(weights_in_use(self.device, self.family, told).path, self.family)
        else:
            model = load(self.weights, self.family)
            if differ := foreign(model, self.device):
                problem = f"the weights are not of the device in use: {'; '.join(differ)}"
                warn(problem, ForeignWeightsWarning, stacklevel=2)
        return model.with_facts(given) if given else model


@dataclass(frozen=True)
class CampaignOptions:
    """What is measured, on which device, and for how long."""

    device: DeviceName = None
    kernels: Kernels = None
    quick: Quick = False
    full: Full = False
    budget: Budget = None
    scheduler: Scheduler = None


def weights_in_use(device: str | None = None, family: str | None = None, told: bool = False) -> FoundWeights:
    """Find the weights of the device in use; standard error says which, with ``--json`` only where it is `told`."""
    from perfmodel.calibration.recommended import find_weights

    weights = find_weights(device, family)
    if (told or not settings().json) and not settings().quiet:
        typer.echo(f"perfmodel: {weights.text}", err=True)
    return weights


def sizes(options: Iterable[str] | None) -> dict[str, int]:
    """Return the sizes that ``-p`` options give, one for each name.

    Examples
    --------
    >>> sizes(["n=1Ki", "m = 8"])
    {'n': 1024, 'm': 8}
    """
    lists = size_lists(options)
    for name, values in lists.items():
        if len(values) > 1:
            raise OptionError(f"-p gives {len(values)} sizes of '{name}'", "give one size here, as n=1024")
    return {name: value for name, (value,) in lists.items()}


def size_lists(options: Iterable[str] | None) -> dict[str, tuple[int, ...]]:
    """Return all sizes of each name that ``-p`` options give."""
    lists: dict[str, tuple[int, ...]] = {}
    for text in options or ():
        for name, values in parse_sizes(text).items():
            if name in lists:
                raise OptionError(f"-p gives '{name}' twice", f"give it once; -p {name}=1,2 gives two sizes")
            lists[name] = values
    return lists


def size_points(options: Iterable[str] | None, paired: bool = False) -> tuple[dict[str, int], ...]:
    """Return the points that ``-p`` options give: all combinations, the last name first, or the sizes in pairs.

    Examples
    --------
    >>> size_points(["n=1,2", "m=8,9"])
    ({'n': 1, 'm': 8}, {'n': 1, 'm': 9}, {'n': 2, 'm': 8}, {'n': 2, 'm': 9})
    >>> size_points(["n=1,2", "m=8,9"], paired=True)
    ({'n': 1, 'm': 8}, {'n': 2, 'm': 9})
    """
    lists = size_lists(options)
    if paired:
        several = {name: len(values) for name, values in lists.items() if len(values) > 1}
        count = max(several.values(), default=1)
        if len(set(several.values())) > 1:
            given = " and ".join(f"{many} of {name}" for name, many in several.items())
            raise OptionError(f"--zip was given with {given}", "give each name as many sizes, or one for all")
        lists = {name: values if len(values) > 1 else values * count for name, values in lists.items()}
        return tuple(dict(zip(lists, point, strict=True)) for point in zip(*lists.values(), strict=True)) or ({},)
    if (count := math.prod(map(len, lists.values()))) > MOST:
        raise OptionError(f"-p gives {count} combinations of sizes", f"give at most {MOST}, or --zip to pair them")
    return tuple(dict(zip(lists, point, strict=True)) for point in product(*lists.values()))


def statistics(options: Iterable[str] | None) -> dict[str, float]:
    """Return the statistics that ``--statistics`` options give; a test may hold an equals sign itself.

    Examples
    --------
    >>> statistics(["j=12.5", "k[i] <= 0=0.25"])
    {'j': 12.5, 'k[i] <= 0': 0.25}
    """
    numbers = {}
    for text in options or ():
        key, _, value = (part.strip() for part in text.rpartition("="))
        try:
            if not key:
                raise ValueError
            numbers[key] = float(value)
        except ValueError:
            advice = "give KEY=NUMBER, as in --statistics j=12.5 or --statistics 'a[i] > 0=0.25'"
            raise OptionError(f"--statistics '{text}' is no statistic", advice) from None
    return numbers


def facts_of(name: str | None) -> DeviceFacts | None:
    """Return the facts of a published device, or those that a YAML file gives."""
    from perfmodel.facts import DeviceFacts, published, read_facts

    if name is None:
        return None
    if Path(name).suffix in (".yaml", ".yml"):
        return DeviceFacts.from_mapping(Path(name).stem, "", "", read_facts(name))
    return published(name)


def given_facts_of(name: str | None) -> dict[str, Fact]:
    """Return the facts of ``--facts`` by key."""
    device = facts_of(name)
    return {} if device is None else dict(device.facts)


def kernel_file_of(path: Path, variants: Collection[str] | None) -> LoadedFile:
    """Return a kernel file with all variants, or only those asked for."""
    from perfmodel.kernels.files import load_kernel_file

    loaded = load_kernel_file(path)
    wanted = tuple(variants or loaded.builders)
    for name in wanted:
        if name not in loaded.builders:
            raise UnknownVariantError(name, tuple(loaded.builders))
    return loaded.only(wanted)


def counted_variants(
    path: Path, variants: Collection[str] | None, subgroup_size: int = 32, jobs: int | None = None, **options: Any
) -> Mapping[str, KernelCounts]:
    """Return the counts of a kernel file's variants, or of those asked for; options are those of `count`.

    With `jobs`, the mapping has ``errors`` (:class:`perfmodel.CountedVariants`), and one failure does not end the rest.
    """
    loaded = kernel_file_of(path, variants)
    if jobs is not None:
        return count_jobs(loaded, jobs, subgroup_size, **options)
    return count_units(loaded.variants, subgroup_size, **options)


def count_jobs(loaded: LoadedFile, jobs: int, subgroup_size: int = 32, **options: Any) -> CountedVariants:
    """Count a kernel file's variants in several processes, behind a progress bar; options are those of `count`."""
    from perfmodel.processes.counting import count_all

    return count_all(loaded.builders, jobs, progress=CommandBar(), subgroup_size=subgroup_size, check=True, **options)


def count_units(
    units: Mapping[str, TranslationUnit], subgroup_size: int, **options: Any
) -> dict[str, KernelCounts]:
    """Count variants in this process; options are those of `count`."""
    from perfmodel.counts import count

    with counting():
        counted = {}
        for name, unit in units.items():
            with about(name, units):
                counted[name] = count(unit, subgroup_size, check=True, **options)
        return counted


@contextmanager
def counting(shown: bool = True) -> Iterator[None]:
    """Say while a block runs that it counts, where standard error is a terminal and nothing else is shown there."""
    from rich.console import Console

    with Console(stderr=True, quiet=settings().quiet or not shown).status("counting ..."):
        yield


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
        raise VariantError(name, str(error)) from error
