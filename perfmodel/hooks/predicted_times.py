"""Predicted times of a tuner's configurations, each built and counted once."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from perfmodel.display import in_words, one_line
from perfmodel.errors import ConfigurationError, LaunchLimitError, PerfModelError

if TYPE_CHECKING:
    from loopy import TranslationUnit

    from perfmodel.counts import KernelCounts
    from perfmodel.predict import FittedModel

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
        As of :meth:`perfmodel.predict.FittedModel.predict`.
    """

    build: Build
    model: FittedModel
    allow_unmeasured: bool = False
    _counts: dict[str, KernelCounts] = field(default_factory=dict, init=False, repr=False)

    def unit(self, configuration: Configuration) -> TranslationUnit:
        """Return the kernel of a configuration.

        Raises
        ------
        ConfigurationError
            If ``build`` raises, or returns something else.
        """
        return built(self.build, configuration)

    def counts(self, configuration: Configuration) -> KernelCounts:
        """Return the counts of a configuration, which are made once.

        Raises
        ------
        ConfigurationError
            If the kernel cannot be built or counted.
        """
        key = in_order(configuration)
        if key not in self._counts:
            unit = self.unit(configuration)
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
        UnmeasuredFeatureError, ParameterError, ...
            As of :meth:`perfmodel.predict.FittedModel.predict`.
        """
        counts = self.counts(configuration)
        try:
            found = self.model.predict(counts, sizes, allow_unmeasured=self.allow_unmeasured)
        except LaunchLimitError:
            return math.inf
        return float(found.seconds)


def built(build: Build, configuration: Configuration) -> TranslationUnit:
    """Return the kernel of a configuration.

    Raises
    ------
    ConfigurationError
        If ``build`` raises, or returns something else than a translation unit.
    """
    from loopy import TranslationUnit

    try:
        unit = build(**configuration)
    except Exception as error:
        said = one_line(f"{type(error).__name__}: {error}")
        raise ConfigurationError(in_words(configuration), f"cannot be built: {said}") from error
    if not isinstance(unit, TranslationUnit):
        found = f"gives {type(unit).__name__}, where build() must return a loopy.TranslationUnit"
        raise ConfigurationError(in_words(configuration), found)
    return unit


def three_axes(shape: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a shape with three axes; those that it does not have are of width 1."""
    return (*shape, 1, 1, 1)[:3]


def in_order(configuration: Configuration) -> str:
    """Return a text that is the same for equal configurations, in whatever order their names come."""
    return repr(sorted(configuration.items()))


def parameters_of(build: Callable[..., Any]) -> tuple[tuple[str, ...], frozenset[str]] | None:
    """Return the names that ``build`` takes, and those of them that it needs; None where it takes any name."""
    own = inspect.signature(build).parameters.values()
    if any(one.kind is one.VAR_KEYWORD for one in own):
        return None
    named = [one for one in own if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    return tuple(one.name for one in named), frozenset(one.name for one in named if one.default is one.empty)
