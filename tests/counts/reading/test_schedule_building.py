"""Whether a kernel can be built: checked once, remembered with its refusal, and asked for."""

from __future__ import annotations

import json

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import cache, count
from perfmodel.counts.reading import schedule as scheduling
from perfmodel.errors import KernelError


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("PERFMODEL_NO_CACHE", raising=False)
    cache._memory.clear()
    yield tmp_path / "perfmodel" / "counts"
    cache._memory.clear()


@pytest.fixture
def built(monkeypatch):
    """The kernels for which Loopy is asked for code."""
    asked = []
    real = lp.generate_code_v2

    def generate(t_unit):
        asked.append(t_unit.default_entrypoint.name)
        return real(t_unit)

    monkeypatch.setattr(lp, "generate_code_v2", generate)
    return asked


def double(index="i", **tags):
    kernel = lp.make_kernel(
        "{ [i, j]: 0 <= i, j < n }", ["<> t = 2*a[i] {id=w}", f"out[i, j] = t*a[{index}] {{dep=w}}"],
        [lp.GlobalArg("a", np.float32, shape="n"), lp.GlobalArg("out", np.float32, shape="n, n"), ...],
        lang_version=(2018, 2), assumptions="n >= 1",
    )
    return lp.tag_inames(kernel, tags)


def forget():
    cache._memory.clear()


def test_code_is_generated_once_and_only_where_it_is_asked_for(built, folder):
    count(double())
    assert [] == built
    first = count(double(), check=True)
    count(double(), check=True)
    forget()
    count(double(), check=True, subgroup_size=16)
    assert 1 == len(built)
    assert first.hash == count(double()).hash
    assert ["", ""] in [json.loads(entry.read_text())["counts"] for entry in folder.iterdir()]


def test_what_only_the_code_generator_refuses(built):
    """The counts exist, but the store to t does not run along the group axis of j."""
    skips_an_axis = double(i="g.0", j="g.1")
    assert 37**2 == count(skips_an_axis).accesses(array="out")(n=37)
    for _ in range(2):
        with pytest.raises(KernelError, match="'w' does not use all group hw axes") as error:
            count(double(i="g.0", j="g.1"), check=True)
        forget()
    assert 1 == len(built), "the refusal was not remembered"
    assert "add_inames_for_unused_hw_axes" in error.value.advice


def test_a_refusal_of_the_scheduler_is_remembered_too(monkeypatch):
    def refused():
        with pytest.raises(KernelError, match=r"'a\[i \+ 1\]'.*out-of-bounds") as caught:
            count(double("i + 1"), check=True)
        return str(caught.value)

    found = refused()
    forget()
    monkeypatch.setattr(scheduling, "check", None)  # not called again
    assert found == refused()
    assert found == refused()
