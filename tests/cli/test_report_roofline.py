"""``perfmodel roofline`` on committed measurements; no device is needed."""

from __future__ import annotations

import json
from functools import cache

import pytest
from typer.testing import CliRunner

from perfmodel.cli import application
from tests.recorded import INTEL


def run(*arguments):
    return CliRunner().invoke(application(), ["roofline", "--from", str(INTEL), *arguments])


@cache
def document():
    return json.loads(run("--json").stdout)


def test_the_command_draws_the_committed_measurements(tmp_path):
    result = run("--out", str(tmp_path / "roofline.png"))
    assert 0 == result.exit_code, result.stderr
    assert b"\x89PNG" == (tmp_path / "roofline.png").read_bytes()[:4]
    assert "memory_bandwidth_bytes_per_s: measured, best median of" in result.stdout


def test_no_test_kernel_is_above_the_measured_roofs_by_much():
    shares = {one["kernel"]: one["share"] for one in document()["kernels"]}
    assert {"convolution", "matmul_variants", "nbody", "stencil"} <= set(shares)
    assert max(shares.values()) < 1.1
    assert min(shares.values()) > 0


def test_all_sizes_have_the_intensity_of_a_product():
    every = json.loads(run("--json", "--all-sizes").stdout)["kernels"]
    products = [one for one in every if one["kernel"] == "matmul_variants"]
    for one in products:
        n = int(one["sizes"].removeprefix("n="))
        assert pytest.approx(n / 6, rel=0.01) == one["operations_per_byte"]
    assert len(every) > len(document()["kernels"])


def test_a_roof_that_is_given(tmp_path):
    (tmp_path / "peak.yaml").write_text(
        "facts:\n  peak_flops_float32: {value: 1.0e+9, unit: operation/s, source: a guess}\n"
    )
    given = json.loads(run("--json", "--facts", str(tmp_path / "peak.yaml")).stdout)["roofs"]
    assert {"value": 1e9, "unit": "operation/s", "source": "a guess"} == given.pop("peak_flops_float32")
    assert given.items() <= document()["roofs"].items()
