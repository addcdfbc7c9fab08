"""Triton's own autotuner asks the ``perf_model``; what would launch on a GPU is replaced.

``scripts/nightly`` installs Triton.
"""

from __future__ import annotations

from typing import Any

import pytest

from perfmodel.hooks import perf_model
from tests.hooks.spaces import MODEL, build

pytestmark = pytest.mark.nightly


class Launched:
    """Has of a kernel that Triton compiled what the autotuner needs, and notes the launches."""

    arg_names = ("out", "a", "n")

    def __init__(self) -> None:
        self.ran: list[dict[str, Any]] = []

    @staticmethod
    def fn(out, a, n, BLOCK, TERMS):  # noqa: N803 -- Triton's names of constants
        """The Python function of the kernel."""

    def run(self, *args: Any, **kwargs: Any) -> None:
        self.ran.append(kwargs)


@pytest.mark.parametrize(("top_k", "kept"), [(3, [(64, 1), (32, 1), (64, 2)]), (0.4, [(64, 1), (32, 1)])])
def test_it_benchmarks_what_is_predicted_to_be_fast(top_k, kept):
    import triton

    timed: list[int] = []
    asked = perf_model(
        lambda BLOCK, TERMS, num_warps: build(BLOCK, TERMS),  # noqa: N803
        MODEL, {"n": "n"}, allow_unmeasured=True,
    )  # fmt: skip
    kernel = Launched()
    tuner = triton.autotune(
        configs=[triton.Config({"BLOCK": b, "TERMS": t}, num_warps=2) for b in (64, 32) for t in (4, 1, 2)],
        key=["n"],
        prune_configs_by={"perf_model": asked, "top_k": top_k},
        do_bench=lambda call, quantiles: [float(len(timed)), timed.append(0), 0.0],
    )(kernel)
    tuner[(1,)](object(), object(), 4096)
    assert kept == [(one.kwargs["BLOCK"], one.kwargs["TERMS"]) for one in tuner.configs_timings]
    (launch,) = kernel.ran
    assert kept[0] == (launch["BLOCK"], launch["TERMS"])
