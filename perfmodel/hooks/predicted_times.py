"""A tuner's configurations: predicted times, each built and counted once, and the code that the tuner runs itself."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from perfmodel import predicting
from perfmodel.display import in_words
from perfmodel.documents import one_line
from perfmodel.errors import ConfigurationError, KernelError, KernelFileError, PerfModelError

if TYPE_CHECKING:
    from loopy import TranslationUnit

    from perfmodel.counts import KernelCounts

Build = Callable[..., "TranslationUnit"]
Configuration = Mapping[str, Any]
#: Kernel Tuner's names of the three axes of a work-group.
BLOCK_SIZES = ("block_size_x", "block_size_y", "block_size_z")


@dataclass(frozen=True, eq=False)
class PredictedTimes:
    """What a model says of a family of kernels, by configuration.

    Parameters
    ----------
    build : callable
        ``build(**configuration)`` gives the transformed :class:`loopy.TranslationUnit`.
    model : FittedModel
        Weights of the device that the tuner times on.
    allow_unmeasured : bool
        As of :meth:`perfmodel.predicting.model.FittedModel.predict`.
    """

    build: Build
    model: predicting.FittedModel
    allow_unmeasured: bool = False
    _counts: dict[str, KernelCounts] = field(default_factory=dict, init=False, repr=False)

    def counts(self, configuration: Configuration) -> KernelCounts:
        """Return the counts of a configuration, which are made once.

        Raises
        ------
        ConfigurationError
            If the kernel cannot be built or counted.
        """
        key = in_order(configuration)
        if key not in self._counts:
            unit = built(self.build, configuration)
            try:
                self._counts[key] = self.model.counted(unit)
            except PerfModelError as error:
                raise ConfigurationError(in_words(configuration), f"cannot be counted: {error}") from error
        return self._counts[key]

    def seconds(self, configuration: Configuration, sizes: Mapping[str, int]) -> float:
        """Return the predicted time [s]; infinite where a work-group is too large for the device.

        Raises
        ------
        ConfigurationError
            As of :meth:`counts`.
        UnmeasuredFeatureError, SizeError, ...
            As of :meth:`perfmodel.predicting.model.FittedModel.predict`.
        """
        counts = self.counts(configuration)
        try:
            return float(self.model.predict(counts, sizes, allow_unmeasured=self.allow_unmeasured).seconds)
        except KernelError:
            return math.inf


def built(build: Build, configuration: Configuration) -> TranslationUnit:
    """Return the kernel of a configuration; a ConfigurationError says how ``build`` fails."""
    from loopy import TranslationUnit

    try:
        unit = build(**configuration)
    except Exception as error:
        raised = error.raised if isinstance(error, KernelFileError) else error
        said = one_line(f"{type(error).__name__}: {raised}")
        raise ConfigurationError(in_words(configuration), f"cannot be built: {said}") from error
    if not isinstance(unit, TranslationUnit):
        problem = f"gives {type(unit).__name__}, where build() must return a loopy.TranslationUnit"
        raise ConfigurationError(in_words(configuration), problem)
    return unit


def three_axes(shape: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a shape with three axes; those that it does not have are of width 1."""
    return (*shape, 1, 1, 1)[:3]


def in_order(configuration: Configuration) -> str:
    """Return a text that is the same for equal configurations, in whatever order their names come."""
    return repr(sorted(configuration.items()))


def parameters_of(build: Callable[..., Any]) -> tuple[tuple[str, ...], frozenset[str]] | None:
    """Return the names that ``build`` takes, and those of them that it needs; None where it takes any name."""
    parameters = inspect.signature(build).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    return tuple(p.name for p in named), frozenset(p.name for p in named if p.default is p.empty)


@dataclass(frozen=True, eq=False)
class DeviceCode:
    """The one device kernel of a translation unit, at given sizes."""

    name: str  # of the kernel in the text
    text: str  # OpenCL C
    arguments: tuple[str, ...]  # names, in the order of the kernel's parameters
    global_size: tuple[int, ...]  # work-items along each axis


def device_code(
    unit: TranslationUnit, counts: KernelCounts, sizes: Mapping[str, int], configuration: str
) -> DeviceCode:
    """Return the code that Loopy generates, and how it is launched at these sizes.

    A ConfigurationError refuses a kernel whose run is not one launch, or which needs memory between launches.
    """
    from loopy.schedule.tools import get_subkernel_arg_info
    from pymbolic import evaluate

    from perfmodel.counts.reading.schedule import schedule
    from perfmodel.measuring.subject import GeneratedCode

    if len(counts.launch_table) != 1 or (launches := counts.launches()(**sizes)) != 1:
        taken = len(counts.launch_table) if len(counts.launch_table) != 1 else launches
        raise ConfigurationError(configuration, f"takes {taken} launches, and the tuner makes one")
    (launch,) = counts.launch_table
    scheduled = schedule(unit)
    kernel = scheduled.default_entrypoint
    passed = get_subkernel_arg_info(kernel, launch.name)
    if passed.passed_temporaries or passed.passed_inames:
        extra = ", ".join((*passed.passed_temporaries, *passed.passed_inames))
        raise ConfigurationError(configuration, f"needs {extra} beside its arguments, which the tuner cannot give")
    groups, _ = kernel.get_grid_size_upper_bounds_as_exprs(scheduled.callables_table)
    global_size = tuple(
        int(evaluate(number, dict(sizes))) * width
        for number, width in zip(three_axes(groups), three_axes(launch.group_shape), strict=True)
    )
    return DeviceCode(launch.name, GeneratedCode(scheduled).text, tuple(passed.passed_arg_names), global_size)


def made_arguments(
    unit: TranslationUnit, sizes: Mapping[str, int], scalars: Mapping[str, float], seed: int = 0
) -> dict[str, Any]:
    """Return values for all arguments by name: arrays with contents in [0.5, 2), shape (elements,), and scalars."""
    from perfmodel.measuring.subject import array_arguments, host_array, scalar_arguments

    kernel = unit.default_entrypoint
    arrays = [(array, host_array(array, seed + place)) for place, array in enumerate(array_arguments(kernel, sizes))]
    buffers = {name: flat[part] for array, flat in arrays for name, part in array.parts.items()}
    return {**buffers, **scalar_arguments(kernel, sizes, scalars)}
