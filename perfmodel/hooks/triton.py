"""A performance model for Triton's autotuner: ``triton.autotune(prune_configs_by={"perf_model": ..., "top_k": ...})``.

Triton calls ``perf_model(**arguments, **keywords, **config.all_kwargs())`` for each configuration, with the arguments
of the launch by name (also ``grid`` and ``warmup``) and the configuration's meta-parameters (also ``num_warps``,
``num_stages`` and ``num_ctas``), and benchmarks the ``top_k`` with the lowest numbers.
Source: ``Autotuner.prune_configs`` in ``triton/runtime/autotuner.py``, Triton 3.9.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from perfmodel import predicting
from perfmodel.errors import ResultsError
from perfmodel.hooks.predicted_times import Build, PredictedTimes, parameters_of

Sizes = Mapping[str, str] | Callable[[Mapping[str, Any]], Mapping[str, int]]


@dataclass(frozen=True, eq=False)
class PerfModel:
    """What :func:`perf_model` returns: a callable for Triton's ``prune_configs_by``."""

    times: PredictedTimes
    sizes: Sizes
    takes: tuple[str, ...]
    needs: frozenset[str]

    def __call__(self, /, **arguments: Any) -> float:
        """Return the predicted time [s] of a configuration for these arguments of the launch.

        Raises
        ------
        ResultsError
            If Triton gives no argument of a name that is needed, or a size is no integer.
        ConfigurationError, UnmeasuredFeatureError, ParameterError, ...
            If the configuration cannot be built, counted or predicted.
        """
        if missing := sorted(self.needs - set(arguments)):
            problem = f"build() takes {', '.join(missing)}, and Triton gives {_names(arguments)}"
            raise ResultsError(problem, "let build() take names of the kernel's arguments and of its configurations")
        configuration = {name: arguments[name] for name in self.takes if name in arguments}
        return self.times.seconds(configuration, self._sizes(arguments))

    def _sizes(self, arguments: Mapping[str, Any]) -> dict[str, int]:
        if callable(self.sizes):
            given = dict(self.sizes(arguments))
        else:
            if missing := sorted({*self.sizes.values()} - set(arguments)):
                problem = f"sizes name {', '.join(missing)}, and Triton gives {_names(arguments)}"
                raise ResultsError(problem, "name arguments of the Triton kernel, or give a function of them")
            given = {name: arguments[argument] for name, argument in self.sizes.items()}
        return {name: _integer(name, value) for name, value in given.items()}


def perf_model(
    build: Build,
    model: predicting.FittedModel,
    sizes: Sizes,
    *,
    parameters: Sequence[str] | None = None,
    allow_unmeasured: bool = False,
) -> PerfModel:
    """Return a ``perf_model`` for ``triton.autotune``.

    Each set of meta-parameters is built and counted once, also where Triton tunes again for other sizes.

    Parameters
    ----------
    build : callable
        A function of Triton's meta-parameters, by their names, that returns a Loopy kernel which does what the Triton
        kernel does with them. It may take ``num_warps`` and the like, and arguments of the launch.
    model : FittedModel
        Weights of the device that Triton runs on.
    sizes : mapping, or callable
        By the name of each size of the Loopy kernel the name of Triton's argument; or a function that takes Triton's
        arguments (a mapping) and returns the sizes.
    parameters : sequence of str, optional
        The names that `build` gets. By default those that it takes; needed where it takes ``**names``.
    allow_unmeasured : bool
        As of :meth:`perfmodel.predicting.model.FittedModel.predict`.

    Returns
    -------
    PerfModel
        A callable that returns seconds; infinitely many where a work-group is too large for the device.

    Raises
    ------
    ResultsError
        If `build` takes any name, and `parameters` does not say which.
    """
    names = parameters_of(build) if parameters is None else (tuple(parameters), frozenset(parameters))
    if names is None:
        raise ResultsError("build() takes any name", "give parameters=(...), the names that it is to get")
    takes, needs = names
    return PerfModel(PredictedTimes(build, model, allow_unmeasured), sizes, takes, needs)


def _integer(name: str, value: Any) -> int:
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value)
    raise ResultsError(
        f"the size '{name}' is {type(value).__name__}, and no integer",
        "name an argument that is an integer, or give a function, as lambda arguments: {'n': arguments['x'].numel()}",
    )


def _names(arguments: Mapping[str, Any]) -> str:
    return ", ".join(arguments) or "no argument"
