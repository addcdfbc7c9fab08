"""Options and arguments that several commands share, and the values that they stand for."""

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

from perfmodel.cli.settings import settings
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
KernelFile = Annotated[Path, typer.Argument(metavar="KERNEL.PY", help="Python file with kernel() or variants().")]
Variant = Annotated[
    list[str] | None,
    typer.Option("--variant", help="Only this variant; repeat for more. All of them by default."),
]
Sizes = Annotated[
    list[str] | None,
    typer.Option(
        "--size", "-p", metavar="NAME=SIZE", help="A size parameter: n=1000, n=1e6, n=2**20, n=1Mi; repeat for more."
    ),
]
SizeLists = Annotated[
    list[str] | None,
    typer.Option(
        "--size", "-p", metavar="NAME=SIZES",
        help="A size parameter: n=1000, n=1e6, n=2**20, n=1Mi (1Ki is 1024, 1k is 1000), or several sizes: "
        "n=256..4096 (doubling), n=1000:5000:500 (in steps; ends included), n=100,200; repeat for more.",
    ),
]  # fmt: skip
Paired = Annotated[
    bool,
    typer.Option("--zip", help="Pair the sizes of several -p, the first with the first; all combinations by default."),
]
Csv = Annotated[bool, typer.Option("--csv", help="Print the table as CSV, complete.")]
Statistics = Annotated[
    list[str] | None,
    typer.Option(
        "--statistics", "--statistic", metavar="KEY=NUMBER",
        help="Mean trip count of a loop that depends on data, or probability of a test by its text; repeat for more.",
    ),
]  # fmt: skip

Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs", "-j", metavar="N",
        help="Count and predict in N processes, one for each variant at most; -1: one a core. Failures are left out.",
    ),
]  # fmt: skip

# A device and what is measured on it.
DeviceName = Annotated[str | None, typer.Option("--device", help="Name, platform or index; PoCL by default.")]
Kernels = Annotated[list[Path] | None, typer.Option("--kernels", help="Folder of kernel classes; repeat for more.")]
Classes = Annotated[
    list[str] | None,
    typer.Option("--class", metavar="NAME|TAG", help="Only this class, or those with this tag; repeat for more."),
]
Quick = Annotated[bool, typer.Option("--quick", help="Three variants of each class, in short runs: 90 seconds.")]
Full = Annotated[bool, typer.Option("--full", help="Every variant, work-group shape and size.")]
Budget = Annotated[
    float | None,
    typer.Option("--budget", min=0, help="Begin no measurement after so many seconds; each class in turn."),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler", metavar="ADDRESS",
        help="Measure on the devices of this Dask scheduler's workers (perfmodel worker); on all without --device.",
    ),
]  # fmt: skip
DeviceFile = Annotated[
    str | None,
    typer.Option(
        "--facts", metavar="NAME|FILE.yaml",
        help="Facts of a published device, or of a file; they replace those that are known of the device.",
    ),
]  # fmt: skip

# Measurements and models.
Source = Annotated[
    Path, typer.Option("--from", metavar="FOLDER", help="Folder or .jsonl file with measurements.")
]
FamilyName = Annotated[
    str,
    typer.Option("--family", help="Its name, 'expr:' and seconds from features and weights w_*, or a .py file."),
]
GivenFacts = Annotated[
    bool, typer.Option("--given-facts", help="Refuse a family that needs an unknown fact of the device; do not fit it.")
]
MeasuredFacts = Annotated[
    bool,
    typer.Option("--measured-facts", help="Fix the facts that can be read off the measurements; do not fit them."),
]
WeightsFile = Annotated[
    Path | None,
    typer.Option(
        "--weights", "-w", metavar="FILE",
        help="Weights that `fit` wrote; by default those of the device, your own before those of fitted_weights/.",
    ),
]  # fmt: skip
OwnFamily = Annotated[
    str | None,
    typer.Option(
        "--family", metavar="NAME|FILE.py",
        help="Take this family's weights, not the recommended one's; a file is run, for weights of a family in it.",
    ),
]  # fmt: skip
AllowUnmeasured = Annotated[
    bool, typer.Option("--allow-unmeasured", help="Count features that were never measured as free.")
]
Level = Annotated[float, typer.Option("--level", help="Probability that intervals should have.")]
Tolerance = Annotated[
    float | None,
    typer.Option(
        "--tolerance", min=0,
        help="Largest relative difference between the outputs of variants; 1e-4 for float32, 1e-8 for float64.",
    ),
]  # fmt: skip
Anchored = Annotated[
    bool,
    typer.Option("--anchor", help="Run each variant once at a small size, and scale its prediction by that."),
]


@dataclass(frozen=True)
class KernelOptions:
    """A user's kernel file, which of its variants are meant, and what only the user knows of their data."""

    kernel: KernelFile
    variant: Variant = None
    statistic: Statistics = None

    @property
    def statistics(self) -> dict[str, float]:
        """The statistics by their keys; for the errors see :func:`statistics`."""
        return statistics(self.statistic)

    def load(self) -> LoadedFile:
        """Run the kernel file; for the errors see :func:`counted_variants`."""
        return kernel_file_of(self.kernel, self.variant)


@dataclass(frozen=True)
class ModelOptions:
    """The weights that predict, and the device."""

    weights: WeightsFile = None
    family: OwnFamily = None
    device: DeviceName = None

    def load(self, told: bool = True) -> FittedModel:
        """Return the model; for the errors see :func:`model_of`."""
        return model_of(self.weights, self.family, None, self.device, told)


@dataclass(frozen=True)
class CampaignOptions:
    """What is measured, on which device, and for how long."""

    device: DeviceName = None
    kernels: Kernels = None
    quick: Quick = False
    full: Full = False
    budget: Budget = None
    scheduler: Scheduler = None


def sizes(options: Iterable[str] | None) -> dict[str, int]:
    """Return the sizes that ``-p`` options give, one for each name.

    Raises
    ------
    SizeOptionError
        If one is of another form (:mod:`perfmodel.cli.size_grammar`).
    OptionError
        If a name is given twice, or several sizes of one.

    Examples
    --------
    >>> sizes(["n=1Ki", "m = 8"])
    {'n': 1024, 'm': 8}
    """
    found = size_lists(options)
    for name, values in found.items():
        if len(values) > 1:
            raise OptionError(f"-p gives {len(values)} sizes of '{name}'", "give one size here, as n=1024")
    return {name: value for name, (value,) in found.items()}


def size_lists(options: Iterable[str] | None) -> dict[str, tuple[int, ...]]:
    """Return all sizes of each name that ``-p`` options give; for the errors see :func:`sizes`."""
    found: dict[str, tuple[int, ...]] = {}
    for text in options or ():
        for name, values in parse_sizes(text).items():
            if name in found:
                raise OptionError(f"-p gives '{name}' twice", f"give it once; -p {name}=1,2 gives two sizes")
            found[name] = values
    return found


def size_points(options: Iterable[str] | None, paired: bool = False) -> tuple[dict[str, int], ...]:
    """Return the points that ``-p`` options give: all combinations, the last name first, or the sizes in pairs.

    Raises
    ------
    SizeOptionError, OptionError
        As of :func:`sizes`, or if sizes to be paired are not equally many, or points are too many.

    Examples
    --------
    >>> size_points(["n=1,2", "m=8,9"])
    ({'n': 1, 'm': 8}, {'n': 1, 'm': 9}, {'n': 2, 'm': 8}, {'n': 2, 'm': 9})
    >>> size_points(["n=1,2", "m=8,9"], paired=True)
    ({'n': 1, 'm': 8}, {'n': 2, 'm': 9})
    """
    found = size_lists(options)
    if paired:
        several = {name: len(values) for name, values in found.items() if len(values) > 1}
        count = max(several.values(), default=1)
        if len(set(several.values())) > 1:
            told = " and ".join(f"{many} of {name}" for name, many in several.items())
            raise OptionError(f"--zip was given with {told}", "give each name as many sizes, or one for all")
        found = {name: values if len(values) > 1 else values * count for name, values in found.items()}
        return tuple(dict(zip(found, point, strict=True)) for point in zip(*found.values(), strict=True)) or ({},)
    if (count := math.prod(map(len, found.values()))) > MOST:
        raise OptionError(f"-p gives {count} combinations of sizes", f"give at most {MOST}, or --zip to pair them")
    return tuple(dict(zip(found, point, strict=True)) for point in product(*found.values()))


def dtypes(options: Iterable[str] | None) -> dict[str, str]:
    """Return the types that ``--dtype`` options give.

    Raises
    ------
    OptionError
        If one is not of the form NAME=TYPE.

    Examples
    --------
    >>> dtypes(["a=float32", "b = int8"])
    {'a': 'float32', 'b': 'int8'}
    """
    found = {}
    for text in options or ():
        name, _, value = (part.strip() for part in text.partition("="))
        if not (name.isidentifier() and value):
            raise OptionError(f"--dtype '{text}' is no type of an argument", "give NAME=TYPE, as in --dtype a=float32")
        found[name] = value
    return found


def statistics(options: Iterable[str] | None) -> dict[str, float]:
    """Return the statistics that ``--statistics`` options give; a test may hold an equals sign itself.

    Raises
    ------
    OptionError
        If one is not of the form KEY=NUMBER.

    Examples
    --------
    >>> statistics(["j=12.5", "k[i] <= 0=0.25"])
    {'j': 12.5, 'k[i] <= 0': 0.25}
    """
    found = {}
    for text in options or ():
        key, _, value = (part.strip() for part in text.rpartition("="))
        try:
            if not key:
                raise ValueError
            found[key] = float(value)
        except ValueError:
            advice = "give KEY=NUMBER, as in --statistics j=12.5 or --statistics 'a[i] > 0=0.25'"
            raise OptionError(f"--statistics '{text}' is no statistic", advice) from None
    return found


def facts_of(name: str | None) -> DeviceFacts | None:
    """Return the facts of a published device, or those that a YAML file gives.

    Raises
    ------
    UnknownDeviceNameError
        If no published device has the name.
    FactsFileError
        If the file is not what it should be.
    """
    from perfmodel.facts import DeviceFacts, published, read_facts

    if name is None:
        return None
    if Path(name).suffix in (".yaml", ".yml"):
        return DeviceFacts.from_mapping(Path(name).stem, "", "", read_facts(name))
    return published(name)


def fraction(text: str) -> float:
    """Return the number that ``25%`` or ``0.25`` stands for; NaN where it is none.

    Examples
    --------
    >>> fraction("25%"), fraction("0.5"), fraction("half")
    (0.25, 0.5, nan)
    """
    try:
        return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        return math.nan


def share(text: str | None) -> float | None:
    """Return the share that ``25%`` or ``0.25`` stands for; None for no text.

    Raises
    ------
    OptionError
        If it is not above 0 and at most 1.

    Examples
    --------
    >>> share("25%"), share("0.5"), share(None)
    (0.25, 0.5, None)
    """
    if text is None:
        return None
    found = fraction(text)
    if not 0 < found <= 1:
        raise OptionError(f"--choose '{text}' is no share", "give more than 0 and at most 100%, as in 25%")
    return found


def counted_variants(
    path: Path, variant: Collection[str] | str | None, subgroup_size: int = 32, jobs: int | None = None, **options: Any
) -> Mapping[str, KernelCounts]:
    """Return the counts of a kernel file's variants, or of the variant asked for; options are those of `count`.

    With `jobs`, the mapping has ``errors`` (:class:`perfmodel.CountedVariants`), and one failure does not end the rest.

    Raises
    ------
    UnknownVariantError
        If there is no such variant.
    KernelFileMissingError, KernelFileSyntaxError, KernelFileContentError, ...
        If the file is not what it should be.
    IncompleteKernelError, OutOfBoundsError
        If a kernel cannot be built.
    VariantError
        If one of several variants cannot be counted.
    """
    if jobs is not None:
        return count_jobs(kernel_file_of(path, variant), jobs, subgroup_size, **options)
    return count_units(units_of(path, variant), subgroup_size, **options)


def count_jobs(loaded: LoadedFile, jobs: int, subgroup_size: int = 32, **options: Any) -> CountedVariants:
    """Count a kernel file's variants in several processes, behind a progress bar; options are those of `count`."""
    from perfmodel.cli.settings import CommandBar
    from perfmodel.processes.counting import count_all

    return count_all(loaded.builders, jobs, progress=CommandBar(), subgroup_size=subgroup_size, check=True, **options)


def units_of(path: Path, variant: Collection[str] | str | None) -> dict[str, TranslationUnit]:
    """Return a kernel file's variants, or only those asked for; for the errors see :func:`counted_variants`."""
    return dict(kernel_file_of(path, variant).variants)


def kernel_file_of(path: Path, variant: Collection[str] | str | None) -> LoadedFile:
    """Return a kernel file with all variants, or only those asked for; for the errors see :func:`counted_variants`."""
    from perfmodel.kernels.files import load_kernel_file

    loaded = load_kernel_file(path)
    wanted = (variant,) if isinstance(variant, str) else tuple(variant or loaded.builders)
    for name in wanted:
        if name not in loaded.builders:
            raise UnknownVariantError(name, tuple(loaded.builders))
    return loaded.only(wanted)


def count_units(
    units: Mapping[str, TranslationUnit], subgroup_size: int = 32, **options: Any
) -> dict[str, KernelCounts]:
    """Return the counts of variants; for the errors see :func:`counted_variants`."""
    from perfmodel.counts import count

    with counting():
        found = {}
        for name, unit in units.items():
            with about(name, units):
                found[name] = count(unit, subgroup_size, check=True, **options)
        return found


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
    """Let an error of a block say which variant it is about, where there are several.

    Raises
    ------
    VariantError
        If there are, and the block raises a PerfModelError.
    """
    try:
        yield
    except PerfModelError as error:
        if len(variants) < 2 or isinstance(error, VariantError):
            raise
        raise VariantError(name, str(error)) from error


def model_of(
    weights: Path | None, family: str | None = None, facts: str | None = None, device: str | None = None,
    told: bool = True,
) -> FittedModel:
    """Return the model of ``--weights``, or without it that of the device in use, with the facts of ``--facts``.

    Standard error says which weights were found, unless not `told`, and what tells the device of given ones from the
    one in use. For the errors see :func:`perfmodel.calibration.recommended.load` and :func:`facts_of`.
    """
    from perfmodel.calibration.recommended import foreign
    from perfmodel.predicting.model import load

    given = given_facts_of(facts)
    if weights is None:
        model = load(weights_in_use(device, family, told).path, family)
    else:
        model = load(weights, family)
        if differ := foreign(model, device):
            warn(f"the weights are not of the device in use: {'; '.join(differ)}", ForeignWeightsWarning, stacklevel=2)
    return model.with_facts(given) if given else model


def weights_in_use(device: str | None = None, family: str | None = None, told: bool = True) -> FoundWeights:
    """Find the weights of the device in use, and say on standard error which they are, unless not `told`.

    For the errors see :func:`perfmodel.calibration.recommended.find_weights`.
    """
    from perfmodel.calibration.recommended import find_weights

    found = find_weights(device, family)
    if told and not settings().quiet:
        typer.echo(f"perfmodel: {found.text}", err=True)
    return found


def given_facts_of(name: str | None) -> dict[str, Fact]:
    """Return the facts of ``--facts`` by key; for the errors see :func:`facts_of`."""
    found = facts_of(name)
    return {} if found is None else dict(found.facts)


def check_anchored(anchored: bool, known: Mapping[str, float], loaded: LoadedFile) -> None:
    """Refuse to run a kernel whose work depends on data that only its statistics describe.

    Raises
    ------
    OptionError
        If ``--anchor`` and ``--statistics`` are both given, and the kernel file has no ``arguments()``.
    """
    if anchored and known and loaded.arguments is None:
        raise OptionError(
            "--anchor and --statistics were both given, and the run needs the data themselves",
            "give one of them, or add arguments(**sizes) to the kernel file: a dict of argument name to numpy array",
        )
