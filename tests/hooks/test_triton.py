"""The ``perf_model`` for Triton, called as Triton's autotuner calls it.

:class:`Autotuner` and :class:`Config` stand in for Triton's own, which need a GPU to launch anything: they hold what
``triton/runtime/autotuner.py`` of version 3.9 promises of ``prune_configs_by``. A perf_model gets the positional
arguments of the launch by name, the keyword arguments (``grid`` and ``warmup`` among them) and the configuration's own
with ``num_warps``, ``num_ctas`` and ``num_stages``; it is asked only where there are more configurations than top_k,
and those with the lowest numbers stay, lowest first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from perfmodel.errors import ConfigurationError, ResultsError, UnmeasuredFeatureError
from perfmodel.hooks import perf_model
from tests.hooks.spaces import MODEL, build
from tests.hooks.test_predicted_times import small


@dataclass(frozen=True, eq=False)
class Config:
    kwargs: dict[str, Any]
    num_warps: int = 4
    num_stages: int = 3
    num_ctas: int = 1

    def all_kwargs(self) -> dict[str, Any]:
        others = {"num_warps": self.num_warps, "num_ctas": self.num_ctas, "num_stages": self.num_stages}
        return {**self.kwargs, **others}


@dataclass
class Autotuner:
    arg_names: list[str]
    configs: list[Config]
    prune_configs_by: dict[str, Any]

    def pruned(self, *args: Any, **kwargs: Any) -> list[Config]:
        """What remains of the configurations for a launch ``kernel[grid](*args, **kwargs)``."""
        nargs = dict(zip(self.arg_names, args, strict=False))
        launch = {"grid": lambda meta: (1,), "warmup": False, **kwargs}
        ask: Callable[..., float] = self.prune_configs_by["perf_model"]
        top_k = self.prune_configs_by["top_k"]
        if isinstance(top_k, float):
            top_k = max(1, int(len(self.configs) * top_k))
        if len(self.configs) <= top_k:
            return self.configs
        times = {config: ask(**nargs, **launch, **config.all_kwargs()) for config in self.configs}
        return sorted(times, key=lambda config: times[config])[:top_k]


def configs() -> list[Config]:
    return [Config({"BLOCK": block, "TERMS": terms}) for block in (64, 32) for terms in (4, 1, 2)]


def kernel(BLOCK: int, TERMS: int):  # noqa: N803 -- Triton's names of constants
    return build(BLOCK, TERMS)


def tuner(found: Any, top_k: Any = 2) -> Autotuner:
    return Autotuner(["out", "a", "n_elements"], configs(), {"perf_model": found, "top_k": top_k})


def names(kept: list[Config]) -> list[tuple[int, int]]:
    return [(config.kwargs["BLOCK"], config.kwargs["TERMS"]) for config in kept]


def test_the_quickest_are_kept_in_order():
    found = perf_model(kernel, MODEL, {"n": "n_elements"}, allow_unmeasured=True)
    assert [(64, 1), (32, 1), (64, 2)] == names(tuner(found, 3).pruned(object(), object(), 4096))
    assert [(64, 1), (32, 1)] == names(tuner(found, 0.4).pruned(object(), object(), 4096))


def test_it_returns_seconds():
    found = perf_model(kernel, MODEL, {"n": "n_elements"}, allow_unmeasured=True)
    seconds = found(out=object(), a=object(), n_elements=640, grid=(10,), warmup=False, BLOCK=64, TERMS=2, num_warps=4)
    assert 640 * 2e-12 == pytest.approx(seconds, rel=1e-12)


def test_arguments_by_keyword_and_numpy_integers_are_sizes_too():
    found = perf_model(kernel, MODEL, {"n": "n_elements"}, allow_unmeasured=True)
    assert [(64, 1), (32, 1)] == names(tuner(found).pruned(object(), object(), n_elements=np.int64(4096)))


def test_sizes_may_be_a_function_of_the_arguments():
    found = perf_model(
        kernel, MODEL, lambda arguments: {"n": len(arguments["a"]) * arguments["BLOCK"]}, allow_unmeasured=True
    )
    kept = tuner(found).pruned(object(), [0.0] * 10, None)
    assert [(32, 1), (64, 1)] == names(kept)  # 32*10*1 and 64*10*1 additions; (32, 2) is as long as the latter


def test_kernels_are_counted_once_for_all_sizes():
    made = []

    def noted(BLOCK, TERMS):  # noqa: N803
        made.append((BLOCK, TERMS))
        return build(BLOCK, TERMS)

    found = perf_model(noted, MODEL, {"n": "n_elements"}, allow_unmeasured=True)
    for n in (64, 128):
        tuner(found).pruned(object(), object(), n)
    assert 6 == len(made)


def test_build_may_take_any_of_tritons_names():
    found = perf_model(
        lambda num_warps, TERMS: build(32 * num_warps // 2, TERMS),  # noqa: N803
        MODEL, {"n": "n_elements"}, allow_unmeasured=True,
    )  # fmt: skip
    assert [(64, 1), (32, 1)] == names(tuner(found).pruned(object(), object(), 4096))


def test_build_with_any_name_needs_to_know_which():
    with pytest.raises(ResultsError, match="give parameters="):
        perf_model(lambda **names: build(32), MODEL, {"n": "n_elements"})
    found = perf_model(
        lambda **names: build(names["BLOCK"], names["TERMS"]),
        MODEL, {"n": "n_elements"}, parameters=("BLOCK", "TERMS"), allow_unmeasured=True,
    )  # fmt: skip
    assert [(64, 1), (32, 1)] == names(tuner(found).pruned(object(), object(), 4096))


def test_a_group_that_does_not_fit_is_pruned():
    found = perf_model(kernel, small(32), {"n": "n_elements"}, allow_unmeasured=True)
    assert [(32, 1), (32, 2), (32, 4)] == names(tuner(found, 3).pruned(object(), object(), 4096))


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"n": "length"}, "sizes name length, and Triton gives out, a, n_elements, grid"),
        ({"n": "a"}, "the size 'n' is object, and no integer"),
        (lambda arguments: {"n": 4096.0}, "the size 'n' is float, and no integer"),
    ],
)
def test_sizes_that_are_none_are_refused(sizes, said):
    found = perf_model(kernel, MODEL, sizes, allow_unmeasured=True)
    with pytest.raises(ResultsError) as caught:
        tuner(found).pruned(object(), object(), 4096)
    assert said in str(caught.value)


def test_names_that_triton_does_not_give_are_refused():
    found = perf_model(lambda TILE: build(TILE), MODEL, {"n": "n_elements"})  # noqa: N803
    with pytest.raises(ResultsError, match=r"build\(\) takes TILE, and Triton gives .*BLOCK, TERMS, num_warps"):
        tuner(found).pruned(object(), object(), 4096)


def test_what_the_weights_do_not_know_is_told():
    with pytest.raises(UnmeasuredFeatureError):
        tuner(perf_model(kernel, MODEL, {"n": "n_elements"})).pruned(object(), object(), 4096)


def test_a_configuration_that_cannot_be_built_is_told():
    def broken(BLOCK):  # noqa: N803
        raise ValueError("no such tile")

    with pytest.raises(ConfigurationError, match="no such tile"):
        tuner(perf_model(broken, MODEL, {"n": "n_elements"})).pruned(object(), object(), 4096)
