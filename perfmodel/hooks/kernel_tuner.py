"""Predictions for Kernel Tuner: a restriction of the space, a searching order, and the kernel itself.

They use Kernel Tuner's public interface: ``restrictions`` takes a function of the parameters, ``strategy`` takes an
``OptAlgWrapper`` around any optimizer, and ``kernel_source`` and ``problem_size`` take functions of the parameters
(``kernel_tuner.tune_kernel`` and ``kernel_tuner.strategies.wrapper``, version 1.5).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from perfmodel import predicting
from perfmodel.display import in_words
from perfmodel.errors import ConfigurationError, EmptySpaceError, ResultsError, extra_needed
from perfmodel.hooks import predicted_times
from perfmodel.hooks.predicted_times import BLOCK_SIZES, Build, Configuration, DeviceCode, in_order, three_axes
from perfmodel.values import FrozenValue


@dataclass(frozen=True, eq=False)
class Guide(FrozenValue):
    """Predicts each configuration of a space, and tells Kernel Tuner.

    Parameters
    ----------
    build : callable
        ``build(**configuration)`` gives the transformed :class:`loopy.TranslationUnit`.
    space : mapping of str to sequence
        The values of each parameter, as Kernel Tuner's ``tune_params``.
    model : FittedModel
        Weights of the device that Kernel Tuner times on.
    sizes : mapping of str to int
        Every size parameter of the kernel.
    restrictions : sequence of callables
        Functions of a configuration (a mapping); it is allowed if all are true.
    blocks : sequence of str, optional
        The parameters that are the shape of the work-group, l.0 first. By default they are those of the space that
        are called as Kernel Tuner has them (``block_size_x``, ...); where it has none, :attr:`tune_params` gets them:
        their values are the launch shapes of the kernels, and :meth:`restriction` ties them to the configuration.
    allow_unmeasured : bool
        As of :meth:`perfmodel.predicting.model.FittedModel.predict`.

    Raises
    ------
    EmptySpaceError
        At the first use: if no configuration is allowed, or none fits on the device.
    ConfigurationError
        At the first use: if one that is allowed cannot be built or counted.
    """

    build: Build
    space: Mapping[str, Sequence[Any]]
    model: predicting.FittedModel
    sizes: Mapping[str, int]
    restrictions: Sequence[Callable[[Configuration], bool]] = ()
    blocks: Sequence[str] | None = None
    allow_unmeasured: bool = False

    @cached_property
    def times(self) -> predicted_times.PredictedTimes:
        """The counts and predictions, each made once."""
        return predicted_times.PredictedTimes(self.build, self.model, self.allow_unmeasured)

    @cached_property
    def ranked(self) -> tuple[tuple[dict[str, Any], float], ...]:
        """Each allowed configuration that fits on the device, with its predicted time [s]; the fastest first."""
        allowed = list(self._allowed())
        predicted = [(configuration, self.times.seconds(configuration, self.sizes)) for configuration in allowed]
        fitting = sorted((pair for pair in predicted if pair[1] < math.inf), key=lambda pair: pair[1])
        if not fitting:
            raise EmptySpaceError(math.prod(map(len, self.space.values())), len(allowed))
        return tuple((self._with_blocks(configuration), seconds) for configuration, seconds in fitting)

    @cached_property
    def tune_params(self) -> dict[str, list[Any]]:
        """The space for Kernel Tuner, with the sizes of the work-group."""
        added = {
            name: sorted({configuration[name] for configuration, _ in self.ranked})
            for name in self._block_names if name not in self.space
        }  # fmt: skip
        return {**{name: list(values) for name, values in self.space.items()}, **added}

    def restriction(self, *, within: float | None = None, top: int | None = None) -> Callable[..., bool]:
        """Return a restriction that keeps only the configurations that are predicted to be fast.

        Parameters
        ----------
        within : float, optional
            Keep those predicted to take at most this factor times the shortest time [1].
        top : int, optional
            Keep so many. With both, a configuration must meet both; with neither, all that are allowed are kept.

        Returns
        -------
        callable
            For ``restrictions=[...]``. It takes the values in the order of :attr:`tune_params`, or by name, or one
            mapping, as Kernel Tuner calls it in different places.

        Raises
        ------
        ResultsError
            If `within` is below 1 or `top` below 1, or the shortest predicted time is not above zero.
        """
        if (within is not None and not within >= 1) or (top is not None and top < 1):
            raise ResultsError(f"within={within} and top={top} keep nothing", "give a factor and a number of 1 or more")
        best = self.ranked[0][1]
        if within is not None and best <= 0:
            raise ResultsError(f"the shortest predicted time is {best:.3g} s", "give top= instead of within=")
        most = math.inf if within is None else within * best
        kept = frozenset(in_order(configuration) for configuration, seconds in self.ranked[:top] if seconds <= most)
        names = tuple(self.tune_params)

        def predicted_to_be_fast(*values: Any, **configuration: Any) -> bool:
            if len(values) == 1 and isinstance(values[0], Mapping):
                configuration = dict(values[0])
            elif values:
                configuration = dict(zip(names, values, strict=True))
            return in_order(configuration) in kept

        return predicted_to_be_fast

    def strategy(self) -> Any:
        """Return a strategy for ``strategy=...``: times one configuration after the other, predicted fastest first.

        Kernel Tuner's ``strategy_options={"max_fevals": ...}`` or ``{"time_limit": ...}`` end it; without them all
        configurations of the space are timed.

        Raises
        ------
        MissingExtraError
            If Kernel Tuner is not installed.
        """
        try:
            from kernel_tuner.strategies.wrapper import OptAlgWrapper
        except ModuleNotFoundError:
            raise extra_needed("Kernel Tuner", "kernel-tuner") from None
        places = {in_order(configuration): place for place, (configuration, _) in enumerate(self.ranked)}
        return OptAlgWrapper(PredictedFirst(tuple(self.tune_params), places))

    def kernel(
        self, arguments: Mapping[str, Any] | None = None, scalars: Mapping[str, float] | None = None
    ) -> dict[str, Any]:
        """Return the arguments of ``kernel_tuner.tune_kernel`` that say what is tuned: the kernels and their space.

        The code of each configuration is what Loopy generates for it, and it is launched as Loopy would.

        Parameters
        ----------
        arguments : mapping of str to numpy.ndarray, optional
            Arrays by name; those left out are made, with contents in [0.5, 2).
        scalars : mapping of str to float, optional
            The kernel's scalar arguments that are no sizes.

        Returns
        -------
        dict
            ``kernel_name``, ``kernel_source``, ``problem_size``, ``arguments``, ``tune_params``, ``restrictions``
            (those of this guide: all that is allowed), ``lang``, ``defines``, and ``block_size_names`` where they are
            not Kernel Tuner's own. Ask for it again for each run: Kernel Tuner changes these names.

        Raises
        ------
        KernelArgumentError
            If a scalar has no value, or a value no scalar.
        ResultsError
            If `arguments` has a name that the kernel does not have.
        """
        fastest, _ = self.ranked[0]
        first = self._code(fastest)
        unit = predicted_times.built(self.build, self._without_blocks(fastest))
        values = predicted_times.made_arguments(unit, self.sizes, scalars or {})
        if unknown := sorted(set(arguments or ()) - set(values)):
            problem = f"arguments name {', '.join(unknown)}, which the kernel does not have"
            raise ResultsError(problem, f"name some of: {', '.join(values)}")
        values |= arguments or {}

        def source(configuration: Configuration) -> str:
            code = self._code(configuration)
            if (code.name, code.arguments) != (first.name, first.arguments):
                said = f"is the kernel {_signature(code)}, and that of another one is {_signature(first)}"
                raise ConfigurationError(in_words(configuration), said)
            return code.text

        return {
            "kernel_name": first.name,
            "kernel_source": source,
            "problem_size": lambda configuration: self._code(configuration).global_size,
            "arguments": [values[name] for name in first.arguments],
            "tune_params": self.tune_params,
            "restrictions": [self.restriction()],
            "lang": "OpenCL",
            "defines": {},
            **({} if set(self._block_names) <= {*BLOCK_SIZES} else {"block_size_names": list(self._block_names)}),
        }

    @cached_property
    def _codes(self) -> dict[str, DeviceCode]:
        return {}

    def _code(self, configuration: Configuration) -> DeviceCode:
        asked = self._without_blocks(configuration)
        key = in_order(asked)
        if key not in self._codes:
            unit, counts = predicted_times.built(self.build, asked), self.times.counts(asked)
            self._codes[key] = predicted_times.device_code(unit, counts, self.sizes, in_words(asked))
        return self._codes[key]

    def _allowed(self) -> Iterator[dict[str, Any]]:
        for values in product(*self.space.values()):
            configuration = dict(zip(self.space, values, strict=True))
            if all(allowed(configuration) for allowed in self.restrictions):
                yield configuration

    @cached_property
    def _block_names(self) -> tuple[str, ...]:
        if self.blocks is not None:
            return tuple(self.blocks)
        names = tuple(name for name in BLOCK_SIZES if name in self.space)
        shapes = (self.times.counts(configuration).launch.group_shape for configuration in self._allowed())
        return names or BLOCK_SIZES[: max(map(len, shapes)) or 1]

    def _without_blocks(self, configuration: Configuration) -> dict[str, Any]:
        return {name: configuration[name] for name in self.space}

    def _with_blocks(self, configuration: dict[str, Any]) -> dict[str, Any]:
        """Return a configuration with the shape of its work-groups, which must be what its parameters say."""
        shape = three_axes(self.times.counts(configuration).launch.group_shape)
        names = self._block_names
        whole = {**configuration, **{n: w for n, w in zip(names, shape, strict=False) if n not in self.space}}
        said = three_axes(tuple(whole.get(name) for name in names))
        if said != shape:
            groups, given = "x".join(map(str, shape)), "x".join(map(str, said))
            problem = f"launches groups of {groups}, and {', '.join(names)} say {given}"
            raise ConfigurationError(in_words(configuration), problem)
        return whole


@dataclass(frozen=True)
class PredictedFirst:
    """An optimizer for Kernel Tuner's ``OptAlgWrapper``: it goes through the space, predicted fastest first."""

    names: tuple[str, ...]  # the parameters, in the order of the space
    places: Mapping[str, int]  # of each configuration in the order of times

    @property
    def costfunc_kwargs(self) -> dict[str, bool]:
        """How Kernel Tuner is to read what it is asked to time: as a configuration, not as coordinates."""
        return {"scaling": False, "snap": False}

    def __call__(self, func: Callable[[Any], float], searchspace: Any) -> tuple[tuple[Any, ...], float]:
        """Time all configurations of the search space in order; Kernel Tuner ends it when its budget is spent."""
        best: tuple[tuple[Any, ...], float] = ((), math.inf)
        for values in sorted(searchspace.list, key=self._place):
            cost = func(values)
            if cost < best[1]:
                best = values, cost
        return best

    def _place(self, values: tuple[Any, ...]) -> int:
        configuration = dict(zip(self.names, values, strict=True))
        place = self.places.get(in_order(configuration))
        if place is None:
            shown = in_words(configuration)
            problem = f"Kernel Tuner's space has the configuration ({shown}), which the guide does not"
            raise ResultsError(problem, "give tune_kernel the restrictions of Guide.kernel() or Guide.restriction()")
        return place


def _signature(code: DeviceCode) -> str:
    return f"{code.name}({', '.join(code.arguments)})"
