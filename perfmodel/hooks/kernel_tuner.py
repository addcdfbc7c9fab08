"""Predictions for Kernel Tuner (version 1.5): a restriction, a search order, and the code of each configuration."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from typing import Any

from loopy import TranslationUnit
from loopy.schedule.tools import get_subkernel_arg_info
from pymbolic import evaluate

from perfmodel import predicting
from perfmodel.counts import KernelCounts
from perfmodel.counts.reading.schedule import schedule
from perfmodel.display import values_text
from perfmodel.documents import one_line
from perfmodel.errors import ArgumentError, KernelError, KernelFileError, PerfModelError, TuningError, optional
from perfmodel.kernels.space import Space
from perfmodel.measuring.subject import GeneratedCode, array_arguments, host_array, scalar_arguments
from perfmodel.values import FrozenValue

Build = Callable[..., "TranslationUnit"]
Configuration = Mapping[str, Any]
BLOCK_SIZES = ("block_size_x", "block_size_y", "block_size_z")  #: Kernel Tuner's names of a work-group's three axes


def refused(configuration: Configuration, problem: str) -> TuningError:
    """Return the error to raise if a tuner cannot run the kernel of a configuration."""
    shown = values_text(configuration)
    advice = "correct build(), or exclude the configuration by a restriction"
    return TuningError(f"the configuration ({shown}) {problem}", advice, configuration=shown, reason=problem)


def build_kernel(build: Build, configuration: Configuration) -> TranslationUnit:
    """Return the kernel of a configuration. Raise TuningError if ``build`` fails."""
    try:
        unit = build(**configuration)
    except Exception as error:
        raised = error.raised if isinstance(error, KernelFileError) else error
        raise refused(configuration, f"cannot be built: {one_line(f'{type(error).__name__}: {raised}')}") from error
    if not isinstance(unit, TranslationUnit):
        kind = type(unit).__name__
        raise refused(configuration, f"gives {kind}, where build() must return a loopy.TranslationUnit")
    return unit


def parameters_of(build: Callable[..., Any]) -> tuple[tuple[str, ...] | None, frozenset[str]]:
    """Return the names of the parameters of ``build`` (None if it takes any name), and of those that it requires."""
    parameters = inspect.signature(build).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None, frozenset()
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    return tuple(p.name for p in named), frozenset(p.name for p in named if p.default is p.empty)


def three_axes(shape: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a shape with three axes. Missing axes have the width 1."""
    return (*shape, 1, 1, 1)[:3]


def _key(configuration: Configuration) -> str:
    return repr(sorted(configuration.items()))


@dataclass(frozen=True, eq=False)
class DeviceCode:
    """The code of a translation unit with one device kernel, at given sizes."""

    name: str  # of the kernel in the text
    text: str  # OpenCL C
    arguments: tuple[str, ...]  # names, in the order of the kernel's parameters
    global_size: tuple[int, ...]  # work-items along each axis

    @property
    def signature(self) -> str:
        """The kernel's name and arguments."""
        return f"{self.name}({', '.join(self.arguments)})"


def device_code(
    unit: TranslationUnit, counts: KernelCounts, sizes: Mapping[str, int], configuration: Configuration
) -> DeviceCode:
    """Return Loopy's code and its launch. Raise TuningError for several launches, or memory between them."""
    kernels = len(counts.launch_table)
    launches = counts.launches()(**sizes) if kernels == 1 else kernels
    if launches != 1:
        raise refused(configuration, f"takes {launches} launches, and the tuner makes one")
    (launch,) = counts.launch_table
    scheduled = schedule(unit)
    kernel = scheduled.default_entrypoint
    passed = get_subkernel_arg_info(kernel, launch.name)
    if extra := (*passed.passed_temporaries, *passed.passed_inames):
        raise refused(configuration, f"needs {', '.join(extra)} in addition to its arguments, which no tuner can give")
    groups, _ = kernel.get_grid_size_upper_bounds_as_exprs(scheduled.callables_table)
    widths = zip(three_axes(groups), three_axes(launch.group_shape), strict=True)
    global_size = tuple(int(evaluate(number, dict(sizes))) * width for number, width in widths)
    return DeviceCode(launch.name, GeneratedCode(scheduled).text, tuple(passed.passed_arg_names), global_size)


def made_arguments(unit: TranslationUnit, sizes: Mapping[str, int], scalars: Mapping[str, float]) -> dict[str, Any]:
    """Return values for all arguments by name: scalars, and arrays in [0.5, 2) of shape (elements,)."""
    kernel = unit.default_entrypoint
    arrays = [(array, host_array(array, k)) for k, array in enumerate(array_arguments(kernel, sizes))]
    buffers = {name: flat[part] for array, flat in arrays for name, part in array.parts.items()}
    return {**buffers, **scalar_arguments(kernel, sizes, scalars)}


@dataclass(frozen=True, eq=False)
class Guide(FrozenValue):
    """Predictions of all configurations of a space, for Kernel Tuner.

    The first use raises TuningError if no configuration fits on the device, or if one cannot be built or counted.
    """

    space: Space  #: The kernels, and the values of each parameter, as Kernel Tuner's tune_params.
    model: predicting.FittedModel  #: A model of the device on which Kernel Tuner runs.
    sizes: Mapping[str, int]  #: Every size parameter of the kernel.
    #: The parameters that give the shape of the work-group, l.0 first; by default Kernel Tuner's names (block_size_x,
    #: ...). If the space has none of them, tune_params gets them with the kernels' shapes.
    blocks: Sequence[str] | None = None
    allow_unmeasured: bool = False
    _counts: dict[str, KernelCounts] = field(default_factory=dict, init=False, repr=False)
    _codes: dict[str, DeviceCode] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def ranked(self) -> tuple[tuple[dict[str, Any], float], ...]:
        """Each allowed configuration that fits on the device, with the predicted time [s], the fastest first."""
        predicted = [(configuration, self.seconds(configuration)) for configuration in self.space.configurations]
        fitting = sorted((pair for pair in predicted if pair[1] < math.inf), key=lambda pair: pair[1])
        if not fitting:
            problem = f"none of the {len(predicted)} configurations that the restrictions allow fits on the device"
            raise TuningError(problem, "give more values, or change the restrictions")
        return tuple((self._with_blocks(configuration), seconds) for configuration, seconds in fitting)

    @cached_property
    def tune_params(self) -> dict[str, list[Any]]:
        """The space for Kernel Tuner, with the shape of the work-group."""
        added = [name for name in self._block_names if name not in self.space.values]
        shapes = {name: sorted({configuration[name] for configuration, _ in self.ranked}) for name in added}
        return {**{name: list(values) for name, values in self.space.values.items()}, **shapes}

    def counts(self, configuration: Configuration) -> KernelCounts:
        """Return the counts of a configuration, which are made once. Raise TuningError if that fails."""
        key = _key(configuration)
        if key not in self._counts:
            unit = build_kernel(self.space.build, configuration)
            try:
                self._counts[key] = self.model.counted(unit, self.sizes)
            except PerfModelError as error:
                raise refused(configuration, f"cannot be counted: {error}") from error
        return self._counts[key]

    def seconds(self, configuration: Configuration) -> float:
        """Return the predicted time [s]. The time is infinite if a work-group is too large for the device."""
        counts = self.counts(configuration)
        try:
            return float(self.model.predict(counts, self.sizes, allow_unmeasured=self.allow_unmeasured).seconds)
        except KernelError:
            return math.inf

    def restriction(self, *, within: float | None = None, top: int | None = None) -> Callable[..., bool]:
        """Return a restriction that keeps the `top` fastest configurations, within a multiple of the shortest time."""
        if (within is not None and not within >= 1) or (top is not None and top < 1):
            raise ArgumentError(f"within={within} and top={top} keep nothing", "give a factor or a number of 1 or more")
        best = self.ranked[0][1]
        if within is not None and best <= 0:
            raise ArgumentError(f"the shortest predicted time is {best:.3g} s", "give top= instead of within=")
        most = math.inf if within is None else within * best
        kept = frozenset(_key(configuration) for configuration, seconds in self.ranked[:top] if seconds <= most)
        names = tuple(self.tune_params)

        def predicted_to_be_fast(*values: Any, **configuration: Any) -> bool:
            if len(values) == 1 and isinstance(values[0], Mapping):
                configuration = dict(values[0])
            elif values:
                configuration = dict(zip(names, values, strict=True))
            return _key(configuration) in kept

        return predicted_to_be_fast

    def strategy(self) -> Any:
        """Return a ``strategy=...`` that runs the configurations predicted fastest first. Kernel Tuner is needed.

        ``strategy_options={"max_fevals": ...}`` or ``{"time_limit": ...}`` end the search.
        """
        wrapper = optional("kernel_tuner.strategies.wrapper", "kernel-tuner")
        ranks = {_key(configuration): rank for rank, (configuration, _) in enumerate(self.ranked)}
        return wrapper.OptAlgWrapper(PredictedFirst(tuple(self.tune_params), ranks))

    def kernel(
        self, arguments: Mapping[str, Any] | None = None, scalars: Mapping[str, float] | None = None
    ) -> dict[str, Any]:
        """Return the arguments of ``kernel_tuner.tune_kernel`` that describe the kernels and their space.

        `arguments` are arrays by name. Other arrays are filled with numbers in [0.5, 2). `scalars` are the scalar
        arguments except sizes. Call this for each run, because Kernel Tuner changes the values.
        """
        fastest, _ = self.ranked[0]
        first = self._code(fastest)
        values = made_arguments(build_kernel(self.space.build, self._own(fastest)), self.sizes, scalars or {})
        if unknown := sorted(set(arguments or ()) - set(values)):
            problem = f"arguments name {', '.join(unknown)}, which the kernel does not have"
            raise ArgumentError(problem, f"name some of: {', '.join(values)}")
        values |= arguments or {}

        def source(configuration: Configuration) -> str:
            code = self._code(configuration)
            if code.signature != first.signature:
                raise refused(configuration, f"is the kernel {code.signature}, another one is {first.signature}")
            return code.text

        return {
            "kernel_name": first.name, "kernel_source": source,
            "problem_size": lambda configuration: self._code(configuration).global_size,
            "arguments": [values[name] for name in first.arguments], "tune_params": self.tune_params,
            "restrictions": [self.restriction()], "lang": "OpenCL", "defines": {},
            **({} if set(self._block_names) <= {*BLOCK_SIZES} else {"block_size_names": list(self._block_names)}),
        }  # fmt: skip

    def _code(self, configuration: Configuration) -> DeviceCode:
        own = self._own(configuration)
        key = _key(own)
        if key not in self._codes:
            self._codes[key] = device_code(build_kernel(self.space.build, own), self.counts(own), self.sizes, own)
        return self._codes[key]

    @cached_property
    def _block_names(self) -> tuple[str, ...]:
        if self.blocks is not None:
            return tuple(self.blocks)
        names = tuple(name for name in BLOCK_SIZES if name in self.space.values)
        axes = max(len(self.counts(configuration).launch.group_shape) for configuration in self.space.configurations)
        return names or BLOCK_SIZES[: axes or 1]

    def _own(self, configuration: Configuration) -> dict[str, Any]:
        return {name: configuration[name] for name in self.space.values}

    def _with_blocks(self, configuration: dict[str, Any]) -> dict[str, Any]:
        """Add the shape of its work-groups to a configuration. Raise TuningError if its parameters contradict it."""
        shape = three_axes(self.counts(configuration).launch.group_shape)
        names = self._block_names
        whole = {**dict(zip(names, shape, strict=False)), **configuration}
        given = three_axes(tuple(whole.get(name) for name in names))
        if given != shape:
            groups, wrong = "x".join(map(str, shape)), "x".join(map(str, given))
            raise refused(configuration, f"launches groups of {groups}, and {', '.join(names)} give {wrong}")
        return whole


@dataclass(frozen=True)
class PredictedFirst:
    """An optimizer for Kernel Tuner's ``OptAlgWrapper``. It runs the configurations predicted fastest first."""

    names: tuple[str, ...]  # the parameters, in the order of the space
    ranks: Mapping[str, int]  # rank of each configuration by predicted time

    @property
    def costfunc_kwargs(self) -> dict[str, bool]:
        """Options of Kernel Tuner's cost function: values are configurations, not coordinates."""
        return {"scaling": False, "snap": False}

    def __call__(self, func: Callable[[Any], float], searchspace: Any) -> tuple[tuple[Any, ...], float]:
        """Run all configurations of the search space in order, until Kernel Tuner stops it."""
        costs = ((values, func(values)) for values in sorted(searchspace.list, key=self._rank))
        return min(costs, key=itemgetter(1), default=((), math.inf))

    def _rank(self, values: tuple[Any, ...]) -> int:
        configuration = dict(zip(self.names, values, strict=True))
        rank = self.ranks.get(_key(configuration))
        if rank is None:
            problem = f"Kernel Tuner's space has the configuration ({values_text(configuration)}), the guide does not"
            raise ArgumentError(problem, "give tune_kernel the restrictions of Guide.kernel() or Guide.restriction()")
        return rank
