"""Chains of operations: the statements, and their number in the kernel."""

from __future__ import annotations

import pytest

from perfmodel.counts import count
from perfmodel.kernels.builders.arithmetic import CHAINS, chain_kernel, chain_steps


def test_each_step_waits_for_the_one_before():
    assert ["acc[u] = p {id=s0, dep=first}"] == chain_steps(["p"])
    both = ["acc[u] = acc[u] + p {id=s0, dep=first}", "acc[u] = acc[u]*p {id=s1, dep=s0}"]
    assert both == chain_steps(["acc[u] + p", "acc[u]*p"])
    assert "acc[u] = acc[u]/q {id=s2, dep=s1}" == chain_steps(["p", "q", "acc[u]/q"])[2]


@pytest.mark.parametrize("form", CHAINS)
def test_every_chain_runs_every_step_k_times(form):
    counts = count(chain_kernel(["acc[u]*p", "acc[u]*p"], form, "float32", ("p", "scale"), "twice", (16, 16)))
    # n*n work-items: 2 steps in each of k trips of each chain, and scale*lane once for each chain.
    expected = 32 * 32 * CHAINS[form] * (2 * 5 + 1)
    assert expected == counts.operations(dtype="float32", kind="mul")(n=32, k=5)
